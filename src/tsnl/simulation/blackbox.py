"""Simulators that are no JAX program: any Python function, and what they have in common."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tsnl.runtime.arrays import as_numbers
from tsnl.runtime.checked import check_field, check_seed
from tsnl.simulation.deadline import within


class SimulationError(Exception):
    """A simulation failed; the message is the reason, in a few words."""


@dataclass(frozen=True, kw_only=True)
class HostSimulator(ABC):
    """A simulator that runs one simulation after the other, here or on the workers of an executor.

    Attributes:
        parameters: fixed values that go along with theta, by name; the prior's names replace them.
        executor: any `concurrent.futures.Executor`, such as `tsnl.simulation.Processes(4)` or
            `Client.get_executor()` of Dask; None runs one after the other in this process.
        timeout: seconds that one simulation may take; None for any time.
        max_failures: the share of failed simulations above which a run stops.
        chunk: simulations that a worker gets, and a run folder keeps, at a time. 1 suits a simulator
            that takes seconds, more one that takes milliseconds.
        in_flight: chunks that are with an executor at a time; `Processes` gets two for each worker.
    """

    can_simulate: ClassVar[bool] = True
    has_density: ClassVar[bool] = False

    parameters: Mapping[str, Any] = field(default_factory=dict)
    executor: Executor | None = None
    timeout: float | int | None = None
    max_failures: float | int = 0.5
    chunk: int = 4
    in_flight: int = 64

    def __post_init__(self) -> None:
        if self.executor is not None and not hasattr(self.executor, "submit"):
            raise TypeError(
                f"executor is a {type(self.executor).__name__}, expected a concurrent.futures.Executor, "
                f"such as tsnl.simulation.Processes(4)."
            )
        numbers = {"timeout": float | None, "max_failures": float, "chunk": int, "in_flight": int}
        for name, hint in numbers.items():
            check_field(name, getattr(self, name), hint)
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(
                f"timeout is {self.timeout}, expected None or a positive number of seconds."
            )
        if not 0 <= self.max_failures <= 1:
            raise ValueError(f"max_failures is {self.max_failures}, expected a share from 0 to 1.")
        for name in ("chunk", "in_flight"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1.")

    @abstractmethod
    def one(
        self, rng: np.random.Generator, theta: dict[str, Any], length: int, inputs: np.ndarray | None
    ) -> Any:
        """One series, array-like (T,) or (T, d_y), within the timeout."""

    def simulate(
        self, *, seed: int, length: int, theta: Mapping[str, Any] | None = None, inputs: Any = None
    ) -> np.ndarray:
        """Simulate one series; what goes wrong is raised.

        Args:
            seed: one integer.
            length: number of rows T.
            theta: values beside the fixed `parameters`, or in their place.
            inputs: known inputs (T, d_u).

        Returns:
            The series (T, d_y).
        """
        rng, values = np.random.default_rng(check_seed(seed)), {**self.parameters, **(theta or {})}
        series = as_numbers(self.one(rng, values, length, inputs))
        return series[:, None] if series.ndim == 1 else series


@dataclass(frozen=True)
class BlackBox(HostSimulator):
    """A Python function that simulates one series.

    The function is called as `simulate_fn(rng, theta)`: `rng` is a `numpy.random.Generator` that depends
    on the seed of the run and the number of the simulation alone, `theta` maps names to NumPy scalars or
    arrays. It returns (T,) or (T, d_y), as many rows as the observed series has. A function with an
    argument called `length` is given T by that name, and one with an argument called `inputs` the known
    inputs (T, d_u), or None.

    It must draw from `rng` alone. What it raises, and values that are not finite, are failures: recorded
    with their reason, and accounted for in the likelihood.

    Attributes:
        simulate_fn: the function. For an executor of processes it must be importable there: defined at
            the top level of a file.

    The other options are those of `HostSimulator`.
    """

    simulate_fn: Callable[..., Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.simulate_fn):
            raise TypeError(
                f"simulate_fn is a {type(self.simulate_fn).__name__}, expected a function "
                f"(rng, theta) -> array of shape (T,) or (T, d_y)."
            )
        try:
            taken = inspect.signature(self.simulate_fn).parameters
        except (TypeError, ValueError):  # compiled, without a signature: it gets rng and theta
            return
        needed = [
            p.name
            for p in taken.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        extra = [name for name in needed[2:] if name not in ("length", "inputs")]
        if len(taken) < 2 or extra:
            raise TypeError(
                f"simulate_fn takes {list(taken)}, expected (rng, theta), and if it wants them "
                f"arguments called length and inputs."
            )

    def one(
        self, rng: np.random.Generator, theta: dict[str, Any], length: int, inputs: np.ndarray | None
    ) -> Any:
        """Call the function."""
        try:
            taken = set(inspect.signature(self.simulate_fn).parameters)
        except (TypeError, ValueError):
            taken = set()
        known = {"length": length, "inputs": inputs}
        wanted = {name: value for name, value in known.items() if name in taken}
        return within(self.timeout, lambda: self.simulate_fn(rng, theta, **wanted))
