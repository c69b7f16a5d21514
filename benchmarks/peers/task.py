"""A trial as a package sees it: the observed series, a bank of simulations, a simulator to ask.

NumPy and the standard library alone: imported by every package's script, in its own environment. The
prior of the coordinates w is N(0, I) (`whiten`). Networks are given asinh((y - median) / scale) of each
column, median and scale those of the bank's first hundred: an invertible change that keeps the wildest
simulations of a vague prior from ruling the standardisation. ABC and particle filters see y itself.
"""

import json
import resource
import sys
import time
from functools import cached_property
from multiprocessing.connection import Client
from pathlib import Path

import numpy as np

DRAWS = 1000  # of the posterior, from every method that can choose


class Task:
    """One trial.

    Attributes:
        method: which of the package's.
        problem: name of the problem.
        budget: simulations that may be used.
        seed: of everything random.
        laws: of the prior's coordinates, for `whiten`.
        size: how many coordinates.
        observed: the series (T, d_y).
    """

    def __init__(self) -> None:
        self._facts = json.loads(sys.argv[1])
        limit = self._facts["limit"]
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        self.method: str = self._facts["method"]
        self.problem: str = self._facts["problem"]
        self.budget: int = self._facts["budget"]
        self.seed: int = self._facts["seed"]
        self.laws = [tuple(law) for law in self._facts["laws"]]
        self.size = len(self.laws)
        with np.load(self._facts["bank"], allow_pickle=False) as bank:
            self.observed: np.ndarray = bank["observed"]
            self._w, self._x = bank["w"][: self.budget], bank["x"][: self.budget]
            first = bank["x"][:100]
        rows = first[np.isfinite(first).all(axis=(1, 2))].reshape(-1, first.shape[2])
        self._centre = np.median(rows, axis=0)
        spread = np.median(np.abs(rows - self._centre), axis=0)
        self._scale = np.where(spread > 0, spread, 1.0)
        self.used = 0
        self.start()

    def start(self) -> None:
        """Set the clocks to zero: after imports, reading and what is compiled for everybody."""
        self._begin = time.perf_counter(), time.process_time()

    def bank(self) -> tuple[np.ndarray, np.ndarray]:
        """The budget's simulations from the prior: w (n, size) and series (n, T, d_y), all finite."""
        self.used += len(self._w)
        good = np.isfinite(self._x).all(axis=(1, 2))
        return self._w[good], self._x[good]

    def eased(self, y: np.ndarray) -> np.ndarray:
        """Series as networks are given them."""
        return np.arcsinh((y - self._centre) / self._scale).astype(np.float32)

    def simulate(self, w: np.ndarray) -> np.ndarray:
        """Series (n, T, d_y) at w (n, size), NaN where the simulator failed."""
        w = np.ascontiguousarray(w, dtype=np.float64).reshape(-1, self.size)
        self.used += len(w)
        self._server.send_bytes(w.tobytes())
        answer = np.frombuffer(self._server.recv_bytes(), dtype=np.float32)
        return answer.reshape(len(w), *self.observed.shape)

    @cached_property
    def _server(self):
        return Client(self._facts["socket"])

    def finish(self, **draws: np.ndarray) -> None:
        """Write draws of w, or of z, (n, size), with the clocks; `used` must be up to date."""
        wall = time.perf_counter() - self._begin[0]
        work = time.process_time() - self._begin[1]
        np.savez(Path(self._facts["out"]), wall=wall, work=work, used=self.used, **draws)
