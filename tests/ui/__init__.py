"""Tests of the web UI in a real browser."""
