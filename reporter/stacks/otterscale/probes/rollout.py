"""modelserviceRolloutStalled: a rollout past its deadline."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import Finding
from reporter.model.objects import Condition, Deployment
from reporter.settings import EvaluationSettings
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.stacks.otterscale.reasons import ROLLOUT_STALLED

_DEADLINE_SECONDS: Final = 600
"""The API's default of `progressDeadlineSeconds`; the operator sets none."""


def probe_rollout(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each role whose rollout stalls.

    The Deployment's deadline is shorter than the time that a model may take to be fetched.
    """
    for role in scope.roles:
        deployment = role.deployment
        if deployment is None or deployment.deleting or deployment.wanted == 0:
            continue
        stalled = _stalled(deployment)
        if stalled is None:
            continue
        updated = f"{deployment.status.updated_replicas}/{deployment.wanted} pods are new"
        yield scope.finding(
            reason=ROLLOUT_STALLED,
            related=DEPLOYMENTS.ref(deployment),
            cause=f"{role.role}: ProgressDeadlineExceeded",
            text=f"the rollout of Deployment {role.name} is past its deadline: {updated}, "
            f"{role.count}",
            severity=1 if role.ready == 0 else 0,
            transition=stalled.last_transition_time,
            created=deployment.created,
            budget=_rest(deployment, scope.settings),
        )


def _stalled(deployment: Deployment) -> Condition | None:
    condition = deployment.status.condition("Progressing")
    if condition is None or condition.status != "False":
        return None
    if deployment.status.observed_generation < deployment.metadata.generation:
        return None
    return condition if condition.reason == "ProgressDeadlineExceeded" else None


def _rest(deployment: Deployment, settings: EvaluationSettings) -> timedelta | None:
    """Return how much longer than the deadline a start may take, None if it may not."""
    deadline = deployment.spec.progress_deadline_seconds or _DEADLINE_SECONDS
    rest = settings.model_startup_budget_seconds - deadline
    return timedelta(seconds=rest) if rest > 0 else None
