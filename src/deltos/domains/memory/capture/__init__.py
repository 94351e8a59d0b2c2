"""Capture: hooks append events to a journal, and distillation converts the events to observations."""
