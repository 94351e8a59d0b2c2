"""Our own code in processes that can be stopped, and in which nothing of the indexed project can run."""
