"""Command-line interface: parses arguments, calls the application and prints results."""
