"""The endpoint pickers of InferenceSets.

Source: the chart inferencepool of kubernetes-sigs/gateway-api-inference-extension, which KAITO's production
stack installs as `<inferenceset>-inferencepool` (config/charts/inferencepool/templates/_helpers.tpl).
"""

from typing import Final

from reporter.catalogue.resources import INFERENCEPOOLS
from reporter.model.stack import ScrapedPickers
from reporter.stacks.kaito.resources import FORMER_POOLS, INFERENCESET_KIND

PICKERS: Final = ScrapedPickers(
    kind=INFERENCESET_KIND,
    label="inferencepool",
    value="{}-inferencepool-epp".format,
    pools=(INFERENCEPOOLS, FORMER_POOLS),
)
