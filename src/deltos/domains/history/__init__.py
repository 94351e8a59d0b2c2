"""Search over the git history of a project."""
