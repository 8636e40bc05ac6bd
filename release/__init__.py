"""All that a release has, from the last commit: `make release`; docs/release.md.

The same commit gives the same bytes, whoever builds it, when and where.
"""
