"""Entry point of `python -P -m deltos`, which does the same as `deltos`."""

import sys

if not sys.flags.safe_path:
    # No module may be imported, because Python would search the working directory first.
    sys.stderr.write(
        "Error: `python -m deltos` would import modules from the current folder, which may be untrusted. "
        "Run `deltos` or `python -P -m deltos`.\n"
    )
    sys.exit(2)

from deltos.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
