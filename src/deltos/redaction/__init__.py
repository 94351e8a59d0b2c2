"""Detect secrets in texts and replace them before anything is stored."""
