"""The name under which we ask servers, and which their robots.txt can address."""

AGENT = "deltos"
USER_AGENT = f"{AGENT} (documentation indexer for coding agents; respects robots.txt)"
