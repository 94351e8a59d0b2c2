"""Redaction: detection and replacement of secrets in texts before anything is written."""
