"""Real clients against a real server, in separate processes."""
