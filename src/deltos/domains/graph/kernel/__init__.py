"""What the readers of all languages stand on."""
