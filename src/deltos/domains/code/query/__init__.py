"""What a query asks: its kind, terms, names, stack frames and messages."""
