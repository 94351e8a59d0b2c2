"""The page for people, in a real browser."""
