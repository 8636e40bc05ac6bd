"""Properties of the names of a ModelService's objects."""

import re

from hypothesis import given
from hypothesis import strategies as st

from reporter.stacks.otterscale.manifests.names import epp, sanitised

DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
MOST = 63

texts = st.one_of(st.text(), st.text(alphabet="aZ0._- é/"))
object_names = st.from_regex(r"[a-z0-9]([-.a-z0-9]{0,40}[a-z0-9])?", fullmatch=True)


@given(texts)
def test_it_is_a_dns_1035_label_but_for_its_length(text):
    label = sanitised(text)
    assert DNS_1035.fullmatch(label)
    assert len(label) <= max(len(text) + len("m-"), len("modelservice"))
    assert DNS_1035.fullmatch(epp(text))


@given(texts)
def test_it_is_idempotent(text):
    assert sanitised(sanitised(text)) == sanitised(text)


@given(texts)
def test_no_two_hyphens_stand_in_a_row(text):
    assert "--" not in sanitised(text)


@given(st.from_regex(DNS_1035, fullmatch=True))
def test_a_label_stays_but_for_runs_of_hyphens(label):
    assert sanitised(label) == re.sub("-+", "-", label)


@given(object_names)
def test_of_a_name_that_the_api_server_accepts_no_letter_is_lost(name):
    kept = re.sub("[-.]", "", sanitised(name))
    prefix = "m" if name[0].isdigit() else ""
    assert kept == prefix + re.sub("[-.]", "", name)


@given(texts, texts)
def test_only_separators_and_case_and_what_is_dropped_make_names_collide(one, other):
    def core(text):
        return re.sub("[^a-z0-9]", "", re.sub("[^A-Za-z0-9]", "", text).lower())

    if sanitised(one) == sanitised(other) and not {core(one), core(other)} & {"", "modelservice"}:
        assert core(one).removeprefix("m") == core(other).removeprefix("m")
