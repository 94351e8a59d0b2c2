"""Storage protocols and row types. `store.sqlite` and `store.postgres` implement the protocols."""
