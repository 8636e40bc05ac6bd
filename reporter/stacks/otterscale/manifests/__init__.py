"""What OtterScale's operator creates for a ModelService, and what it deletes.

The rules are those of github.com/otterscale/model-operator, internal/modelservice and
internal/labels, as of April 2026 (commit ca17623). Each object is a template in `templates`, filled
(`filling`) with what it names (`values`); `wanted` says which of them exist.
"""
