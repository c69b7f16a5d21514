"""Sampling from an unnormalised log-density."""

from tsnl.sampling.mcmc import MCMC, Draws, sample

__all__ = ["MCMC", "Draws", "sample"]
