"""The program that the commands belong to."""

from typing import Annotated

import typer

app = typer.Typer(
    name="tsnl",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
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
