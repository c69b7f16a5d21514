"""T-SNL on a linear-Gaussian series, beside the exact posterior.

Infers the noise variance Q from 100 simulations, prints the table beside the Kalman filter's exact
answer and saves a picture of both with the observed series in out/demo.png.
"""

import time
from pathlib import Path

import matplotlib
import numpy as np

import tsnl
from paper import LINEAR
from paper.problems import linear_reference
from tsnl.show.plots import posterior_figure

matplotlib.use("Agg")
OUT = Path("out")


def main():
    """Observe, infer, compare, draw."""
    problem = LINEAR.observe(seed=1)
    start = time.perf_counter()
    result = tsnl.infer(problem.model, problem.prior, problem.series, tsnl.TSNL(), seed=0)
    seconds = time.perf_counter() - start

    z = np.linspace(np.log(0.005), np.log(2.0), 500)
    q = np.exp(z)
    log_p = linear_reference(problem, z) - z  # the density of Q, not of log Q
    exact = np.exp(log_p - log_p.max())
    exact /= np.trapezoid(exact, q)
    mean = np.trapezoid(q * exact, q)
    sd = np.sqrt(np.trapezoid((q - mean) ** 2 * exact, q))
    draws = result.draws["Q"]

    print(f"{'posterior of Q (truth 0.1)':28}{'mean':>8}{'sd':>8}")
    print(f"{'Kalman, exact':28}{mean:8.4f}{sd:8.4f}")
    print(f"{'T-SNL, 100 simulations':28}{draws.mean():8.4f}{draws.std():8.4f}")
    print(f"{result.status}; {result.cost:,} calls of the dynamics, {seconds:.0f} s")
    OUT.mkdir(exist_ok=True)
    posterior_figure(problem, result.coordinates(), {"Q": (q, exact)}).savefig(OUT / "demo.png", dpi=120)
    print(f"Picture: {OUT / 'demo.png'}")


if __name__ == "__main__":
    main()
