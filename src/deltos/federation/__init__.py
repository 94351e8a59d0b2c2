"""Search across all domains and links between domains."""
