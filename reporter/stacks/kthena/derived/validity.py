"""The rules of a ModelServing's spec: those of the CRD's schema and of Kthena's webhook.

The webhook's are in github.com/volcano-sh/kthena,
pkg/model-serving-controller/webhook/validator.go, v1.0.0.

A cluster holds an object that breaks one if the webhook was not there when it was written, if
`scale` changed its replicas (no webhook is asked then), or if the CRD is another one.

Not among the rules: a field that the API server fills in is never absent, what only a comparison
with the previous object shows (gangPolicy may not change), and the fields that are not read here
(plugins, networkTopology), which the schema alone has rules for.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from reporter.stacks.kthena.objects import (
    MOST,
    ROLE_RECREATE,
    ROLE_ROLLING_UPDATE,
    SERVING_GROUP_RECREATE,
    SERVING_GROUP_ROLLING_UPDATE,
    GangPolicy,
    ModelServing,
    Role,
    RollingUpdate,
    Template,
)

IntOrPercent: TypeAlias = int | str

_POLICIES: Final = frozenset({SERVING_GROUP_RECREATE, ROLE_RECREATE, "None"})
_STRATEGIES: Final = frozenset({SERVING_GROUP_ROLLING_UPDATE, ROLE_ROLLING_UPDATE})
_MOST_ROLES: Final = 4
_ROLE_NAME_LENGTH: Final = 12
_LABEL_LENGTH: Final = 63
_DNS_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_PERCENT: Final = re.compile(r"[0-9]{1,9}%")
_FULL: Final = 100
_STRATEGY: Final = "spec.rolloutStrategy"
_ROLLING_UPDATE: Final = f"{_STRATEGY}.rollingUpdateConfiguration"
_ROLES: Final = "spec.template.roles"
_NOT_NEGATIVE: Final = "must not be negative"


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """A rule that a ModelServing breaks: the field by its path, and what is wrong with it."""

    field: str
    text: str

    def __str__(self) -> str:
        return f"{self.field}: {self.text}"


def violations(modelserving: ModelServing) -> tuple[Violation, ...]:
    """Return the rules that a ModelServing breaks, in the order of the table."""
    return tuple(each for rule in RULES for each in rule(modelserving))


def _replicas(modelserving: ModelServing) -> Iterator[Violation]:
    yield from _number("spec.replicas", modelserving.spec.replicas)


def _recovery_policy(modelserving: ModelServing) -> Iterator[Violation]:
    policy = modelserving.spec.recovery_policy
    if policy is not None and policy not in _POLICIES:
        yield Violation("spec.recoveryPolicy", f"must be one of {_listed(_POLICIES)}")
    if policy == SERVING_GROUP_RECREATE and modelserving.rolls_roles:
        yield Violation(
            "spec.recoveryPolicy",
            f"{policy} does not go with {_STRATEGY}.type {ROLE_ROLLING_UPDATE}",
        )


def _rollout_strategy(modelserving: ModelServing) -> Iterator[Violation]:
    strategy = modelserving.spec.rollout_strategy
    if strategy is None:
        return
    if strategy.type and strategy.type not in _STRATEGIES:
        yield Violation(f"{_STRATEGY}.type", f"must be one of {_listed(_STRATEGIES)}")
    update = strategy.rolling_update_configuration
    if update is None:
        return
    if modelserving.rolls_roles:
        yield Violation(_ROLLING_UPDATE, f"does not go with {_STRATEGY}.type {ROLE_ROLLING_UPDATE}")
    else:
        yield from _rolling_update(update, modelserving.wanted)


def _rolling_update(update: RollingUpdate, replicas: int) -> Iterator[Violation]:
    yield from _amount(f"{_ROLLING_UPDATE}.partition", update.partition)
    yield from _amount(f"{_ROLLING_UPDATE}.maxSurge", update.max_surge)
    path, unavailable = f"{_ROLLING_UPDATE}.maxUnavailable", update.max_unavailable
    yield from _amount(path, unavailable)
    # With 0 replicas no group can be away, and a rollout has nothing to do. With maxSurge, which
    # Kthena has had again since August 2026, a rollout can begin with an additional group.
    may_surge = bool(_resolved(update.max_surge, _FULL))
    if replicas and not may_surge and _resolved(unavailable, replicas) == 0:
        yield Violation(path, f"{_of(unavailable, replicas)}0, so that no rollout could begin")


def _gang(modelserving: ModelServing) -> Iterator[Violation]:
    template = modelserving.spec.template
    for field, gang in (
        ("gangPolicy", template.gang_policy),
        ("gangSchedule", template.gang_schedule),
    ):
        if gang is not None:
            yield from _least(modelserving, gang, f"spec.template.{field}.minRoleReplicas")


def _least(modelserving: ModelServing, gang: GangPolicy, field: str) -> Iterator[Violation]:
    wanted = {role.name: role.wanted for role in modelserving.roles}
    for name, least in sorted((gang.min_role_replicas or {}).items()):
        path = f"{field}[{name}]"
        if name not in wanted:
            yield Violation(path, f"there is no role {name}")
        elif least < 0:
            yield Violation(path, _NOT_NEGATIVE)
        elif least > wanted[name]:
            yield Violation(path, f"{least} is more than the role's replicas, {wanted[name]}")


def _roles(modelserving: ModelServing) -> Iterator[Violation]:
    roles = modelserving.roles
    if not roles:
        yield Violation(_ROLES, "there must be a role")
    if len(roles) > _MOST_ROLES:
        yield Violation(_ROLES, f"{len(roles)} roles are more than {_MOST_ROLES}")
    names = [role.name for role in roles]
    for name in sorted({each for each in names if names.count(each) > 1}):
        yield Violation(_ROLES, f"two roles have the name {name}")
    for index, role in enumerate(roles):
        for rule in _OF_A_ROLE:
            yield from rule(modelserving, role, f"{_ROLES}[{index}]")


def _role_name(modelserving: ModelServing, role: Role, path: str) -> Iterator[Violation]:
    if len(role.name) > _ROLE_NAME_LENGTH:
        yield Violation(f"{path}.name", f"is longer than {_ROLE_NAME_LENGTH} characters")
    if not _DNS_1035.fullmatch(role.name):
        yield Violation(
            f"{path}.name",
            "must be of lower-case letters, digits and '-', begin with a letter and not end in '-'",
        )
        return
    counts = f"{role.wanted}-{role.worker_replicas or 0}"
    made = f"{modelserving.name}-{modelserving.wanted}-{role.name}-{counts}"
    if len(made) > _LABEL_LENGTH or not _DNS_1035.fullmatch(made):
        yield Violation(
            "metadata.name",
            f"names made of it, as {made}, must begin with a letter, have no '.' and be no longer "
            f"than {_LABEL_LENGTH} characters",
        )


def _role_replicas(_: ModelServing, role: Role, path: str) -> Iterator[Violation]:
    yield from _number(f"{path}.replicas", role.replicas)


def _workers(_: ModelServing, role: Role, path: str) -> Iterator[Violation]:
    workers = role.worker_replicas
    yield from _number(f"{path}.workerReplicas", workers)
    if workers is None:
        yield Violation(f"{path}.workerReplicas", "must be set")
    elif workers > 0 and role.worker_template is None:
        yield Violation(f"{path}.workerTemplate", "must be set, as workerReplicas is more than 0")


def _templates(_: ModelServing, role: Role, path: str) -> Iterator[Violation]:
    if role.entry_template is None:
        yield Violation(f"{path}.entryTemplate", "must be set")
    yield from _images(role.entry_template, f"{path}.entryTemplate")
    yield from _images(role.worker_template, f"{path}.workerTemplate")


def _images(template: Template | None, path: str) -> Iterator[Violation]:
    spec = (template or {}).get("spec")
    for key in ("initContainers", "containers"):
        containers = spec.get(key) if isinstance(spec, dict) else None
        for index, each in enumerate(containers if isinstance(containers, list) else ()):
            image = each.get("image") if isinstance(each, dict) else None
            if isinstance(image, str) and any(map(str.isspace, image)):
                yield Violation(f"{path}.spec.{key}[{index}].image", "must not contain blanks")


def _role_rollout(modelserving: ModelServing, role: Role, path: str) -> Iterator[Violation]:
    partition, unavailable = role.partition, role.max_unavailable
    if partition is not None and not modelserving.rolls_roles:
        yield Violation(
            f"{path}.partition", f"only goes with {_STRATEGY}.type {ROLE_ROLLING_UPDATE}"
        )
    yield from _amount(f"{path}.partition", partition)
    if not modelserving.rolls_roles:
        return
    yield from _amount(f"{path}.maxUnavailable", unavailable)
    resolved = _resolved(unavailable, role.wanted)
    if resolved == 0:
        text = f"{_of(unavailable, role.wanted)}0, so that no rollout could begin"
        yield Violation(f"{path}.maxUnavailable", text)
    elif resolved is not None and resolved > role.wanted:
        text = f"{resolved} is more than the role's replicas, {role.wanted}"
        yield Violation(f"{path}.maxUnavailable", text)


def _number(path: str, value: int | None) -> Iterator[Violation]:
    if value is not None and value < 0:
        yield Violation(path, _NOT_NEGATIVE)
    elif value is not None and value > MOST:
        yield Violation(path, f"must not be more than {MOST}")


def _amount(path: str, value: IntOrPercent | None) -> Iterator[Violation]:
    """Yield what is wrong with a number or a percentage by itself."""
    if isinstance(value, int):
        if value < 0:
            yield Violation(path, _NOT_NEGATIVE)
    elif value is not None and _percent(value) is None:
        yield Violation(path, "must be a number, or a percentage from 0% to 100%")


def _percent(value: str) -> int | None:
    if not _PERCENT.fullmatch(value):
        return None
    number = int(value[:-1])
    return number if number <= _FULL else None


def _resolved(value: IntOrPercent | None, replicas: int) -> int | None:
    """Return how many of `replicas` a value stands for, rounded down; None where it is invalid."""
    if isinstance(value, int):
        return value if value >= 0 else None
    percent = None if value is None else _percent(value)
    return None if percent is None else percent * replicas // _FULL


def _of(value: IntOrPercent | None, replicas: int) -> str:
    return f"{value} of {replicas} is " if isinstance(value, str) else "is "


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


RULES: Final[tuple[Callable[[ModelServing], Iterator[Violation]], ...]] = (
    _replicas,
    _recovery_policy,
    _rollout_strategy,
    _roles,
    _gang,
)
"""All rules, in the order in which what they find is told."""

_OF_A_ROLE: Final[tuple[Callable[[ModelServing, Role, str], Iterator[Violation]], ...]] = (
    _role_name,
    _role_replicas,
    _workers,
    _templates,
    _role_rollout,
)
