"""The API objects that the reporter reads, with only the fields that it reads.

Pages and watch frames are decoded straight into these structs. Field names are the API's in snake
case; lists that the API may write as `null` are optional. An object that does not fit is malformed
and skipped, so no working object may exceed a limit set here.
"""

from reporter.model.objects.base import *
from reporter.model.objects.core import *
from reporter.model.objects.demands import *
from reporter.model.objects.gateway import *
from reporter.model.objects.networks import *
from reporter.model.objects.pods import *
