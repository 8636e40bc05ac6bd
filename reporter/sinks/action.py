"""What to do about a finding: the catalogue's words with the names filled in, and kubectl."""

from typing import Final

from reporter.model.catalogue import Catalogue
from reporter.model.commands import describe_command, is_name
from reporter.model.report import ResolvedFinding
from reporter.model.subject import Layer

_POD: Final = "<pod>"


def action_of(finding: ResolvedFinding, catalogue: Catalogue) -> str:
    """Return what to do, with the names filled in where the catalogue leaves room for them.

    A diagnosis says what to do about its cause. It is empty for a reason that the catalogue does not have. Where the words are about a pod and the
    object at fault is none, such as a Workspace without a pod, it is that object to look at.
    """
    if finding.diagnosis is not None and finding.diagnosis.action:
        return finding.diagnosis.action
    if finding.reason not in catalogue:
        return ""
    action = catalogue[finding.reason].action
    related = finding.related
    kind = related.kind.lower()
    named = related.name
    known = {f"<{kind}>": named, "<namespace>": related.namespace or finding.subject.namespace}
    if f"{kind} <name>" in action or finding.layer is Layer.CLUSTER:
        known["<name>"] = named
    elif f"{finding.subject.kind} <name>" in action:
        known["<name>"] = finding.subject.name
    if _POD in action and _POD not in known:
        action = _without_pod(action, describe_command(related))
    for room, name in known.items():
        # What is to be copied into a shell holds nothing but a proper name.
        action = action.replace(room, name if is_name(name) else room)
    return action


def _without_pod(action: str, command: str) -> str:
    """Return what to do where no pod is at fault: the sentences about one give way to a command."""
    if not command:
        return action
    rest = [each for each in action.split(". ") if _POD not in each]
    return ". ".join([f"{command}: no pod is at fault", *(rest or [""])]).rstrip()
