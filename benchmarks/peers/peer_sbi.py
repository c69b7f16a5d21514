"""sbi: NPE and NLE on the bank, and both in rounds (`SNPE`, `SNLE`) with the simulator.

As its tutorials have it: MAF, default training with early stopping, slice sampling for NLE. Best
effort beyond that: NPE reads the series with a GRU of 64 units and 20 summaries (its own LRU embedding
loops over time in Python and takes many times as long), the series are z-scored as one ("structured"),
and rounds are five of equal size where the tutorial has two. NLE learns the density of the whole series.
"""

import warnings

import numpy as np
import torch
from sbi.inference import NLE, NPE
from sbi.neural_nets import posterior_nn
from task import DRAWS, Task
from torch import nn

ROUNDS = 5


class Recurrent(nn.Module):
    """The last state of a GRU along the series (n, T, d_y), as 20 summaries."""

    def __init__(self, columns: int):
        super().__init__()
        self.recurrence = nn.GRU(columns, 64, batch_first=True)
        self.summaries = nn.Linear(64, 20)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, 20)."""
        return self.summaries(self.recurrence(x)[1][0])


def trainer(task: Task, prior: torch.distributions.Distribution, posterior: bool):
    """NPE with the recurrent embedding, or NLE."""
    if not posterior:
        return NLE(prior=prior, density_estimator="maf", show_progress_bars=False)
    embedding = Recurrent(task.observed.shape[1])
    network = posterior_nn(model="maf", embedding_net=embedding, z_score_x="structured")
    return NPE(prior=prior, density_estimator=network, show_progress_bars=False)


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(array, dtype=torch.float32)


def simulated(task: Task, w: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Parameters and series of those simulations that did not fail."""
    x = task.simulate(w.numpy())
    good = np.isfinite(x).all(axis=(1, 2))
    return w.numpy()[good], x[good]


def main() -> None:
    """Train, in one round or several, and draw."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    task = Task()
    torch.manual_seed(task.seed)
    prior = torch.distributions.MultivariateNormal(torch.zeros(task.size), torch.eye(task.size))
    learns_posterior, rounds = "NPE" in task.method, ROUNDS if task.method.startswith("S") else 1
    inference = trainer(task, prior, learns_posterior)

    def shape(x: np.ndarray) -> torch.Tensor:
        return tensor(task.eased(x)) if learns_posterior else tensor(task.eased(x)).flatten(1)

    seen, proposal = shape(task.observed[None]), prior
    task.start()
    for _ in range(rounds):
        size = task.budget // rounds
        w, x = task.bank() if rounds == 1 else simulated(task, proposal.sample((size,)))
        if learns_posterior:
            inference.append_simulations(tensor(w), shape(x), proposal=proposal)
        else:
            inference.append_simulations(tensor(w), shape(x))
        inference.train()
        proposal = inference.build_posterior().set_default_x(seen)
    task.finish(w=proposal.sample((DRAWS,), show_progress_bars=False).numpy())


if __name__ == "__main__":
    main()
