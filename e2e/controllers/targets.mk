# Real controllers beside the API server of the end-to-end tests: part of the Makefile.

.PHONY: e2e-controllers

e2e-controllers: envtest ## The real controllers of KServe and LeaderWorkerSet, built once per machine (that takes long)
	$(BIN)/python -m e2e.controllers.programs
	$(BIN)/python -m pytest -o 'python_files=real_*.py' -n0 --timeout=600 e2e/controllers/suite $(ARGS)

.PHONY: e2e-upgrade
e2e-upgrade: envtest ## helm upgrade from the release before while faults go on, and helm rollback (needs the history of git)
	$(BIN)/python -m pytest -o 'python_files=upgrade_*.py' -n0 --timeout=300 e2e/upgrade_former.py $(ARGS)
