"""Seconds that sbi's NLE takes to train on stored simulations: run in its own environment."""

import sys
import time

import numpy as np
import torch
from sbi.inference import NLE
from sbi.neural_nets import likelihood_nn

torch.manual_seed(0)
data = np.load(sys.argv[1])
theta = torch.as_tensor(data["theta"], dtype=torch.float32)
x = torch.as_tensor(data["x"], dtype=torch.float32)
prior = torch.distributions.Independent(
    torch.distributions.Normal(torch.full((1,), float(np.log(0.3))), torch.ones(1)), 1
)
network = likelihood_nn(model="maf", num_transforms=5, hidden_features=32)
inference = NLE(prior=prior, density_estimator=network, show_progress_bars=False)
inference.append_simulations(theta, x)
start = time.perf_counter()
inference.train()
print(f"\n{time.perf_counter() - start}")
