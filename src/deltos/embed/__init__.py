"""Embedding: vectors of texts by the bundled models, a local encoder or a remote server."""
