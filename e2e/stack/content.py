"""Compare a stored object with a written one."""

from lab.sandbox.objects import JSON


def holds(found: JSON, *, wanted: JSON) -> bool:
    """Tell whether everything wanted is present, whatever the API server has added."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            holds(found.get(key), wanted=value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(holds(one, wanted=other) for one, other in zip(found, wanted, strict=True))
        )
    return bool(found == wanted)
