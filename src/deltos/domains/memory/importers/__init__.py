"""Read data of other memory programs; transfer.py redacts and stores the records."""
