"""Embedding of texts with the bundled models or with a remote server."""
