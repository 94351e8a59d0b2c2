"""Capture: hooks append events to a journal, and distillation turns the events into observations."""
