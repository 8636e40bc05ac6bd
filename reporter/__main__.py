"""`python -m reporter` is the same program as `status-reporter`."""

import sys

from reporter.entry import main

sys.exit(main())
