"""Black boxes for the tests, loaded from this file by the workers too."""

import os
import signal
import time
from pathlib import Path

import numpy as np

LENGTH = 20


def walk(rng, theta):
    """A linear-Gaussian series."""
    x, rows = rng.normal(), np.empty(LENGTH)
    for t in range(LENGTH):
        x = 0.9 * x + np.sqrt(theta["Q"]) * rng.normal()
        rows[t] = x + np.sqrt(0.1) * rng.normal()
    return rows


def flexible(rng, theta, *, inputs, length):
    """Two columns, driven by inputs."""
    noise = rng.normal(size=(length, 2))
    return theta["Q"] * noise + theta["offset"] + inputs


def moody(rng, theta):
    """Fails in every way, by where Q is."""
    q = theta["Q"]
    rows = walk(rng, theta)
    if q < 1:
        return rows
    if q < 2:
        raise ValueError(f"no root at {q:.1f}\nand a second line")
    if q < 3:
        time.sleep(30)
    if q < 4:
        rows[7] = np.inf
        return rows
    if q < 5:
        return rows[:-1]
    raise SystemExit(3)


def mortal(rng, theta):
    """Takes its process with it where Q is large."""
    if theta["Q"] > 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return walk(rng, theta)


def mortal_once(rng, theta):
    """The first call of all takes its process with it."""
    mark = Path(os.environ["TSNL_TEST_MARK"])
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return walk(rng, theta)
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def deaf(rng, theta):
    """Hangs where no alarm rings."""
    if theta["Q"] > 1:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        time.sleep(60)
    return walk(rng, theta)


def fragile(rng, theta):
    """Fails more often where Q is large."""
    if rng.uniform() > 1 / (1 + theta["Q"]):
        raise FloatingPointError("overflow")
    return walk(rng, theta)
