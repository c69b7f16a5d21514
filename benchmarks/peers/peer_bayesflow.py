"""BayesFlow 2 on JAX: amortised NPE on the bank.

As its tutorials have it: `BasicWorkflow`, a coupling flow, `TimeSeriesNetwork` with its defaults, a
hundred epochs offline with batches of 32. Best effort: a tenth of the bank is held out, so that its own
early stopping by Keras keeps the best weights (patience of 20 epochs). A coupling flow needs two
coordinates: where there is one parameter, flow matching takes its place.
"""

import logging
import warnings

import bayesflow as bf
import keras
import numpy as np
from task import DRAWS, Task


def main() -> None:
    """Train and draw."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    task = Task()
    keras.utils.set_random_seed(task.seed)
    adapter = (
        bf.Adapter()
        .convert_dtype("float64", "float32")
        .as_time_series("x")
        .rename("w", "inference_variables")
        .rename("x", "summary_variables")
    )
    flow = bf.networks.CouplingFlow if task.size > 1 else bf.networks.FlowMatching
    workflow = bf.BasicWorkflow(
        adapter=adapter,
        inference_network=flow(),
        summary_network=bf.networks.TimeSeriesNetwork(),
    )
    task.start()
    w, x = task.bank()
    x = task.eased(x)
    held = max(len(w) // 10, 1)
    stop = keras.callbacks.EarlyStopping("val_loss", patience=20, restore_best_weights=True)
    workflow.fit_offline(
        {"w": w[held:], "x": x[held:]},
        epochs=100,
        batch_size=32,
        validation_data={"w": w[:held], "x": x[:held]},
        callbacks=[stop],
        verbose=0,
    )
    found = workflow.sample(num_samples=DRAWS, conditions={"x": task.eased(task.observed[None])})
    task.finish(w=np.asarray(found["w"]).reshape(DRAWS, task.size))


if __name__ == "__main__":
    main()
