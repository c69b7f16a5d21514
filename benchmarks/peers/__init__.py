"""Other packages on the same series with the same simulators.

    python -m benchmarks.peers.run              what is missing of the trials, one row each in trials.csv
    python -m benchmarks.peers.run --only tsnl  one package alone (--again computes its rows anew)
    python -m benchmarks.peers.page             docs/peers.md and its figure, from trials.csv

Every package runs in a virtual environment of its own, which is made on the first run.
"""
