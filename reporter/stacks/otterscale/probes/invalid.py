"""modelserviceInvalid: names that cannot work."""

from collections.abc import Iterator
from typing import Final

from reporter.model.finding import Finding
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.objects import ModelService
from reporter.stacks.otterscale.probes.fleet import overwriting, with_same_picker
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.stacks.otterscale.reasons import INVALID

_TOO_LONG: Final = 30
_COLLISION: Final = 20
_OVERWRITTEN: Final = 10
_NAMED: Final = 3


def probe_invalid(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each rule of names that the ModelService breaks."""
    name = scope.service.name
    if text := names.too_long(name):
        yield _invalid(scope, "name too long", text, severity=_TOO_LONG)
    others = with_same_picker(scope.service, scope.snapshot)
    if others:
        text = (
            f"{_listed(others)} has the same endpoint picker, {scope.epp_name}: the operator "
            "writes its objects for each of them in turn, and it picks pods of only one of them"
        )
        yield _invalid(
            scope, f"same endpoint picker as {_listed(others)}", text, severity=_COLLISION
        )
    others = overwriting(scope.service, scope.snapshot)
    if others:
        pool = names.inference_pool(name)
        text = (
            f"the operator deletes InferencePool {pool} whenever it reconciles {_listed(others)}, "
            f"whose endpoint picker has that name"
        )
        yield _invalid(scope, f"pool deleted for {_listed(others)}", text, severity=_OVERWRITTEN)


def _invalid(scope: ModelServiceScope, cause: str, text: str, *, severity: int) -> Finding:
    return scope.finding(
        reason=INVALID,
        related=scope.ref,
        cause=cause,
        text=text,
        severity=severity,
        created=scope.service.created,
        exempt=True,
    )


def _listed(others: tuple[ModelService, ...]) -> str:
    shown = ", ".join(each.name for each in others[:_NAMED])
    more = len(others) - _NAMED
    return f"ModelService {shown}" + (f" and {more} more" if more > 0 else "")
