"""Authorization: rules like those of RBAC, and the reviews that they answer."""

from collections.abc import Iterable, Sequence

import msgspec

from lab.sandbox.errors import ApiError, bad_request, forbidden, invalid, invalid_value
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
        """Allow only what these rules cover."""
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
        if any(
            rule.covers(verb, group, resource, namespace=namespace, name=name)
            for rule in self.denials
        ):
            return False
        return self.grants is None or any(
            rule.covers(verb, group, resource, namespace=namespace, name=name)
            for rule in self.grants
        )

    def check(self, request: ResourceRequest, *, name: str = "", verb: str = "") -> None:
        """Refuse a request that is not allowed.

        Raises:
            ApiError: 403.
        """
        group = request.resource.group
        verb, name = verb or request.verb, name or request.name
        # The target names the subresource: a right to a resource does not include subresources.
        if not self.allows(verb, group, request.target, namespace=request.namespace, name=name):
            raise self._refusal(request, verb, name)

    def _refusal(self, request: ResourceRequest, verb: str, name: str) -> ApiError:
        where = (
            f'in the namespace "{request.namespace}"'
            if request.namespace
            else "at the cluster scope"
        )
        return forbidden(
            request.resource.group,
            request.resource.plural,
            name,
            cause=f'User "{self.user}" cannot {verb} resource "{request.target}" in API group '
            f'"{request.resource.group}" {where}',
        )

    def review(self, body: Object) -> Object:
        """Answer a SelfSubjectAccessReview.

        Raises:
            ApiError: 422 if it has no attributes.
        """
        asked = dig(body, "spec", "resourceAttributes")
        if asked is None and dig(body, "spec", "nonResourceAttributes") is None:
            raise invalid(AUTHORIZATION_GROUP, "", "", errors=[_NOTHING_ASKED])
        if asked is None:
            allowed = True
        else:
            resource = str(asked.get("resource") or "")
            subresource = asked.get("subresource")
            allowed = self.allows(
                str(asked.get("verb") or ""),
                str(asked.get("group") or ""),
                f"{resource}/{subresource}" if subresource else resource,
                namespace=str(asked.get("namespace") or ""),
                name=str(asked.get("name") or ""),
            )
        reason = "RBAC: allowed by the rules of the sandbox" if allowed else ""
        return {
            "kind": "SelfSubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": body.get("spec") or {},
            "status": {"allowed": allowed, **({"reason": reason} if reason else {})},
        }

    def review_of_token(self, body: Object) -> Object:
        user = self.tokens.get(str(dig(body, "spec", "token") or ""))
        result = {"user": {"username": user}} if user else {"error": "token is not known"}
        return {**body, "metadata": {}, "status": {"authenticated": user is not None, **result}}

    def review_of_reader(self, body: Object) -> Object:
        """Answer a SubjectAccessReview about a path."""
        is_path = dig(body, "spec", "nonResourceAttributes", "path") is not None
        allowed = is_path and dig(body, "spec", "user") in self.readers
        return {**body, "metadata": {}, "status": {"allowed": allowed}}

    def rules_review(self, body: Object) -> Object:
        """Answer a SelfSubjectRulesReview; it cannot express denials.

        Raises:
            ApiError: 400 if it has no namespace.
        """
        namespace = str(dig(body, "spec", "namespace") or "")
        if not namespace:
            raise bad_request("no namespace on request")
        rules = [Rule()] if self.grants is None else self.grants
        here = [rule for rule in rules if not rule.namespaces or namespace in rule.namespaces]
        return {
            "kind": "SelfSubjectRulesReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": {"namespace": namespace},
            "status": {
                "resourceRules": [
                    {
                        "verbs": list(rule.verbs),
                        "apiGroups": list(rule.api_groups),
                        "resources": list(rule.resources),
                        **(
                            {"resourceNames": list(rule.resource_names)}
                            if rule.resource_names
                            else {}
                        ),
                    }
                    for rule in here
                ],
                "nonResourceRules": [],
                "incomplete": bool(self.denials),
            },
        }
