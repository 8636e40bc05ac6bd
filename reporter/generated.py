"""`python -m reporter.generated` in a checkout is `python -m tools.generated`; the wheel is without both."""

import sys

from tools.generated import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
