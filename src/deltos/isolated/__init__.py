"""Child processes that run Deltos functions within limits; code of indexed projects cannot run in them."""
