"""Workers of a Dask cluster for a black box."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Client, WorkerPlugin

from tsnl.simulation import load_file


class LoadFile(WorkerPlugin):
    """Every worker, also one that joins later, loads the user's file."""

    name = "tsnl-file"

    def __init__(self, path: str) -> None:
        self.path = path

    def setup(self, worker: Any) -> None:
        """Load it."""
        load_file(self.path)


@contextmanager
def cluster(address: str, path: Path) -> Iterator[Any]:
    """An executor on a running cluster, whose workers can read the file at the same path.

    Args:
        address: of the scheduler, such as tcp://10.0.0.1:8786.
        path: of the user's file.
    """
    with Client(address, timeout="10s") as client:
        client.register_plugin(LoadFile(str(path.resolve())))
        yield client.get_executor()
