"""Child processes that run Deltos functions within limits. They never run code of indexed projects."""
