"""Time of `infer` with 500 simulations, over that of the code before the zoo and all that came of it.

    python benchmarks/infer_time.py [--turns 3]

The earlier code is checked out of this repository's history (`BEFORE`) and run by the same Python and
packages. Each run is a process of its own with a warm compilation cache, on all visible cores; the two
take turns, and ratios are of the medians of one run of this script. Writes infer_time.json.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
BEFORE = "d3f2289"  # the last commit before the zoo, which that work began with
PROBLEMS = ("LINEAR", "VOLATILITY", "PREDATOR_PREY")
ONE = """
import sys, time, warnings
warnings.simplefilter("ignore")
import paper
import tsnl
problem = getattr(paper, sys.argv[1]).observe(0)
split = {"rounds": 5, "simulations": 100} if sys.argv[2] == "before" else {"budget": 500}
begin = time.perf_counter()
tsnl.infer(problem.model, problem.prior, problem.series, tsnl.TSNL(**split), seed=0, progress=False)
print(time.perf_counter() - begin)
"""


def seconds(tree: Path, problem: str, which: str, cache: Path) -> float:
    """Of one run of `infer` by the code in a tree."""
    path = os.pathsep.join(map(str, (tree / "src", tree)))
    env = os.environ | {"PYTHONPATH": path, "TSNL_COMPILATION_CACHE": str(cache / which)}
    command = [sys.executable, "-c", ONE, problem, which]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=True, cwd=cache)
    return float(run.stdout.split()[-1])


def git(*call: str) -> str:
    """What git says of this repository."""
    run = subprocess.run(("git", *call), cwd=HERE, capture_output=True, text=True, check=True)
    return run.stdout.strip()


def measure(problem: str, trees: dict[str, Path], cache: Path, turns: int) -> dict[str, float]:
    """Median seconds of either code, and their ratio; a first turn fills the caches."""
    times = [
        {which: seconds(trees[which], problem, which, cache) for which in trees}
        for _ in range(turns + 1)
    ]
    found = {which: float(np.median([one[which] for one in times[1:]])) for which in trees}
    return found | {"ratio": found["now"] / found["before"]}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    turns = parser.parse_args().turns
    code = git("describe", "--always", "--dirty", "--exclude=*")
    found: dict[str, object] = {"before": BEFORE, "now": code, "cores": len(os.sched_getaffinity(0))}
    with tempfile.TemporaryDirectory() as folder:
        cache, old = Path(folder), Path(folder) / "tree"
        git("worktree", "add", "--detach", str(old), BEFORE)
        try:
            trees = {"before": old, "now": HERE.parent}
            for problem in PROBLEMS:
                times = measure(problem, trees, cache, turns)
                found[problem] = {name: round(value, 2) for name, value in times.items()}
                print(problem, found[problem], flush=True)
        finally:
            git("worktree", "remove", "--force", str(old))
    found |= {"must": 2, "aim": 1, "measured_at": time.strftime("%Y-%m-%d")}
    (HERE / "infer_time.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
