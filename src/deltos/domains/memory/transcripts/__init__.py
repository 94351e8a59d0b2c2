"""Readers of the session files of agents; they yield events in the form of hook input, which mine.py imports."""
