"""The image's steps in a clean folder, and what they give, started the way a container is.

There is no container engine in it. What only an engine could prove is in docs/install.md.
"""
