"""What to do about a finding, with the names that are known filled in."""

import pytest

from reporter.catalogue.built_in import BUILT_IN
from reporter.model.subject import ObjectRef, SubjectKind
from reporter.sinks.action import action_of
from tests.unit.sinks.page.reports import EPP, finding, model


@pytest.mark.parametrize(
    ("reason", "kind", "related", "told"),
    [
        pytest.param(
            "inferenceserviceComponentNotReady",
            SubjectKind.INFERENCESERVICE,
            ObjectRef("apps/v1", "Deployment", "team", "a-predictor"),
            "kubectl -n team describe inferenceservice a,",
            id="an object of the subject is at fault",
        ),
        pytest.param(
            "inferenceserviceComponentNotReady",
            SubjectKind.INFERENCESERVICE,
            ObjectRef("serving.kserve.io/v1beta1", "InferenceService", "team", "a"),
            "kubectl -n team describe inferenceservice a,",
            id="the subject itself is",
        ),
        pytest.param(
            "inferenceserviceComponentNotReady",
            SubjectKind.INFERENCESERVICE,
            ObjectRef("apps/v1", "Deployment", "team;reboot", "a-predictor"),
            "kubectl -n <namespace> describe",
            id="what is copied into a shell holds proper names only",
        ),
    ],
)
def test_names_are_filled_in(reason, kind, related, told):
    """Whoever is paged copies the command as it stands."""
    found = finding(reason, model("a", kind=kind), related=related)
    assert told in action_of(found, BUILT_IN)


def test_reason_that_the_catalogue_does_not_have():
    """Nothing is said to do about it."""
    assert action_of(finding("customFault"), BUILT_IN) == ""
    assert action_of(finding(EPP, model("a")), BUILT_IN) != ""
