"""The command line: a CSV of observations and a Python file with a simulator, no Python at a prompt."""

from tsnl.cli.entry import main

__all__ = ["main"]
