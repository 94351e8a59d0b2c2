"""Readers of other memory programs' data; transfer.py redacts and stores the records."""
