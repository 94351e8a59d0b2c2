"""Measurements on real material, compared with peers in the same run. Never timed tests."""
