"""Approximate Bayesian computation: rejection, Markov chains, sequential Monte Carlo."""
