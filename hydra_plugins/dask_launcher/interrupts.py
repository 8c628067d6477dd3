"""Ctrl-C in a terminal where a program keeps Dask workers in processes of their own: they live on until it closes them.

Not here: what a sweep does about Ctrl-C (`_interrupts`).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client

# Hydra imports this module for every program: what needs Dask is imported when it is called.


def ignore_interrupts(client: "Client") -> None:
    """SIGINT ends none of the hosts, nor those that come later: what runs there is to end in order."""
    from hydra_plugins.dask_launcher._host import IgnoreInterrupts

    client.register_plugin(IgnoreInterrupts())
