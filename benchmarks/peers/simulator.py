"""One simulator for all packages: a bank of prior simulations as data, and answers over a socket."""

import time
from multiprocessing.connection import Listener
from pathlib import Path
from threading import Thread

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers.problems import Question, question
from benchmarks.peers.whiten import to_z
from tsnl.models.base import trajectory

BANK = 10_000
MOST = 256  # series of one compiled call


@eqx.filter_jit
def _series(keys, z, asked, length):
    def one(key, z):
        theta = asked.model.complete(asked.prior.constrain(z))
        rows = trajectory(key, asked.model, theta, length)[1]
        return rows.reshape(length, -1).astype(jnp.float32)

    return jax.vmap(one)(keys, z)


class Simulator:
    """Series of w, compiled for powers of two; every series has a key of its own."""

    def __init__(self, asked: Question, seed: int):
        self.asked, self.key, self.count = asked, jax.random.key(seed), 0

    def __call__(self, w: np.ndarray) -> np.ndarray:
        """Series (n, T, d_y) at w (n, size)."""
        parts = [self._block(w[i : i + MOST]) for i in range(0, len(w), MOST)]
        return np.concatenate(parts)

    def _block(self, w):
        size = 1 << (len(w) - 1).bit_length()
        z = np.zeros((size, w.shape[1]), dtype=np.float32)
        z[: len(w)] = to_z(self.asked.laws, w)
        keys = jax.vmap(lambda i: jax.random.fold_in(self.key, i))(self.count + jnp.arange(size))
        self.count += len(w)
        return np.asarray(_series(keys, jnp.asarray(z), self.asked, len(self.asked.series)))[: len(w)]


def bank(folder: Path, name: str, seed: int) -> Path:
    """The file of a problem's bank for a seed, made where it is missing."""
    path = folder / f"{name}-{seed}.npz"
    if not path.exists():
        asked = question(name, seed)
        w = np.random.default_rng(seed).normal(size=(BANK, asked.prior.size))
        x = Simulator(asked, 1000 + seed)(w)
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez_compressed(part, w=w, x=x, observed=np.asarray(asked.series, dtype=np.float32))
        part.replace(path)
    return path


class Server:
    """Answers one client from a thread: raw float64 w in, raw float32 series out.

    Attributes:
        work: seconds of this process's processor time that answers took.
    """

    def __init__(self, asked: Question, seed: int, socket: Path):
        socket.unlink(missing_ok=True)
        self._simulate, self._size = Simulator(asked, 2000 + seed), asked.prior.size
        for n in (1, MOST):
            self._simulate(np.zeros((n, self._size)))  # compiled before anybody's clock begins
        self._listener = Listener(str(socket), family="AF_UNIX")
        self.work = 0.0
        Thread(target=self._answer, daemon=True).start()

    def _answer(self):
        try:
            with self._listener.accept() as client:
                while True:
                    w = np.frombuffer(client.recv_bytes(), dtype=np.float64).reshape(-1, self._size)
                    begin = time.process_time()
                    client.send_bytes(self._simulate(w).tobytes())
                    self.work += time.process_time() - begin
        except (EOFError, OSError):
            return

    def close(self) -> None:
        """Take no more questions."""
        self._listener.close()
