# A whole cluster: part of the Makefile. e2e/cluster/README.md says what it is made of.

NODES ?= 1

.PHONY: cluster cluster-down

cluster: setup ## A whole Kubernetes with the reporter's image, until Ctrl-C (NODES=2 for two nodes; root, Linux; what is missing is installed and built)
	@$(BIN)/python -m e2e.cluster up --nodes $(NODES)

cluster-down: setup ## End the cluster of `make cluster`, or remove what is left of it
	@$(BIN)/python -m e2e.cluster down

.PHONY: e2e-cluster

e2e-cluster: setup ## The image and the chart on a whole cluster, and faults that only real controllers make (root; minutes)
	$(BIN)/python -m pytest -o 'python_files=cluster_*.py' -n0 --timeout=900 e2e/cluster/suite $(ARGS)

.PHONY: e2e-nodes

e2e-nodes: setup ## The same chart on two nodes, one of which fails (root; minutes)
	$(BIN)/python -m pytest -o 'python_files=nodes_*.py' -n0 --timeout=900 e2e/cluster/suite $(ARGS)

.PHONY: e2e-engines

e2e-engines: setup ## Stories of e2e-controllers with engines that a real kubelet runs (root; minutes)
	$(BIN)/python -m e2e.controllers.programs
	$(BIN)/python -m pytest -o 'python_files=engines_*.py' -n0 --timeout=1800 e2e/cluster/suite $(ARGS)
