"""The command line: parses arguments, calls the application and prints results."""
