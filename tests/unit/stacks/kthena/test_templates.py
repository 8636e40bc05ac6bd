"""Templates that are kept as names, images and a digest say the same as whole ones."""

import msgspec
import pytest

from reporter.stacks.kthena.objects import ControllerRevision, ModelServing, Role
from reporter.stacks.kthena.templates import roles_in, same_role, without_templates
from tests.unit.probes.building import document

IMAGE = {"name": "vllm", "image": "vllm:1"}
WHOLE = {"metadata": {"labels": {"a": ""}}, "spec": {"containers": [IMAGE]}}


def slim(template):
    served = document(
        "ModelServing", "m", "n", {"spec": {"template": {"roles": [{"entryTemplate": template}]}}}
    )
    return without_templates(msgspec.convert(served, ModelServing)).roles[0].entry_template


OTHER = {**WHOLE, "priority": 0}


@pytest.mark.parametrize("one", [WHOLE, slim(WHOLE)])
@pytest.mark.parametrize(
    ("other", "same"),
    [(WHOLE, True), ({**WHOLE, "v": ""}, True), (OTHER, False), (slim(OTHER), False)],
)
def test_a_template_that_is_kept_short_is_compared_like_a_whole_one(one, other, same):
    assert same_role(Role(entry_template=one), Role(entry_template=other)) is same


def test_a_revision_keeps_its_roles():
    """With names and images, and nothing else of their templates."""
    data = {"data": [{"name": "r", "entryTemplate": {**WHOLE, "x": ["y"] * 9}}]}
    revision = msgspec.convert(
        document("ControllerRevision", "c", "n", {"data": data}), ControllerRevision
    )
    (role,) = roles_in(without_templates(revision).data)
    assert role.entry_template["spec"] == {"containers": [IMAGE]}
    assert set(role.entry_template) == {"spec", "rest"}
    assert same_role(role, Role(name="r", entry_template=data["data"][0]["entryTemplate"]))
