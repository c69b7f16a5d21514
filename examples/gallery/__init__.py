"""Worked analyses on real data; `python -m examples.gallery` runs them and writes docs/gallery."""
