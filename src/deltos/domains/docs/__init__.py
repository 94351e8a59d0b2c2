"""Documentation domain: crawl sources, search them, cite passages, and keep them up to date."""
