"""A script that starts worker processes must not start them again in each worker."""

import ast
import inspect
import sys
from pathlib import Path


def check_guard() -> None:
    """Refuse to start processes from a statement of the main script that workers would run too.

    A worker is spawned and imports the script under another name. What stands outside of
    `if __name__ == "__main__":` runs again there, and would start workers of its own.

    Raises:
        RuntimeError: it stands outside; with the line.
    """
    main = sys.modules.get("__main__")
    path, frame = getattr(main, "__file__", None), inspect.currentframe()
    while frame is not None and frame.f_globals is not vars(main):
        frame = frame.f_back
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    if path is None or frame is None:  # at a prompt, or in a thread: workers import no script
        return
    try:
        statements = ast.parse(Path(path).read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return
    now = [s for s in statements if s.lineno <= frame.f_lineno <= (s.end_lineno or s.lineno)]
    if now and not (isinstance(now[0], ast.If) and "__name__" in ast.unparse(now[0].test)):
        raise RuntimeError(
            f"{path}, line {frame.f_lineno}: worker processes import this script, and would start it "
            f'again. Put what starts them under `if __name__ == "__main__":`; functions stay outside.'
        )
