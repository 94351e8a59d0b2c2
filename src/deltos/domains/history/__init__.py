"""What a repository's own past tells: its commits, and what they say about files."""
