"""Authorization: rules like those of RBAC, and the reviews that they answer."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from lab.sandbox.errors import forbidden, invalid, invalid_value
from lab.sandbox.objects import Object, dig, namespace_of
from lab.sandbox.requests import ResourceRequest

AUTHORIZATION_GROUP = "authorization.k8s.io"
_ANY = "*"
_NOTHING_ASKED = invalid_value(
    "spec.resourceAttributes",
    None,
    "exactly one of nonResourceAttributes or resourceAttributes must be specified",
)


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A policy rule and the namespaces it applies to; empty names or namespaces mean all."""

    api_groups: tuple[str, ...] = (_ANY,)
    resources: tuple[str, ...] = (_ANY,)
    verbs: tuple[str, ...] = (_ANY,)
    resource_names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()

    def covers(self, verb: str, group: str, resource: str, *, namespace: str, name: str) -> bool:
        """Return whether the rule covers a request.

        A rule with names does not cover requests without a name, such as a create by POST; one with
        namespaces does not cover requests for all namespaces.
        """
        return (
            (_ANY in self.verbs or verb in self.verbs)
            and (_ANY in self.api_groups or group in self.api_groups)
            and (_ANY in self.resources or resource in self.resources)
            and (not self.resource_names or name in self.resource_names)
            and (not self.namespaces or namespace in self.namespaces)
        )


def rules_of(role: Object) -> list[Rule]:
    """Return the rules of a Role, for its namespace, or of a ClusterRole, for all namespaces."""
    namespace = namespace_of(role) if role.get("kind") == "Role" else ""
    return [
        Rule(
            api_groups=tuple(rule["apiGroups"]),
            resources=tuple(rule["resources"]),
            verbs=tuple(rule["verbs"]),
            resource_names=tuple(rule.get("resourceNames") or ()),
            namespaces=(namespace,) if namespace else (),
        )
        for rule in role.get("rules") or ()
        if "resources" in rule
    ]


class Access:
    """The rights of the sandbox's only user.

    Without grants everything is allowed; with grants, only what they cover. Denials apply on top
    and have no equivalent in RBAC: they revoke single rights.
    """

    def __init__(self) -> None:
        self.grants: list[Rule] | None = None
        self.denials: list[Rule] = []
        self.user = "sandbox"
        self.tokens: dict[str, str] = {}
        """Users by their bearer tokens, for TokenReviews."""
        self.readers: set[str] = set()
        """Users who may get any non-resource path, for SubjectAccessReviews."""

    def allow_only(self, rules: Sequence[Rule]) -> None:
        self.grants = list(rules)

    def allow_roles(self, roles: Iterable[Object]) -> None:
        """Allow what Roles and ClusterRoles grant, as if the user was bound to all of them."""
        self.allow_only([rule for role in roles for rule in rules_of(role)])

    def deny(self, rule: Rule) -> None:
        self.denials.append(rule)

    def reset(self) -> None:
        self.grants = None
        self.denials.clear()

    def allows(self, verb: str, group: str, resource: str, *, namespace: str, name: str) -> bool:
        def covered(rules: Iterable[Rule]) -> bool:
            return any(
                rule.covers(verb, group, resource, namespace=namespace, name=name) for rule in rules
            )

        return not covered(self.denials) and (self.grants is None or covered(self.grants))

    def check(self, request: ResourceRequest, *, name: str = "", verb: str = "") -> None:
        """Refuse a request that is not allowed: ApiError 403."""
        group, plural = request.resource.group, request.resource.plural
        verb, name = verb or request.verb, name or request.name
        # The target names the subresource: a right to a resource does not include subresources.
        if not self.allows(verb, group, request.target, namespace=request.namespace, name=name):
            where = f'in the namespace "{request.namespace}"'
            cause = (
                f'User "{self.user}" cannot {verb} resource "{request.target}" in API group '
                f'"{group}" {where if request.namespace else "at the cluster scope"}'
            )
            raise forbidden(group, plural, name, cause=cause)

    @property
    def reviews(self) -> dict[str, Callable[[Object], Object]]:
        """The answers to reviews, by their resource; everybody may ask for those of oneself."""
        return {
            "selfsubjectaccessreviews": self._review,
            "subjectaccessreviews": self._review_of_reader,
            "tokenreviews": self._review_of_token,
        }

    def _review(self, body: Object) -> Object:
        spec = body.get("spec") or {}
        asked = spec.get("resourceAttributes")
        if asked is None and spec.get("nonResourceAttributes") is None:
            raise invalid(AUTHORIZATION_GROUP, "", "", errors=[_NOTHING_ASKED])
        status: Object = {"allowed": asked is None or self._allows_asked(asked)}
        if status["allowed"]:
            status["reason"] = "RBAC: allowed by the rules of the sandbox"
        return {
            "kind": "SelfSubjectAccessReview",
            "apiVersion": f"{AUTHORIZATION_GROUP}/v1",
            "metadata": {},
            "spec": spec,
            "status": status,
        }

    def _allows_asked(self, asked: Object) -> bool:
        verb, group, resource, subresource, namespace, name = (
            str(asked.get(field) or "")
            for field in ("verb", "group", "resource", "subresource", "namespace", "name")
        )
        target = f"{resource}/{subresource}" if subresource else resource
        return self.allows(verb, group, target, namespace=namespace, name=name)

    def _review_of_token(self, body: Object) -> Object:
        user = self.tokens.get(str(dig(body, "spec", "token") or ""))
        result = {"user": {"username": user}} if user else {"error": "token is not known"}
        return {**body, "metadata": {}, "status": {"authenticated": user is not None, **result}}

    def _review_of_reader(self, body: Object) -> Object:
        """Answer a SubjectAccessReview about a path."""
        is_path = dig(body, "spec", "nonResourceAttributes", "path") is not None
        allowed = is_path and dig(body, "spec", "user") in self.readers
        return {**body, "metadata": {}, "status": {"allowed": allowed}}
