"""`python -m reporter` is the same program as `status-reporter`."""

import sys

from reporter.cli.main import main

sys.exit(main())
