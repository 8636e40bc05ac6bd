"""One root cause, as Kubernetes Events, for LLM serving stacks made of many parts."""

__version__ = "0.2.0"
