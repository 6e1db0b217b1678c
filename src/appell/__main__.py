"""`python -m appell` is the command `appell`."""

import sys

from appell.cli import main

if __name__ == "__main__":
    sys.exit(main())
