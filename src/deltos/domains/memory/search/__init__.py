"""Ranked search over observations."""
