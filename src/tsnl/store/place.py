"""Whether a folder holds a run, and how to make place for another."""

import contextlib
from pathlib import Path

import numpy as np

from tsnl.runtime.reader import remedy
from tsnl.store.files import read_npz
from tsnl.store.results import DRAWS, KERNEL, RESULT, RUN

WHOLE = (RUN, "data.npz", RESULT, DRAWS, KERNEL)  # the files of a run, and those in its folders:
PARTS = {"simulations": "[0-9]*.*", "rounds": "[0-9]*.*", "blocks": "[a-z]*.npz"}


def refuse_to_overwrite(folder: Path, *, can_resume: bool = True) -> None:
    """The one place that knows whether a folder holds a run.

    What never made a simulation is no run: a corrected start takes its place.

    Raises:
        FileExistsError: it does, finished or not, or a saved result.
    """
    finished = (folder / RESULT).exists()
    if not finished and not has_begun(folder):
        return
    if finished and not (folder / RUN).exists():
        what = "a result that was saved there, and no run to go on with"
        ways = [remedy(python="read it with tsnl.load", command="read it with tsnl report")]
    else:
        what = "a run already" if finished else "a run that was stopped"
        how = remedy(python="resume=True", command="--resume")
        ways = [f"{'read it' if finished else 'go on'} with {how}"] if can_resume else []
    ways += [remedy(python="delete it", command="replace it with --force"), "choose another folder"]
    raise FileExistsError(f"{folder} holds {what}: {', '.join(ways[:-1])}, or {ways[-1]}.")


def has_begun(folder: Path) -> bool:
    """Whether a run in the folder has made a round, a block, or a simulation that did not fail."""
    if not (folder / RUN).exists():
        return False
    if any((folder / "rounds").glob("*.json")) or any((folder / "blocks").glob("*.npz")):
        return True
    for place in sorted((folder / "simulations").glob("*.npz")):
        try:
            if np.isfinite(read_npz(place)["series"][:, 0]).any():
                return True
        except (ValueError, KeyError, IndexError):
            return True  # damaged: not ours to throw away
    return False


def as_folder(path: str | Path) -> Path:
    """A path that somebody meant.

    Raises:
        ValueError: it is empty, which would be the folder where Python runs.
    """
    if not str(path).strip():
        raise ValueError("folder is empty: give a path such as 'run', or None to keep nothing.")
    return Path(path)


def delete_run(folder: Path) -> str:
    """Delete the files of a run, and nothing else that lies there.

    Returns:
        What was deleted, in a few words.
    """
    parts = {name: sorted((folder / name).glob(files)) for name, files in PARTS.items()}
    for path in (*(one for part in parts.values() for one in part), *(folder / one for one in WHOLE)):
        path.unlink(missing_ok=True)
    for name in parts:
        with contextlib.suppress(OSError):  # absent, or something else lies in it
            (folder / name).rmdir()
    rounds = sum(path.suffix == ".json" for path in parts["rounds"])
    return f"{rounds} rounds and {len(parts['simulations'])} files of simulations"
