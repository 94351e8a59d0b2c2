"""A project on disk: who it is, which files it has, what changed, and bringing its index up to date."""
