"""The user agent of our requests, which robots.txt files can address."""

AGENT = "deltos"
USER_AGENT = f"{AGENT} (documentation indexer for coding agents; respects robots.txt)"
