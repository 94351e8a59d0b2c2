"""Capture hook events in a journal and convert them to observations."""
