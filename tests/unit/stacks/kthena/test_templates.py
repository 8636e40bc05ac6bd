"""Templates that are kept as names, images and a digest say the same as whole ones."""

import msgspec
import pytest

from reporter.stacks.kthena.objects import ControllerRevision, ModelServing, Role
from reporter.stacks.kthena.templates import roles_in, same_role, without_templates
from tests.unit.probes.building import document

IMAGE = {"name": "vllm", "image": "vllm:1"}
WHOLE = {"metadata": {"labels": {"a": ""}}, "spec": {"containers": [IMAGE]}}

ALIKE = {
    "the same": (WHOLE, WHOLE),
    "what is empty may be absent": ({**WHOLE, "x": {"y": [], "z": {"w": 0}}, "v": ""}, WHOLE),
    "quantities": ({"limits": {"cpu": "1000m"}}, {"limits": {"cpu": 1}}),
    "a divisor of zero": ({"divisor": "0"}, {}),
}
OTHERS = {
    "another image": (WHOLE, {"spec": {"containers": [{**IMAGE, "image": "vllm:2"}]}}),
    "a zero that is a pointer": ({"priority": 0}, {}),
    "a label without a value": ({"labels": {"a": ""}}, {}),
    "one more container": ({"containers": [{}, {}]}, {"containers": [{}]}),
    "other quantities": ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}),
}


def slim(template):
    served = document(
        "ModelServing", "m", "n", {"spec": {"template": {"roles": [{"entryTemplate": template}]}}}
    )
    return without_templates(msgspec.convert(served, ModelServing)).roles[0]


@pytest.mark.parametrize("case", [*ALIKE, *OTHERS])
def test_comparing_digests_is_comparing_templates(case):
    """Whether one of both or both are kept whole."""
    one, other = (ALIKE | OTHERS)[case]
    whole = [Role(entry_template=each) for each in (one, other)]
    kept = [slim(each) for each in (one, other)]
    for first in (whole[0], kept[0]):
        for second in (whole[1], kept[1]):
            assert same_role(first, second) is (case in ALIKE)


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
