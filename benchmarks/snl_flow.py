"""SNL with a shallower flow than the paper's: is the baseline weak because of its flow?

One series of the linear problem at 100,000 calls of the dynamics and one of the volatility problem at a
million, with the flows below: distance to the reference posterior, in snl_flow.json.
"""

import json
import warnings
from dataclasses import replace
from pathlib import Path

from paper.costs import make_method
from paper.measures import solve
from paper.trial import Trial
from tsnl.kernel import MAF

HERE = Path(__file__).parent
REFERENCES = HERE.parent / "out" / "experiments" / "references"
FLOWS = {
    "paper: 5 x 5 x 32, tanh": MAF(),
    "5 x 1 x 50, relu": MAF(num_layers=5, num_hidden=1, width=50, activation="relu"),
    "5 x 1 x 50, tanh": MAF(num_layers=5, num_hidden=1, width=50, activation="tanh"),
}
PROBLEMS = {"linear": 100_000, "volatility": 1_000_000}
SEED = 0


def main():
    """Measure all and write the file."""
    warnings.simplefilter("ignore")
    found = {}
    for problem, budget in PROBLEMS.items():
        for name, flow in FLOWS.items():
            method = replace(make_method("SNL", budget, problem), density=flow)
            row = solve(Trial(problem, "SNL", budget, SEED), method, REFERENCES).row
            found[f"{problem}, {name}"] = round(row["distance"], 3)
            (HERE / "snl_flow.json").write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
