"""Embedding of texts with the bundled models, a local encoder or a remote server."""
