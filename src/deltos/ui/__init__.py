"""The page for people: what it shows (`views`), as which structs, and its built files. Knows no HTTP."""
