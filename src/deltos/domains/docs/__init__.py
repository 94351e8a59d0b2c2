"""Documentation domain: crawl documentation sources, search them, cite passages, and keep the index up to date."""
