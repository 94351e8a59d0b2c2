"""Access to documentation: an HTTP client that refuses private networks, robots.txt, sitemaps, and local files."""
