"""Streaming on the linear problem: posteriors against exact ones, and the time of an update.

    python benchmarks/streaming.py [--series 10]

T-SNL is trained on 100 rows; 200 more arrive one by one. At t = 110, 150 and 300 the streamed one is
compared with the exact one (Kalman on a grid) and with fresh MCMC on the same kernel, in total variation
over 20 bins of equal mass of the reference. The fresh draws have an effective sample size of 8,000, with
which draws of the very same posterior would be about 0.02 apart.
Writes streaming.json.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import tsnl
from paper import LINEAR
from paper.measures import binned_variation, equal_cuts
from paper.streaming import exact

HERE = Path(__file__).parent
TIMES = (110, 150, 300)
NUM_BINS = 20


def against_exact(stream):
    """Total variation to the exact posterior, over 20 bins of equal mass."""
    cuts = equal_cuts(exact(stream.series), NUM_BINS)
    return binned_variation(stream.cloud.z[:, 0].astype(float), stream.cloud.weights, cuts)


def against_fresh(stream, seed):
    """Total variation to fresh MCMC on the same kernel, and the seconds that it takes once compiled."""
    options = tsnl.MCMC(num_draws=4000, min_ess=8000)
    posterior = stream.posterior
    posterior.sample(seed=seed)
    begin = time.perf_counter()
    posterior.sample(seed=seed)
    seconds = time.perf_counter() - begin
    z = np.log(posterior.sample(seed=seed, options=options)["Q"]).ravel()
    cuts = np.quantile(z, np.arange(1, NUM_BINS) / NUM_BINS)
    return binned_variation(stream.cloud.z[:, 0].astype(float), stream.cloud.weights, cuts), seconds


def one(seed):
    """A row of figures for each of the times."""
    series = LINEAR.model.simulate(seed=seed, length=300).astype(float)
    result = tsnl.infer(LINEAR.model, LINEAR.prior, series[:100], tsnl.TSNL(), seed=seed)
    stream = result.posterior.update(series[100], seed=seed)
    seconds, rows = [], []
    for row in series[101:]:
        begin, before = time.perf_counter(), stream.refreshes
        stream = stream.update(row)
        if stream.refreshes == before:
            seconds.append((len(stream.series), time.perf_counter() - begin))
        if len(stream.series) in TIMES:
            fresh, fresh_seconds = against_fresh(stream, seed)
            rows.append(
                {
                    "t": len(stream.series),
                    "to_exact": against_exact(stream),
                    "to_fresh": fresh,
                    "fresh_seconds": fresh_seconds,
                    "refreshes": stream.refreshes,
                }
            )
    early = np.median([s for t, s in seconds if t <= 200])
    late = np.median([s for t, s in seconds if t > 200])
    return rows, {"early": float(early), "late": float(late)}


def main():
    """All series."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=10)
    options = parser.parse_args()
    found = []
    for seed in range(options.series):
        found.append(one(seed))
        print(found[-1], flush=True)
    summary = {
        f"t={t}": {
            key: round(float(np.median([rows[i][key] for rows, _ in found])), 4)
            for key in ("to_exact", "to_fresh", "fresh_seconds", "refreshes")
        }
        for i, t in enumerate(TIMES)
    }
    update = {key: float(np.median([s[key] for _, s in found])) for key in ("early", "late")}
    summary["update_seconds"] = update
    summary["fresh_over_update"] = summary["t=300"]["fresh_seconds"] / update["late"]
    (HERE / "streaming.json").write_text(
        json.dumps({"summary": summary, "rows": found}, indent=1) + "\n"
    )
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
