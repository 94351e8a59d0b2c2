"""What spans the domains: one search over all of them, links between them, resources and prompts."""
