"""Pure: the objects that should exist for another one, as manifests; a package for each kind."""
