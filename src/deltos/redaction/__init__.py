"""Redaction: finds secrets in texts and replaces them before anything is written."""
