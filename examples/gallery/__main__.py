"""Run the analyses and write their pages: `python -m examples.gallery [NAME ...] [--again] [--pages]`.

A page whose figures were made by the library and the analysis as they are is not run again; all pages
that have figures are written anew.
"""

import argparse
import shutil
import time

from examples.gallery.facts import facts
from examples.gallery.kept import NAMES, analysis_of, current, path_of, run_folder, save
from examples.gallery.steps import run


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m examples.gallery", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all by default"
    )
    parser.add_argument("--again", action="store_true", help="run also what is up to date")
    parser.add_argument("--pages", action="store_true", help="only write the pages from kept figures")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(NAMES))
    if unknown:
        parser.error(f"there is no page {unknown}; there are {', '.join(NAMES)}")
    for name in () if given.pages else given.names or NAMES:
        if current(name) and not given.again:
            print(f"{name}: up to date")
            continue
        if given.again:
            shutil.rmtree(run_folder(name), ignore_errors=True)
        start = time.perf_counter()
        save(name, facts(run(analysis_of(name), run_folder(name))))
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    from examples.gallery.page import write_all

    write_all([name for name in NAMES if path_of(name).exists()])


if __name__ == "__main__":
    main()
