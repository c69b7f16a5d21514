"""Result in, one HTML file out."""

import datetime
from importlib.resources import files
from pathlib import Path

from tsnl.checks.verdict import Report
from tsnl.methods.api import Inference
from tsnl.runtime.versions import versions
from tsnl.show.report.check_gallery import check_pictures
from tsnl.show.report.citation import sentences
from tsnl.show.report.facts import (
    configuration,
    failures,
    history_table,
    options,
    seconds_table,
    summary_table,
    total_seconds,
)
from tsnl.show.report.gallery import (
    correction_picture,
    data_pictures,
    learning_picture,
    one_step_values,
    posterior_picture,
)
from tsnl.store.files import write_text

MOST = 8  # columns and parameters that are drawn
WORDS = {"pass": "Pass", "look": "Look", "fail": "Fail"}


def write(
    result: Inference,
    path: str | Path,
    checks: Report,
    *,
    title: str | None = None,
    num_replicates: int = 99,
    seed: int = 0,
    everything: bool = False,
) -> Path:
    """Write a result as one HTML file; it opens without a network and runs no script.

    Args:
        result: a `Result`.
        path: of the file.
        checks: what `result.check()` said.
        title: of the page; None takes method and model.
        num_replicates: where there is no kernel of rows: series to simulate for the predictive bands,
            T calls of the dynamics each; 0 draws the data alone.
        seed: of the predictive draws.
        everything: draw all columns and parameters, not the first eight of them alone.

    Returns:
        The path.
    """
    text = render(
        result, checks, title=title, num_replicates=num_replicates, seed=seed, everything=everything
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    return path


def render(
    result: Inference,
    checks: Report,
    *,
    title: str | None = None,
    num_replicates: int = 99,
    seed: int = 0,
    everything: bool = False,
) -> str:
    """The page as text; see `write`."""
    from jinja2 import Environment, StrictUndefined  # only who writes a report needs it
    from markupsafe import Markup

    one = one_step_values(result)
    most = max(result.problem.d_y, result.problem.prior.size) if everything else MOST
    here = files("tsnl.show.report")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((here / "page.html").read_text(encoding="utf-8"))
    failed, failed_table = failures(result)
    return template.render(
        title=_title(result) if title is None else title,
        style=Markup((here / "page.css").read_text(encoding="utf-8")),
        date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        result=result,
        checks=checks,
        words=WORDS,
        verdict=verdict_sentence(checks),
        seconds=total_seconds(result),
        data=data_pictures(result, one, num_replicates, seed, most),
        posterior=posterior_picture(result, most),
        correction=correction_picture(result, most),
        summary=summary_table(result),
        pictures=check_pictures(result, checks, one, most),
        learning=learning_picture(result),
        history=history_table(result),
        times=seconds_table(result),
        failed=failed,
        failed_table=failed_table,
        configuration=configuration(result),
        options=options(result.method),
        most=most,
        versions=list(result.versions.items()),
        reader=versions().get("tsnl", ""),
        citations=sentences(result.versions.get("tsnl", "")),
    )


def _title(result: Inference) -> str:
    names = ", ".join(result.problem.prior.names)
    return f"{names} of {type(result.problem.model).__name__}, by {type(result.method).__name__}"


def verdict_sentence(checks: Report) -> str:
    """All checks in one sentence."""
    count = len(checks.verdicts)
    if checks.worst == "pass":
        return f"All {count} checks pass." if count > 1 else "The one check that applies passes."
    parts = []
    for level, one, several in (("fail", "fails", "fail"), ("look", "needs a look", "need a look")):
        names = [v.name for v in checks if v.verdict == level]
        if names:
            parts.append(f"{', '.join(names)} {several if len(names) > 1 else one}")
    text = "; ".join(parts)
    passed = sum(v.verdict == "pass" for v in checks)
    return f"{text[0].upper()}{text[1:]}; {passed} of {count} checks pass."
