"""Pure: the status that an object of another project should have; a package for each kind."""
