"""What an object that the API server stores has of one that was written."""

from lab.sandbox.objects import JSON


def holds(found: JSON, *, wanted: JSON) -> bool:
    """Tell whether all that is wanted is there, whatever the API server has added to it."""
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
