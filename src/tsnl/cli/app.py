"""The command itself: what all commands have in common."""

from typing import Annotated

import typer

app = typer.Typer(
    name="tsnl",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Parameters of a time-varying system from one observed series and a simulator of it.",
)


def _version(wanted: bool) -> bool:
    if wanted:
        import tsnl

        typer.echo(f"tsnl {tsnl.__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    pass
