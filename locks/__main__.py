"""`python -m locks setup VENV`, `install LOCK` or `check`. Any Python can read this file."""

import sys

OLDEST = (3, 11)

if sys.version_info < OLDEST:
    here = sys.executable + " is " + ".".join(map(str, sys.version_info[:2]))
    needed = "setup: Python " + ".".join(map(str, OLDEST)) + " or newer is needed, and "
    sys.exit(needed + here + ": make setup PYTHON=/path/to/python3")

from locks.setup import main  # noqa: E402  # an older Python cannot read it

sys.exit(main(sys.argv[1:]))
