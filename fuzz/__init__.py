"""Coverage-guided fuzzing of all parsers of untrusted text. Usage: `python -m fuzz --help`."""
