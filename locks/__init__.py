"""What the lock files name, and nothing else: how it is installed, and whether it is all there.

A lock that asks a resolver is no lock: a release of tomorrow changes what it does. Before 23.3, pip
took the `coverage[toml]` that a locked package asks for as another requirement than the `coverage==`
of the lock, and ended when a newer coverage appeared. So every install here is without dependencies,
of wheels with known hashes (`locks.pip`); the project itself is built by the backend that the lock
has; and `locks.complete` says what a lock should have named and does not.

Nothing in this file may be newer than the oldest Python that somebody may try.
"""
