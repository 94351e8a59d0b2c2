"""The user agent that is sent with all requests, and that robots.txt files can mention."""

AGENT = "deltos"
USER_AGENT = f"{AGENT} (documentation indexer for coding agents; respects robots.txt)"
