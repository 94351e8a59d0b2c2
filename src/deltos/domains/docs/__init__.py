"""Documentation: crawl it once, cite it exactly, keep it current."""
