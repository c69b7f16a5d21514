"""Likelihoods: exact by the Kalman filter, unbiased by the particle filter."""

from tsnl.likelihood.kalman import KalmanFiltered, Moments, kalman_filter, kalman_smoother
from tsnl.likelihood.particle import ParticleFiltered, particle_filter

__all__ = [
    "KalmanFiltered",
    "Moments",
    "ParticleFiltered",
    "kalman_filter",
    "kalman_smoother",
    "particle_filter",
]
