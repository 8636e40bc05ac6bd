"""Kinds of models that a page of data describes: where wanted replicas, pods, roles and claims stand.

A file translates objects of a kind into the served model. It can neither add a reason nor change the
priority of one, and nothing that a controller claims proves that a model serves: pods do.
"""
