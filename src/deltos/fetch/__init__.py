"""Fetch documentation: HTTP guarded against requests to private networks, robots.txt, sitemaps, local files."""
