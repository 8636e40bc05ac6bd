"""What to do about a finding, with the names that are known filled in."""

import pytest

from reporter.catalogue.built_in import BUILT_IN
from reporter.model.subject import ObjectRef, SubjectKind
from reporter.sinks.action import action_of
from tests.unit.sinks.page.reports import EPP, finding, model


@pytest.mark.parametrize(
    ("api_version", "kind", "namespace", "name", "told"),
    [
        ("apps/v1", "Deployment", "team", "a-predictor", "-n team describe inferenceservice a,"),
        (
            "serving.kserve.io/v1beta1",
            "InferenceService",
            "team",
            "a",
            "describe inferenceservice a,",
        ),
        # What is copied into a shell holds proper names only.
        ("apps/v1", "Deployment", "team;reboot", "a-predictor", "kubectl -n <namespace> describe"),
    ],
    ids=["an object of the subject is at fault", "the subject itself is", "no proper name"],
)
def test_names_are_filled_in(api_version, kind, namespace, name, told):
    """Whoever is paged copies the command as it stands."""
    subject = model("a", kind=SubjectKind.INFERENCESERVICE)
    related = ObjectRef(api_version, kind, namespace, name)
    found = finding("inferenceserviceComponentNotReady", subject, related=related)
    assert told in action_of(found, BUILT_IN)


def test_reason_that_the_catalogue_does_not_have():
    """Nothing is said to do about it."""
    assert action_of(finding("customFault"), BUILT_IN) == ""
    assert action_of(finding(EPP, model("a")), BUILT_IN) != ""
