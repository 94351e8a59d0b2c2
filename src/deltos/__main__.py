"""`python -P -m deltos` is `deltos`."""

import sys

if not sys.flags.safe_path:
    # Nothing more may be imported: each module would be looked for in the working directory first.
    sys.stderr.write(
        "Error: `python -m deltos` lets Python take modules from the current folder, whoever wrote them. "
        "Run `deltos`, or `python -P -m deltos`.\n"
    )
    sys.exit(2)

from deltos.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
