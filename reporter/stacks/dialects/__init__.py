"""Kinds of models that a page of data describes; pods prove that one serves, and no claim does."""
