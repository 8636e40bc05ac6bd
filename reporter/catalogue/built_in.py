"""The catalogue without anything that a user declares: the shared tables and those of the stacks."""

from functools import lru_cache

from reporter.catalogue.pickers import picker_suppression_of
from reporter.catalogue.pod_suppression import pod_rows_of
from reporter.catalogue.reasons import CLUSTER_AFTER_STACKS, CLUSTER_BEFORE_STACKS, HARNESS
from reporter.catalogue.resources import SHARED
from reporter.catalogue.suppression import SUPPRESSION
from reporter.model.catalogue import Catalogue
from reporter.model.stack import StackRows


@lru_cache
def built_in(stacks: tuple[StackRows, ...]) -> Catalogue:
    """Return the catalogue of some stacks, in their order."""
    return Catalogue(
        reasons=(
            *CLUSTER_BEFORE_STACKS,
            *(reason for stack in stacks for reason in stack.cluster_reasons),
            *CLUSTER_AFTER_STACKS,
            *HARNESS,
            *(reason for stack in stacks for reason in stack.reasons),
        ),
        suppression=(*SUPPRESSION, *(row for stack in stacks for row in stack.suppression)),
        resources=(*SHARED, *(each for stack in stacks for each in stack.resources)),
        stacks=stacks,
        pod_suppression=(
            *(
                row
                for stack in stacks
                if stack.scraped
                for row in pod_rows_of(stack.scraped.kind, stack.scraped.not_ready)
            ),
            *(
                row
                for stack in stacks
                if stack.pickers
                for row in picker_suppression_of(stack.pickers.kind)
            ),
        ),
    )
