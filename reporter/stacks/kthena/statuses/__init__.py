"""The status of ModelServings, written to the API server."""
