"""The endpoint pickers of ModelServices (labels of otterscale/model-operator)."""

from typing import Final

from reporter.catalogue.resources import INFERENCEPOOLS
from reporter.model.stack import ScrapedPickers
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.resources import MODELSERVICE_KIND

PICKERS: Final = ScrapedPickers(
    kind=MODELSERVICE_KIND,
    label="inferencepool",
    value=names.epp,
    labels={
        "app.kubernetes.io/part-of": "otterscale-system",
        "app.kubernetes.io/component": "epp",
    },
    pools=(INFERENCEPOOLS,),
)
