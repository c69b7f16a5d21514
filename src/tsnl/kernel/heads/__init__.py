"""Families of conditional densities of one observation."""
