"""Pages that a script fills, rendered by the Chromium of this machine, which itself never touches a network."""
