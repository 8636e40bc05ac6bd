"""What puts the image together: the steps that `Dockerfile.status-reporter` calls.

Nothing but the standard library and pip, because they run in the bare base image.
"""
