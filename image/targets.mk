# The image: part of the Makefile. docs/install.md says how to use it.

ENGINE ?= docker
IMAGE ?= productionstack-status-reporter
VERSION ?= $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' reporter/__init__.py)
PLATFORMS ?= linux/amd64,linux/arm64
# More flags for the engine, such as --build-arg BASE_IMAGE=...@sha256:...
IMAGE_FLAGS ?=
# Where image-load takes it: kind, minikube, k3s, or tar for the file alone.
LOAD_INTO ?= kind

IMAGE_TAR := build/image.tar
COMMIT = $(shell git rev-parse --short=12 HEAD)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
DOCKERFILE := Dockerfile.status-reporter

# RUN --network needs podman 4.5 (buildah 1.30). For an older one, as Debian 12 has, the flag is left
# out: these steps then have a network and use none. Podman may name no TARGETARCH by itself either.
OLD_PODMAN_DOCKERFILE := build/Dockerfile.podman
ifneq ($(filter podman%,$(notdir $(firstword $(ENGINE)))),)
PODMAN_VERSION = $(shell $(ENGINE) version --format '{{.Client.Version}}' 2>/dev/null)
IS_OLD_PODMAN = $(filter 4.5.0,$(shell printf '%s\n' $(PODMAN_VERSION) 4.5.0 | sort -V | tail -1))
BUILT_FROM = $(if $(filter-out 4.5.0,$(PODMAN_VERSION)),$(if $(IS_OLD_PODMAN),$(OLD_PODMAN_DOCKERFILE)))
TARGETARCH ?= $(subst x86_64,amd64,$(subst aarch64,arm64,$(shell uname -m)))
PODMAN_FLAGS = --build-arg TARGETARCH=$(TARGETARCH)
endif

BUILD_IMAGE = build --file $(or $(BUILT_FROM),$(DOCKERFILE)) $(PODMAN_FLAGS) \
	--build-arg VERSION=$(VERSION) \
	--build-arg STATUS_REPORTER_COMMIT=$(COMMIT) \
	--build-arg SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) $(IMAGE_FLAGS)

.PHONY: image image-lint image-check image-push image-multiarch image-load sbom

image-lint: setup ## hadolint
	$(BIN)/hadolint Dockerfile.status-reporter

image-check: setup ## Do the image's steps in a clean folder, without an engine, and start it (root, two minutes)
	$(BIN)/python -m image.check

sbom: setup ## Write build/sbom.json: what the image adds to its base
	$(BIN)/python -m image.sbom build/sbom.json

image: ## Build the image for this machine (ENGINE, IMAGE, VERSION, IMAGE_FLAGS)
	@mkdir -p $(dir $(OLD_PODMAN_DOCKERFILE))
	@sed 's/^RUN --network=none/RUN/' $(DOCKERFILE) > $(OLD_PODMAN_DOCKERFILE)
	$(ENGINE) $(BUILD_IMAGE) --tag $(IMAGE):$(VERSION) .

image-push: ## Push what `make image` built
	$(ENGINE) push $(IMAGE):$(VERSION)

image-multiarch: ## Build for all PLATFORMS and push (docker buildx)
	$(ENGINE) buildx $(BUILD_IMAGE) --platform $(PLATFORMS) --provenance=false \
		--output type=image,name=$(IMAGE):$(VERSION),push=true,oci-mediatypes=true,rewrite-timestamp=true .

image-load: ## Load what `make image` built into a local cluster (LOAD_INTO=kind, minikube, k3s or tar)
	@mkdir -p $(dir $(IMAGE_TAR))
	@rm -f $(IMAGE_TAR)  # podman does not overwrite it
	$(ENGINE) save --output $(IMAGE_TAR) $(IMAGE):$(VERSION)
	$(or $(LOAD_$(LOAD_INTO)),$(error LOAD_INTO=$(LOAD_INTO): must be kind, minikube, k3s or tar))

LOAD_kind = kind load image-archive $(IMAGE_TAR)
LOAD_minikube = minikube image load $(IMAGE_TAR)
LOAD_k3s = k3s ctr images import $(IMAGE_TAR)
LOAD_tar = @echo $(IMAGE_TAR)
