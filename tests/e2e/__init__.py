"""Real clients against the real server, in processes of their own."""
