"""Functions that span several domains: search across them, links between them, resources and prompts."""
