"""Fetching of documentation: HTTP that refuses private networks, robots.txt, sitemaps, and local files."""
