"""modelservingStatusNotOwned: a status that we should own and that others change, or drop."""

from collections.abc import Iterable, Iterator
from typing import Final

from reporter.model.finding import Finding
from reporter.model.subject import ObjectRef, Subject
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena.derived.ownership_memory import Trouble, TroubleKind
from reporter.stacks.kthena.reasons import STATUS_NOT_OWNED
from reporter.stacks.kthena.resources import MODELSERVING_KIND
from reporter.workload.components import namespace_ref

_SEVERITY: Final = {TroubleKind.PRUNED: 0, TroubleKind.CONTESTED: 1}
_MANAGER_BYTES: Final = 128


def ownership_findings(
    ref: ObjectRef, troubles: Iterable[Trouble], snapshot: Snapshot
) -> Iterator[Finding]:
    """Yield one finding for each trouble with the status of one ModelServing."""
    for trouble in troubles:
        cause, text = _told(trouble)
        yield Finding(
            reason=STATUS_NOT_OWNED,
            subject=Subject(MODELSERVING_KIND, ref.namespace, ref.name),
            involved=namespace_ref(snapshot, ref.namespace),
            related=ref,
            message=cut(clean(f"ModelServing {ref.namespace}/{ref.name}: {text}"), MESSAGE_BYTES),
            cause=cause,
            severity=_SEVERITY[trouble.kind],
            transition=trouble.since,
            exempt=True,
        )


def _told(trouble: Trouble) -> tuple[str, str]:
    """Return the cause in a few words and in a sentence."""
    fields = " and ".join(trouble.fields)
    if trouble.kind is TroubleKind.PRUNED:
        cause = f"the CustomResourceDefinition lacks {fields}"
        text = f"{fields} cannot be written, because {cause}; add it there"
        return cause, text
    others = ""
    if trouble.manager:
        others = f' (field manager "{cut(clean(trouble.manager), _MANAGER_BYTES)}" writes it too)'
    text = (
        f"somebody else keeps changing {fields} back{others}, so the status reporter writes it "
        "less often, in the end every 10 minutes; let only one of the two own it"
    )
    return f"somebody else keeps changing {fields}", text
