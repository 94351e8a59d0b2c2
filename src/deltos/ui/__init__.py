"""The web UI: data of its views, as structs, and its built files. Independent of HTTP."""
