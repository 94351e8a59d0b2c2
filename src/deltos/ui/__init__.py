"""The web UI: the data of its views as structs, and its built files. It does not depend on HTTP."""
