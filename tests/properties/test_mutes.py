"""Properties of mutes that hold for every sequence of passes."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from reporter.catalogue import resources as r
from reporter.catalogue.built_in import BUILT_IN
from reporter.model.objects import Annotations, Metadata, Namespace, Pod
from reporter.model.report import Disposition
from reporter.resolution import Memory, resolve
from reporter.snapshot.table import table_of
from tests.properties.passes import Pass, findings, sequences, settings_

_NAMES = [each.name for each in BUILT_IN if not each.says_ready]


@st.composite
def muted_tables(draw):
    """Objects of which some carry mutes, also for reasons that sequences are made of."""
    reasons = draw(st.lists(st.builds(lambda each: each.reason, findings()), max_size=5))
    names = ",".join([*reasons, *draw(st.lists(st.sampled_from(_NAMES), max_size=2))])
    places = draw(st.frozensets(st.sampled_from(("a", "b", "n", "n/p", "n/q")), min_size=1))
    annotations = Annotations(mute=names)
    namespaces = [
        Namespace(metadata=Metadata(name=each, annotations=annotations if each in places else None))
        for each in "abn"
    ]
    pods = [
        Pod(metadata=Metadata(name=each, namespace="n", annotations=annotations))
        for each in "pq"
        if f"n/{each}" in places
    ]
    return {r.NAMESPACES: table_of(namespaces), r.PODS: table_of(pods)}


def run(passes, settings, tables):
    """Return the resolution of each pass over a cluster that holds these objects."""
    memory, found = Memory(), []
    for each in passes:
        snapshot = replace(each.snapshot, tables=tables)
        resolution = resolve(each.evaluation, snapshot, memory, each.now, settings)
        memory = resolution.memory
        found.append(resolution)
    return found


@given(sequences(troubled=False), settings_(), muted_tables())
def test_nothing_that_is_muted_is_told_and_nothing_is_hidden(passes: list[Pass], settings, tables):
    """What fires names a fault that nobody mutes; every fault that is seen is in the report."""
    for given_, resolution in zip(passes, run(passes, settings, tables), strict=True):
        report = resolution.report
        muting = {mute.object: set(mute.reasons) for mute in report.mutes}
        for each in report.findings:
            if each.disposition is Disposition.MUTED:
                assert each.mutes
            if each.disposition is Disposition.FIRING:
                places = (each.related.name, each.subject.namespace or each.related.namespace)
                muted = {
                    name
                    for ref, reasons in muting.items()
                    if (ref.kind, ref.name) in {("Pod", places[0]), ("Namespace", places[1])}
                    for name in reasons
                }
                assert each.reason not in muted
        seen = {each.key for each in given_.evaluation.findings if not each.sustains}
        assert seen <= {each.key for each in report.findings}


@given(sequences(troubled=False), settings_(), muted_tables())
def test_a_mute_tells_no_symptom(passes: list[Pass], settings, tables):
    """What would be suppressed by a cause is not told because that cause is muted."""
    without = run(passes, settings, {})
    for before, after in zip(without, run(passes, settings, tables), strict=True):
        suppressed = {
            each.key
            for each in before.report.findings
            if each.disposition is Disposition.SUPPRESSED
        }
        told = {
            each.key for each in after.report.findings if each.disposition is Disposition.FIRING
        }
        assert not suppressed & told
