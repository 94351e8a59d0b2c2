"""Everything that spans several domains: search over all of them, links between them, resources and prompts."""
