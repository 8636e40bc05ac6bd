# Real controllers beside the API server of the end-to-end tests: part of the Makefile.

.PHONY: e2e-controllers

e2e-controllers: envtest ## The real controllers of KServe, Kthena, KEDA and LeaderWorkerSet, built once per machine (that takes long)
	$(BIN)/python -m e2e.controllers.programs
	$(BIN)/python -m pytest -o 'python_files=real_*.py' -n0 --timeout=600 e2e/controllers/suite $(ARGS)
