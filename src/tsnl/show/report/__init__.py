"""A result as one HTML file that needs nothing else."""

from tsnl.show.report.write import render, write

__all__ = ["render", "write"]
