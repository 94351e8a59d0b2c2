"""Session files that agents leave behind, read as the hook inputs that the same events would have been. What becomes of
those is the business of mine.py."""
