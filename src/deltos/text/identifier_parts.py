"""Pattern of the words inside an identifier.

It is separate from identifiers.py because hooks (short processes that the coding agent starts) need no other pattern.
"""

import re

# `HTTPServer2` consists of HTTP, Server and 2. Non-ASCII letters are separators, because redaction and the detection of
# names in observations were tuned with this rule.
ASCII_PART = re.compile(r"[A-Z](?:[a-z]++|(?:[A-Z](?![a-z]))*+)|[a-z]++|\d++")
