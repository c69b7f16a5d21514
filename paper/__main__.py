"""Experiments from the command line: `python -m paper NAME`, or `report`."""

import argparse
from pathlib import Path

from paper.entry import ALL, OUT, reproduce
from paper.registry import EXPERIMENTS
from paper.report import write_report

REPORT = "report"


def main() -> None:
    """Run, or write the report from the tables."""
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    parser.add_argument("name", choices=[*EXPERIMENTS, ALL, REPORT])
    parser.add_argument("--trials", type=int, help="seeds of each combination")
    parser.add_argument("--quick", action="store_true", help="shrunk, in seconds")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of tables and figures")
    parser.add_argument("--workers", type=int, help="processes side by side")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="where the report goes")
    given = parser.parse_args()
    if given.name == REPORT:
        write_report(given.out, given.docs)
    else:
        reproduce(
            given.name, trials=given.trials, quick=given.quick, out=given.out, workers=given.workers
        )


if __name__ == "__main__":
    main()
