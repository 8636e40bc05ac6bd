"""What OtterScale's operator creates for a ModelService, and what it deletes.

The rules are those of github.com/otterscale/model-operator, internal/modelservice and
internal/labels, as of April 2026 (commit ca17623). Each object is a template of `templates.yaml`,
which `filling` fills with values; `wanted` has the values, and decides which objects should exist.
"""
