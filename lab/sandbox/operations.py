"""The verbs that write to the storage, without HTTP: create, update and patch."""

from collections.abc import Callable
from dataclasses import asdict

from lab.sandbox import strategies
from lab.sandbox.apply import apply, track_update
from lab.sandbox.bodies import check_name, check_patch, check_type, check_uid, settle_namespace
from lab.sandbox.errors import (
    ApiError,
    FieldError,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    invalid_value,
    not_found,
    undeclared,
    unsupported_media_type,
)
from lab.sandbox.fieldsets import Manager, TypeWalker, read_managers
from lab.sandbox.metadata import fill_on_create
from lab.sandbox.objects import JSON, Object, copy_json, format_time, meta, name_of, namespace_of
from lab.sandbox.patching import PATCH_TYPES, PatchType, merge_patch, strategic_merge
from lab.sandbox.representation import as_object
from lab.sandbox.requests import DEFAULT_OPTIONS, ResourceRequest, WriteOptions
from lab.sandbox.resources import CRD_COLLECTION, Registry, Resource
from lab.sandbox.storage import Storage, Stored

Reaction = Callable[[Resource, Stored, Stored | None], None]


class Operations:
    """Creates and changes objects like the API server.

    `reactions` are called after each write with the new and the old state; namespaces and
    CustomResourceDefinitions take effect through them.
    """

    def __init__(self, storage: Storage, registry: Registry, *, event_ttl_seconds: float) -> None:
        self.storage = storage
        self.registry = registry
        self.event_ttl_seconds = event_ttl_seconds
        self.reactions: list[Reaction] = []
        self.prepare_crd: Callable[[Object, Object | None], None] = lambda _new, _old: None

    def find(self, at: ResourceRequest) -> Stored:
        """Return the stored object; ApiError 404 if it does not exist."""
        stored = self.stored(at)
        if stored is None:
            raise at.not_found()
        return stored

    def stored(self, at: ResourceRequest) -> Stored | None:
        return self.storage.get(at.resource.name, at.namespace, at.name)

    def create(
        self, at: ResourceRequest, body: Object, options: WriteOptions = DEFAULT_OPTIONS
    ) -> Stored:
        """Create an object in a namespace (empty for cluster-scoped kinds)."""
        check_type(at.resource, body)
        settle_namespace(at.resource, at.namespace, body)
        obj, _ = strategies.read_body(at.resource, body)
        self.check_namespace(at.resource, at.namespace, name_of(obj))
        if meta(obj).get("resourceVersion"):
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        return self._insert(at.resource, obj, options)

    def update(
        self, at: ResourceRequest, body: Object, options: WriteOptions = DEFAULT_OPTIONS
    ) -> tuple[Stored, bool]:
        """Replace an object; the second value says whether that created it."""
        resource = at.resource
        obj = self._fitting(at, body)
        stored = self.stored(at)
        if stored is None:
            if not resource.create_on_update or at.subresource:
                raise at.not_found()
            self.check_namespace(resource, at.namespace, at.name)
            check_uid(resource, obj, "")
            meta(obj).pop("resourceVersion", None)
            return self._insert(resource, obj, options), True
        if not meta(obj).get("resourceVersion") and not resource.unconditional_update:
            error = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(resource.group, resource.plural, at.name, errors=[error])
        check_uid(resource, obj, stored.uid)
        return self._replace(at, stored, obj, options=options), False

    def patch(
        self,
        at: ResourceRequest,
        patch_type: PatchType,
        body: JSON,
        *,
        options: WriteOptions = DEFAULT_OPTIONS,
    ) -> tuple[Stored, bool]:
        """Patch an object; the second value says whether that created it."""
        if patch_type == "strategic" and at.resource.custom:
            accepted = [kind for kind, short in PATCH_TYPES.items() if short != "strategic"]
            raise unsupported_media_type(accepted)
        if patch_type == "apply":
            return self._apply(at, body, options)
        stored = self.find(at)
        current = as_object(at.resource, stored)
        check_patch(body)
        if patch_type == "merge":
            patched = merge_patch(current, body)
        else:
            patched = strategic_merge(current, body, at.resource.kind)
        obj = self._fitting(at, copy_json(patched))
        return self._replace(at, stored, obj, options=options), False

    def _apply(
        self, at: ResourceRequest, config: JSON, options: WriteOptions
    ) -> tuple[Stored, bool]:
        check_patch(config)
        self._check_fit(at, config)
        resource = at.resource
        if meta(config).pop("managedFields", None):
            raise bad_request("metadata.managedFields must be nil")
        version = meta(config).pop("resourceVersion", None)
        stored = self.stored(at)
        if stored is None and at.subresource:
            raise at.not_found()
        if stored is None and version:
            raise conflict(resource.group, resource.plural, at.name)
        if at.subresource == "status":
            kept = ("apiVersion", "kind", "status")
            identity = {"name": at.name} | ({"namespace": at.namespace} if at.namespace else {})
            config = {**{key: config[key] for key in kept if key in config}, "metadata": identity}
        elif resource.status:
            config.pop("status", None)
        if resource.schema is not None:
            config, unknown = strategies.read_body(resource, config)
            if unknown:
                raise undeclared(
                    at.namespace, at.name, resource.api_version, kind=resource.kind, path=unknown[0]
                )
        live = as_object(resource, stored) if stored is not None else None
        writer = self._writer(at, options, "Apply")
        merged = apply(live, config, writer, walker=_walker(resource), force=options.force)
        if version:
            meta(merged)["resourceVersion"] = version
        obj, _ = strategies.read_body(resource, copy_json(merged))
        if stored is None:
            self.check_namespace(resource, at.namespace, at.name)
            return self._insert(resource, obj, options, tracked=True), True
        return self._replace(at, stored, obj, options=options, tracked=True), False

    def load(self, resource: Resource, obj: Object) -> Stored:
        """Store an object with its own status, uid and creation time, and with defaults."""
        meta(obj).pop("resourceVersion", None)
        obj, _ = strategies.read_body(resource, obj)
        fill_on_create(obj, now=self.storage.clock(), generation=resource.generation, keep=True)
        strategies.set_defaults(resource, obj)
        if resource.name == CRD_COLLECTION:
            self.prepare_crd(obj, None)
        old = self.storage.get(resource.name, namespace_of(obj), name_of(obj))
        return self._store(resource, obj, old)

    @staticmethod
    def _check_fit(at: ResourceRequest, body: JSON) -> None:
        """Refuse a body that does not belong to the path; set its namespace and name from it."""
        check_type(at.resource, body)
        settle_namespace(at.resource, at.namespace, body)
        check_name(at.name, body)

    def _fitting(self, at: ResourceRequest, body: Object) -> Object:
        self._check_fit(at, body)
        return strategies.read_body(at.resource, body)[0]

    def _insert(
        self, resource: Resource, obj: Object, options: WriteOptions, *, tracked: bool = False
    ) -> Stored:
        now = self.storage.clock()
        fill_on_create(obj, now=now, generation=resource.generation)
        strategies.prepare_create(resource, obj)
        strategies.set_defaults(resource, obj)
        strategies.validate(resource, obj)
        namespace, name = namespace_of(obj), name_of(obj)
        if self.storage.get(resource.name, namespace, name) is not None:
            raise already_exists(resource.group, resource.plural, name)
        if not tracked:
            self._track_update(ResourceRequest(resource=resource), obj, None, options=options)
        if resource.name == CRD_COLLECTION:
            self.prepare_crd(obj, None)
        return self._store(resource, obj, None)

    def _replace(
        self,
        at: ResourceRequest,
        stored: Stored,
        obj: Object,
        *,
        options: WriteOptions,
        tracked: bool = False,
    ) -> Stored:
        resource = at.resource
        old = stored.decode(obj["apiVersion"], obj["kind"])
        version = meta(obj).get("resourceVersion")
        if version and version != str(stored.version):
            raise conflict(resource.group, resource.plural, stored.key.name)
        new = strategies.prepare_update(resource, obj, old, subresource=at.subresource)
        strategies.set_defaults(resource, new)
        strategies.validate(resource, new, old)
        if resource.name == CRD_COLLECTION:
            self.prepare_crd(new, old)
        meta(new)["resourceVersion"] = str(stored.version)
        if not tracked and not _same(new, old):
            self._track_update(at, new, old, options=options)
        if "managedFields" not in meta(new) and "managedFields" in meta(old) and not tracked:
            meta(new)["managedFields"] = meta(old)["managedFields"]
        if _same(new, old) and read_managers(new) == read_managers(old):
            return stored
        if meta(new).get("deletionTimestamp") and not meta(new).get("finalizers"):
            return self.remove(resource, stored, new)
        return self._store(resource, new, stored)

    def _store(self, resource: Resource, obj: Object, old: Stored | None) -> Stored:
        ttl = self.event_ttl_seconds if resource.is_event else None
        stored = self.storage.write(resource.name, obj, ttl=ttl)
        for reaction in self.reactions:
            reaction(resource, stored, old)
        return stored

    def remove(self, resource: Resource, stored: Stored, last: Object | None = None) -> Stored:
        gone = self.storage.remove(resource.name, stored.key, last)
        for reaction in self.reactions:
            reaction(resource, gone, stored)
        return gone

    def check_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        """Refuse to create in a namespace that is missing (404) or terminating (403)."""
        if not resource.namespaced:
            return
        stored = self.storage.get("namespaces", "", namespace)
        if stored is None:
            raise not_found("", "namespaces", namespace)
        found = stored.decode("v1", "Namespace")
        if meta(found).get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being"
            error = forbidden(resource.group, resource.plural, name, cause=f"{why} terminated")
            text = f"namespace {namespace} is being terminated"
            cause = FieldError("NamespaceTerminating", "metadata.namespace", text)
            error.details = {**(error.details or {}), "causes": [asdict(cause)]}
            raise error

    def _track_update(
        self, at: ResourceRequest, new: Object, old: Object | None, *, options: WriteOptions
    ) -> None:
        writer = self._writer(at, options, "Update")
        track_update(new, old, writer, walker=_walker(at.resource))

    def _writer(self, at: ResourceRequest, options: WriteOptions, operation: str) -> Manager:
        now = format_time(self.storage.clock())
        through = at.subresource or options.through
        return Manager(
            options.manager, operation, at.resource.api_version, through, now, frozenset()
        )


def _walker(resource: Resource) -> TypeWalker:
    return TypeWalker(resource.kind, resource.custom, resource.schema or {})


def _same(new: Object, old: Object) -> bool:
    """Return whether two states differ at most in managedFields and resourceVersion."""
    return _content(new) == _content(old)


def _content(obj: Object) -> Object:
    ignored = {"managedFields", "resourceVersion"}
    kept = {key: value for key, value in meta(obj).items() if key not in ignored}
    return {**obj, "metadata": kept}
