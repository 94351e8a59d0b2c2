"""Pattern of the words inside an identifier, separate from identifiers.py because hooks need no other pattern."""

import re

# `HTTPServer2` consists of HTTP, Server and 2. Non-ASCII letters are separators: redaction and the names in
# observations were tuned with it.
ASCII_PART = re.compile(r"[A-Z](?:[a-z]++|(?:[A-Z](?![a-z]))*+)|[a-z]++|\d++")
