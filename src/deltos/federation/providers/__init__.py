"""The domains as providers of the federated search, one module each."""
