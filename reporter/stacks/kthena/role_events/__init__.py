"""Changes of role instances as Events on the ModelServing, in its own namespace."""
