"""Module resolution: import specifiers, package.json, tsconfig.json, exports and ambient declarations."""
