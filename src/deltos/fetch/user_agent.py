"""The user agent of all requests, which robots.txt files can mention."""

AGENT = "deltos"
USER_AGENT = f"{AGENT} (documentation indexer for coding agents; respects robots.txt)"
