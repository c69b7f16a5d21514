"""Particle Markov chain Monte Carlo."""
