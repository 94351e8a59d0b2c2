"""Child processes that run our functions within limits; no code of an indexed project can run in them."""
