"""The daemon of `daemon_process`, which imports all of kubernetes_asyncio instead of the part it uses."""

import runpy

from kubernetes_asyncio import client, config

from reporter.kube import library

# In place before the daemon's modules import it by name.
setattr(  # noqa: B010  # no type checker lets a function of a module be set
    library,
    "library",
    lambda: library.Library(client.Configuration, client.rest.RESTClientObject, config),
)
runpy.run_module(f"{__package__}.daemon_process", run_name="__main__")
