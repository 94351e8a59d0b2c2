"""Coverage-guided fuzzing of all parsers of outside text. Usage: `python -m fuzz --help`."""
