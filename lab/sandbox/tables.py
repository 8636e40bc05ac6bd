"""Tables: the output of `kubectl get`, computed by the server."""

from lab.sandbox import jsonpath
from lab.sandbox.columns import BUILT_IN_COLUMNS, DEFAULT_COLUMNS, NAME, Column
from lab.sandbox.objects import JSON, Object, encode
from lab.sandbox.resources import PrinterColumn, Resource
from lab.sandbox.times import age


def columns_of(resource: Resource) -> tuple[Column, ...]:
    """Return the columns of a kind."""
    if resource.custom:
        return (NAME, *map(_custom_column, resource.columns))
    return BUILT_IN_COLUMNS.get(resource.collection, DEFAULT_COLUMNS)


def _custom_column(declared: PrinterColumn) -> Column:
    def cell(obj: Object, now: float) -> JSON:
        values = jsonpath.find(obj, declared.json_path)
        if not values or values[0] is None:
            return "<unknown>" if declared.type == "date" else None
        value = values[0]
        if declared.type == "date":
            return age(value, now)
        if declared.type == "string":
            if isinstance(value, dict | list):
                return encode(value).decode()
            return str(value).lower() if isinstance(value, bool) else str(value)
        return value

    return Column(declared.name, cell, declared.priority, declared.type, declared.format)


def definitions(columns: tuple[Column, ...]) -> list[Object]:
    """Return the columnDefinitions of a Table."""
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.name,
            "priority": column.priority,
        }
        for column in columns
    ]


def row(columns: tuple[Column, ...], obj: Object, now: float) -> list[JSON]:
    """Return the cells of one object, in the version that the columns are defined on."""
    return [column.cell(obj, now) for column in columns]
