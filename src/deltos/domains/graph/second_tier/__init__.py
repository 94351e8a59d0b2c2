"""Languages of the second tier: definitions, imports, references through imports and through declared types."""
