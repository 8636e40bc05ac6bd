"""Development tools, which are not in the package."""
