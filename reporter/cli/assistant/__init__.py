"""What `status-reporter mcp` serves: the other commands' answers, bounded, to an assistant.

Only `server` knows the SDK of the Model Context Protocol, so that everything else does without it.
"""
