"""The five domains: docs, apis, code, graph, memory. They look alike inside and never import each other."""
