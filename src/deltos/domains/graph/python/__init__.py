"""Extract facts about Python code from syntax trees, and resolve references by types, scopes and imports."""
