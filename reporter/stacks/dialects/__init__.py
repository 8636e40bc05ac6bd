"""Kinds of models described by a page of data; only pods prove that one serves, never a claim."""
