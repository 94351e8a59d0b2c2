"""Pattern of the words inside an identifier.

It is not in identifiers.py, because hooks (short processes started by the coding agent) need no other pattern.
"""

import re

# `HTTPServer2` consists of HTTP, Server and 2. Non-ASCII letters count as separators, because the removal of secrets
# and the detection of names in observations were tuned with this rule.
ASCII_PART = re.compile(r"[A-Z](?:[a-z]++|(?:[A-Z](?![a-z]))*+)|[a-z]++|\d++")
