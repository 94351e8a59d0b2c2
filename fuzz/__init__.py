"""Coverage-guided fuzzing of everything that reads text from outside. `python -m fuzz --help` says how."""
