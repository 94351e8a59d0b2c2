"""Server side of the web UI: the data of each page view, and the static files. Independent of HTTP."""
