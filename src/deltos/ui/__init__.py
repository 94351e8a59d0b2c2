"""The web UI: its views, which return data as structs, and its static files. Independent of HTTP."""
