"""Memory and time of T-SNL on long series: T from 1,000 to 100,000, 2 rounds of 4 simulations.

    python benchmarks/length.py

Each length in a process of its own, run twice: the second time everything is compiled. Writes
length.json: peak memory, seconds, and microseconds for each window of the run.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
LENGTHS = (1_000, 10_000, 100_000)


def one(length):
    """Run one length in this process and print what it took."""
    import tsnl
    from paper import LINEAR

    series = LINEAR.model.simulate(seed=0, length=length)
    method = tsnl.TSNL(rounds=2, simulations=4)
    start = time.perf_counter()
    result = tsnl.infer(LINEAR.model, LINEAR.prior, series, method, seed=0)
    seconds = time.perf_counter() - start
    draws = result.draws["Q"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    steps = sum(draws.shape[:2]) and draws.shape[0] * (draws.shape[1] + method.sampler.num_warmup)
    print(
        json.dumps(
            {
                "length": length,
                "peak_gib": peak,
                "seconds": seconds,
                "microseconds_per_row": 1e6 * seconds / length,
                "chain_steps_last_round": steps,
                "phases": result.history[-1]["seconds"],
                "mean": float(draws.mean()),
                "sd": float(draws.std()),
            }
        )
    )


def main():
    """All lengths, each twice."""
    found = []
    for length in LENGTHS:
        for _ in range(2 if length < LENGTHS[-1] else 1):
            run = subprocess.run(
                [sys.executable, __file__, str(length)], capture_output=True, text=True, check=True
            )
        found.append(json.loads(run.stdout.splitlines()[-1]))
        print(found[-1], flush=True)
    (HERE / "length.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one(int(sys.argv[1]))
    else:
        main()
