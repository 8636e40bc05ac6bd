"""When an object was last written, and so since when a controller may lag behind it."""

from datetime import datetime

from reporter.model.instant import parse_rfc3339
from reporter.model.objects import KubeObject


def spec_written(obj: KubeObject) -> datetime | None:
    """Return when somebody last wrote what is wanted of an object since it was created, if that is told.

    A generation grows with such a write only, so that no controller lags behind it for longer. The times
    are those of `metadata.managedFields`, where a write of the status does not count (Kubernetes,
    "Server-Side Apply", field management).
    """
    times = (_moment(each.time) for each in obj.metadata.managed_fields or () if each.owns_wanted)
    return max((each for each in times if each is not None), default=None)


def last_written(obj: KubeObject) -> datetime | None:
    """Return when an object was made, or what is wanted of it was last changed."""
    times = (obj.created, spec_written(obj))
    return max((each for each in times if each is not None), default=None)


def _moment(text: str) -> datetime | None:
    try:
        return parse_rfc3339(text)
    except ValueError:
        return None
