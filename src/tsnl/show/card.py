"""A result at a glance, as a prompt or a notebook shows it."""

from tsnl.methods.api import Inference
from tsnl.runtime import html
from tsnl.runtime.table import Table
from tsnl.show.report.facts import summary_table

SHOWN = 8  # columns up to R-hat; Monte-Carlo errors are in the report


def summary(result: Inference) -> Table:
    """A row for each free entry of theta."""
    return summary_table(result).up_to(SHOWN)


def facts(result: Inference) -> str:
    """What happened, what it cost, and of what data."""
    problem = result.problem
    rows = ", ".join(f"{len(one):,}" for one in problem.panel)
    data = f"{rows} rows of {', '.join(problem.names)}"
    if problem.when is not None:
        data += f", {problem.when.span(problem.length)}"
    status = result.status[:1].upper() + result.status[1:]
    return f"{status}; {result.cost:,} calls of the dynamics. Data: {data}."


def heading(result: Inference) -> str:
    """Who inferred, and of what model."""
    return f"{type(result.method).__name__} of {type(result.problem.model).__name__}"


def result_text(result: Inference) -> str:
    """In columns of text."""
    return "\n".join([heading(result), summary(result).text(), facts(result)])


def result_html(result: Inference) -> str:
    """The same as HTML."""
    return html.card(heading(result), html.table(summary(result)), html.paragraph(facts(result)))
