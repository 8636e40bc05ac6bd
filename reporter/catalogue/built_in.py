"""The catalogue without anything that a user declares."""

from typing import Final

from reporter.catalogue.reasons import REASONS
from reporter.catalogue.resources import CLUSTER_WIDE
from reporter.catalogue.suppression import SUPPRESSION
from reporter.model.catalogue import Catalogue

BUILT_IN: Final = Catalogue(REASONS, SUPPRESSION, CLUSTER_WIDE)
