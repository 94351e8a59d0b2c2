"""`python -m deltos` is `deltos`."""

import sys

from deltos.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
