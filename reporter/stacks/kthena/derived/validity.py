"""The rules of a ModelServing's spec: those of the CRD's schema and of Kthena's webhook.

The webhook's rules are in github.com/volcano-sh/kthena,
pkg/model-serving-controller/webhook/validator.go, v1.0.0.

An object may break a rule if the webhook was away when it was written, if `scale` changed its
replicas (which calls no webhook), or if the CRD is a different one.

Not checked: the presence of fields that the API server fills in, rules that compare an object with
its previous version (gangPolicy may not change), and plugins and networkTopology, for which only
the schema has rules.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final, TypeAlias

from reporter.stacks.kthena import objects as api

Rule: TypeAlias = tuple[bool, str, str]
"""Whether the rule is broken, the path of the field, and the text of the fault."""

_POLICIES: Final = (api.ROLE_RECREATE, api.SERVING_GROUP_RECREATE, "None")
_STRATEGIES: Final = (api.ROLE_ROLLING_UPDATE, api.SERVING_GROUP_ROLLING_UPDATE)
_MOST_ROLES, _ROLE_NAME_LENGTH, _LABEL_LENGTH = 4, 12, 63
_DNS_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_PERCENT: Final = re.compile(r"[0-9]{1,9}%")
_FULL: Final = 100
_TYPE: Final = "spec.rolloutStrategy.type"
_ROLLING_UPDATE: Final = "spec.rolloutStrategy.rollingUpdateConfiguration"
_ROLES: Final = "spec.template.roles"
_NOT_NEGATIVE: Final = "must not be negative"


def violations(modelserving: api.ModelServing) -> tuple[tuple[str, str], ...]:
    """Return the paths of the fields at fault with a text each, in the order of the message."""
    rules = chain(_of_spec(modelserving), _of_roles(modelserving), _of_gang(modelserving))
    return tuple((field, text) for broken, field, text in rules if broken)


def _of_spec(modelserving: api.ModelServing) -> Iterator[Rule]:
    spec, rolls_roles = modelserving.spec, modelserving.rolls_roles
    policy, strategy = spec.recovery_policy, spec.rollout_strategy
    not_for_roles = f"does not go with {_TYPE} {api.ROLE_ROLLING_UPDATE}"
    of = "spec.recoveryPolicy"
    yield from _number("spec.replicas", spec.replicas)
    yield policy not in {None, *_POLICIES}, of, _one_of(*_POLICIES)
    yield policy == api.SERVING_GROUP_RECREATE and rolls_roles, of, f"{policy} {not_for_roles}"
    if strategy is None:
        return
    yield strategy.type not in {"", *_STRATEGIES}, _TYPE, _one_of(*_STRATEGIES)
    update = strategy.rolling_update_configuration
    if update is None or rolls_roles:
        yield update is not None, _ROLLING_UPDATE, not_for_roles
        return
    yield from _amount(f"{_ROLLING_UPDATE}.partition", update.partition)
    yield from _amount(f"{_ROLLING_UPDATE}.maxSurge", update.max_surge)
    yield from _amount(f"{_ROLLING_UPDATE}.maxUnavailable", update.max_unavailable)
    # With 0 replicas a rollout has nothing to do. With maxSurge, which Kthena has had again since
    # August 2026, a rollout can begin with an additional group.
    if modelserving.wanted and not _resolved(update.max_surge, _FULL):
        path = f"{_ROLLING_UPDATE}.maxUnavailable"
        yield from _not_zero(path, update.max_unavailable, modelserving.wanted)


def _of_roles(modelserving: api.ModelServing) -> Iterator[Rule]:
    roles = modelserving.roles
    names = [role.name for role in roles]
    yield not roles, _ROLES, "there must be a role"
    yield len(roles) > _MOST_ROLES, _ROLES, f"{len(roles)} roles are more than {_MOST_ROLES}"
    for name in sorted({each for each in names if names.count(each) > 1}):
        yield True, _ROLES, f"two roles have the name {name}"
    for index, role in enumerate(roles):
        yield from _of_role(modelserving, role, f"{_ROLES}[{index}]")


def _of_role(modelserving: api.ModelServing, role: api.Role, path: str) -> Iterator[Rule]:
    workers, rolls_roles = role.worker_replicas, modelserving.rolls_roles
    made = f"{modelserving.name}-{modelserving.wanted}-{role.name}-{role.wanted}-{workers or 0}"
    is_name = bool(_DNS_1035.fullmatch(role.name))
    is_label = len(made) <= _LABEL_LENGTH and bool(_DNS_1035.fullmatch(made))
    too_long = f"is longer than {_ROLE_NAME_LENGTH} characters"
    no_name = (
        "must be of lower-case letters, digits and '-', begin with a letter and not end in '-'"
    )
    no_label = (
        f"names made of it, as {made}, must begin with a letter, have no '.' and be no longer "
        f"than {_LABEL_LENGTH} characters"
    )
    lacks_worker = (workers or 0) > 0 and role.worker_template is None
    no_worker = "must be set, as workerReplicas is more than 0"
    is_alien = role.partition is not None and not rolls_roles
    alien = f"only goes with {_TYPE} {api.ROLE_ROLLING_UPDATE}"
    yield len(role.name) > _ROLE_NAME_LENGTH, f"{path}.name", too_long
    yield not is_name, f"{path}.name", no_name
    yield is_name and not is_label, "metadata.name", no_label
    yield from _number(f"{path}.replicas", role.replicas)
    yield from _number(f"{path}.workerReplicas", workers)
    yield workers is None, f"{path}.workerReplicas", "must be set"
    yield lacks_worker, f"{path}.workerTemplate", no_worker
    yield role.entry_template is None, f"{path}.entryTemplate", "must be set"
    yield from _images(role.entry_template, f"{path}.entryTemplate")
    yield from _images(role.worker_template, f"{path}.workerTemplate")
    yield is_alien, f"{path}.partition", alien
    yield from _amount(f"{path}.partition", role.partition)
    if rolls_roles:
        unavailable, field = role.max_unavailable, f"{path}.maxUnavailable"
        resolved = _resolved(unavailable, role.wanted) or 0
        yield from _amount(field, unavailable)
        yield from _not_zero(field, unavailable, role.wanted)
        yield resolved > role.wanted, field, _more_than_replicas(resolved, role.wanted)


def _of_gang(modelserving: api.ModelServing) -> Iterator[Rule]:
    template = modelserving.spec.template
    wanted = {role.name: role.wanted for role in modelserving.roles}
    gangs = (("gangPolicy", template.gang_policy), ("gangSchedule", template.gang_schedule))
    for field, gang in gangs:
        least_of = (gang.min_role_replicas if gang is not None else None) or {}
        for name, least in sorted(least_of.items()):
            path, most = f"spec.template.{field}.minRoleReplicas[{name}]", wanted.get(name)
            yield most is None, path, f"there is no role {name}"
            if most is not None:
                yield least < 0, path, _NOT_NEGATIVE
                yield least > most, path, _more_than_replicas(least, most)


def _images(template: api.Template | None, path: str) -> Iterator[Rule]:
    spec = (template or {}).get("spec")
    for key in ("initContainers", "containers"):
        containers = spec.get(key) if isinstance(spec, dict) else None
        for index, each in enumerate(containers if isinstance(containers, list) else ()):
            image = each.get("image") if isinstance(each, dict) else None
            broken = isinstance(image, str) and any(map(str.isspace, image))
            yield broken, f"{path}.spec.{key}[{index}].image", "must not contain blanks"


def _number(path: str, value: int | None) -> Iterator[Rule]:
    yield (value or 0) < 0, path, _NOT_NEGATIVE
    yield (value or 0) > api.MOST, path, f"must not be more than {api.MOST}"


def _amount(path: str, value: int | str | None) -> Iterator[Rule]:
    is_wrong = value is not None and _resolved(value, 0) is None
    no_percentage = "must be a number, or a percentage from 0% to 100%"
    yield is_wrong, path, _NOT_NEGATIVE if isinstance(value, int) else no_percentage


def _not_zero(path: str, value: int | str | None, replicas: int) -> Iterator[Rule]:
    of = f"{value} of {replicas} " if isinstance(value, str) else ""
    yield _resolved(value, replicas) == 0, path, f"{of}is 0, so that no rollout could begin"


def _resolved(value: int | str | None, replicas: int) -> int | None:
    """Return how many of `replicas` a value stands for, rounded down; None if it is invalid."""
    if isinstance(value, int):
        return value if value >= 0 else None
    if value is None or not _PERCENT.fullmatch(value):
        return None
    percent = int(value[:-1])
    return percent * replicas // _FULL if percent <= _FULL else None


def _more_than_replicas(number: int, replicas: int) -> str:
    return f"{number} is more than the role's replicas, {replicas}"


def _one_of(*names: str) -> str:
    return f"must be one of {', '.join(sorted(names))}"
