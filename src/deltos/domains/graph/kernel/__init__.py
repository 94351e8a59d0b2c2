"""Code that the resolvers of all languages share."""
