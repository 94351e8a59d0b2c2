"""Documentation search: crawl websites, folders, repositories and packages, and answer queries with citations."""
