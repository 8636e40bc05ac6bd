"""Tables that follow each other."""

import gc

from msgspec import structs

from reporter.model.objects import KubeObject, Metadata
from reporter.snapshot.table import Table


def test_a_table_does_not_keep_those_before_the_last_one_alive():
    """One is made for each pass after a change: a day of them would not fit into memory."""
    name = ("team", "odd")
    objects = {
        (place, key): KubeObject(metadata=Metadata(name=key, namespace=place))
        for place, key in (name, ("team", "a"), ("team", "b"), ("team", "c"), ("team", "d"))
    }
    gc.collect()
    before = sum(type(each) is Table for each in gc.get_objects())
    table = Table(objects)
    for generation in range(10):
        changed = structs.replace(objects[name].metadata, generation=generation)
        objects = objects | {name: structs.replace(objects[name], metadata=changed)}
        last, table = table, Table(objects, table)
        assert len(table.in_namespace("team")) == len(objects)
        assert len(table.changes(last)) == 1
    del last
    gc.collect()
    assert sum(type(each) is Table for each in gc.get_objects()) - before <= 2
