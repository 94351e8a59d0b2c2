"""`python -m pinakes` is `pinakes`."""

import sys

from pinakes.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
