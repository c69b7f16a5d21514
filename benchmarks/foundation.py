"""Speed of the foundation, as ratios measured in one run.

    python benchmarks/foundation.py

Measures the bootstrap filter against `particles` (in a virtual environment of its own, made on the
first run) and against cuthbert, the Kalman filter against cuthbert, the Gillespie kernel against a
vmapped `lax.while_loop`, and the import time. Rivals are timed in turns, best of several, so that the
noise of a shared machine falls on both. Writes foundation.json beside itself.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from cuthbert import filter as cuthbert_filter
from cuthbert.gaussian import kalman as cuthbert_kalman
from cuthbert.smc import particle_filter as cuthbert_particle
from cuthbertlib.resampling import adaptive
from cuthbertlib.resampling import systematic as cuthbert_systematic

import tsnl
from tsnl.likelihood.kalman import filter_moments
from tsnl.likelihood.particle import bootstrap
from tsnl.models.gillespie import react

HERE = Path(__file__).parent
LENGTH = 100


def best(call, repeats):
    """Best time of several calls, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - start)
    return min(times)


def in_turns(calls, repeats=5, rounds=6):
    """Best time of each call, the calls taking turns."""
    for call in calls.values():
        jax.block_until_ready(call())
    times = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            times[name] = min(times[name], best(call, repeats))
    return times


def rival_python(package):
    """The interpreter of a virtual environment that holds one rival package."""
    folder = HERE.parent / f".venv-{package}"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pins = HERE / f"{package}.txt"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", pins], check=True)
    return python


def particles_seconds(num_particles):
    """Seconds of one bootstrap filter of the package `particles`, same model, same length."""
    run = subprocess.run(
        [rival_python("particles"), HERE / "rival_particles.py", str(num_particles)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(run.stdout)


def bootstrap_filter():
    """Ours against `particles` and cuthbert at 100 and 1000 particles."""
    model = tsnl.models.LinearGaussian()
    rows = jnp.asarray(model.simulate(seed=1, length=LENGTH))
    theta = model.complete()
    out = {}
    for n in (100, 1000):
        ours = jax.jit(lambda key, n=n: bootstrap(key, model, {}, rows, n).log_likelihood)
        other = cuthbert_particle.build_filter(
            lambda key: model.sample_initial(key, theta),
            lambda key, x, i: model.sample_transition(key, x, theta, i, None),
            lambda _, x, i: model.log_observation(rows[i], x, theta, i, None),
            n,
            adaptive.ess_decorator(cuthbert_systematic.resampling, 0.5),
        )

        def cuthbert(key, other=other):
            first, rest = jax.random.split(key)
            start = other.init_prepare(key=first)
            states = cuthbert_filter(other, jnp.arange(LENGTH), start, key=rest)
            return states.log_normalizing_constant[-1]

        cuthbert = jax.jit(cuthbert)
        key = jax.random.key(0)
        theirs = particles_seconds(n)
        times = in_turns({"ours": lambda: ours(key), "cuthbert": lambda: cuthbert(key)}, repeats=20)  # noqa: B023
        theirs = min(theirs, particles_seconds(n))
        out[f"n={n}"] = {
            "ours_ms": 1e3 * times["ours"],
            "particles_ms": 1e3 * theirs,
            "times_faster_than_particles": theirs / times["ours"],
            "times_faster_than_cuthbert": times["cuthbert"] / times["ours"],
        }
    return out


def kalman_filter():
    """Ours against cuthbert: alone, on a grid, and the gradient."""
    out = {}
    for d in (1, 3):
        model = tsnl.models.LinearGaussian(A=0.9 * np.eye(d))
        rows = jnp.asarray(model.simulate(seed=1, length=LENGTH))
        eye = jnp.eye(d)

        def ours(q, model=model, rows=rows):
            return filter_moments(model, {"Q": q}, rows).log_likelihood

        def cuthbert(q, rows=rows, eye=eye, d=d):
            other = cuthbert_kalman.build_filter(
                jnp.zeros(d),
                eye,
                lambda _: (0.9 * eye, jnp.zeros(d), jnp.sqrt(q) * eye),
                lambda i: (eye, jnp.zeros(d), jnp.sqrt(0.1) * eye, rows[i]),
            )
            states = cuthbert_filter(other, jnp.arange(LENGTH), other.init_prepare())
            return states.log_normalizing_constant[-1]

        grid = jnp.linspace(0.05, 0.5, 200)
        for name, change, q in (
            ("one", lambda f: f, 0.1),
            ("grid of 200", jax.vmap, grid),
            ("gradient", jax.grad, 0.1),
        ):
            a, b = jax.jit(change(ours)), jax.jit(change(cuthbert))
            times = in_turns({"ours": lambda: a(q), "cuthbert": lambda: b(q)}, repeats=10)  # noqa: B023
            out[f"d={d}, {name}"] = times["cuthbert"] / times["ours"]
    return out


def while_loop_reactions(key, state, rates, dt):
    """The same reactions as a `lax.while_loop`: (predators, prey) after dt and the events."""

    def propensities(x):
        a, b = x
        return rates * jnp.array([a * b, a * b, b, a])

    change = jnp.array([[1.0, -1.0], [0.0, -1.0], [0.0, 1.0], [-1.0, 0.0]])

    def body(carry):
        key, t, x, n = carry
        key, k1, k2 = jax.random.split(key, 3)
        a = propensities(x)
        t = t + jax.random.exponential(k1) / jnp.sum(a)
        r = jnp.searchsorted(jnp.cumsum(a), jax.random.uniform(k2) * jnp.sum(a))
        happens = t <= dt
        return key, t, jnp.where(happens, x + change[jnp.minimum(r, 3)], x), n + happens

    _, _, x, n = jax.lax.while_loop(
        lambda c: (c[1] <= dt) & (jnp.sum(propensities(c[2])) > 0), body, (key, 0.0, state, 0)
    )
    return x, n


def gillespie():
    """Events per second of the numba kernel, of the model inside jit, and of a while_loop."""
    n, dt = 1000, 0.4
    rates = np.array([0.01, 0.01, 1.0, 0.5])
    states = np.tile([50.0, 100.0], (n, 1))
    keys = jax.random.split(jax.random.key(0), n)
    seeds = np.asarray(jax.random.key_data(keys))
    model = tsnl.models.LotkaVolterra(dt=dt)
    theta = model.complete()
    inside = jax.jit(jax.vmap(lambda k, x: model.sample_transition(k, x, theta, 1, None)))
    loop = jax.jit(jax.vmap(lambda k, x: while_loop_reactions(k, x, jnp.asarray(rates), dt)))
    batch = jnp.asarray(states)
    many = np.tile(rates, (n, 1))
    times = in_turns(
        {
            "numba": lambda: react(seeds, states, many, dt, 20_000),
            "inside jit": lambda: inside(keys, batch),
            "while_loop": lambda: loop(keys, batch),
        }
    )
    events = {
        "numba": float(react(seeds, states, many, dt, 20_000)[1].sum()),
        "while_loop": float(loop(keys, batch)[1].sum()),
    }
    events["inside jit"] = events["numba"]
    rate = {name: events[name] / times[name] for name in times}
    return {
        "million_events_per_second": {name: value / 1e6 for name, value in rate.items()},
        "times_faster_than_while_loop": rate["numba"] / rate["while_loop"],
        "inside_jit_times_faster_than_while_loop": rate["inside jit"] / rate["while_loop"],
    }


def import_time():
    """Imports in units of `import jax, numpyro`, best of several fresh interpreters.

    The bare `import tsnl` loads little; `from tsnl import infer` loads all that inference needs.
    """

    def seconds(code):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    codes = {"bare": "pass", "base": "import jax, numpyro", "tsnl": "import tsnl"}
    codes["infer"] = "from tsnl import infer"
    times = dict.fromkeys(codes, np.inf)
    for _ in range(7):
        for name, code in codes.items():
            times[name] = min(times[name], seconds(code))
    base = times["base"] - times["bare"]
    ratios = {name: (times[name] - times["bare"]) / base for name in ("tsnl", "infer")}
    return {"in_units_of_jax_and_numpyro": ratios}


def main():
    """Measure all and write the file."""
    found = {
        "bootstrap_filter": bootstrap_filter(),
        "kalman_cuthbert_in_units_of_ours": kalman_filter(),
        "gillespie": gillespie(),
        "import": import_time(),
    }
    text = json.dumps(found, indent=2, default=float)
    (HERE / "foundation.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
