"""What people give by mistake, or to see what happens, and what becomes of it: one table.

Nothing here runs for longer than a moment: what cannot be used is refused where it enters.
"""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest

import tsnl
from tsnl import (
    MCMC,
    MCMCABC,
    PMMH,
    SMCABC,
    SNL,
    TSNL,
    Correct,
    DelayedPMMH,
    ExactMCMC,
    RejectionABC,
    Training,
)
from tsnl.kernel import MAF, Mixture, Spline
from tsnl.kernel.memory import Decays, Lags, Recurrent
from tsnl.models import LinearGaussian
from tsnl.predict.forecast import Forecast
from tsnl.predict.states import States
from tsnl.problem import Problem
from tsnl.runtime.seeds import key_of
from tsnl.simulation import BlackBox, Program, Table

TAKEN = None
REFUSED = (TypeError, ValueError)


def walk(rng, theta):
    return np.cumsum(rng.normal(size=20))


# What is wrong, and what is right, of each kind of option.
KINDS = {
    "whole": ([2.5, "5", True, None, math.nan, math.inf, -3, [5], 2 + 0j], [20, np.int64(30)]),
    "number": (["x", True, None, math.nan, [0.5], -1.0, 1j], [0.5, np.float32(0.5)]),
    "share": (["x", True, None, math.nan, -0.1, 1.5], [0.25]),
    "word": (["nothing", 1, None, True, ("never",)], ["never"]),
    "cost": ([1.5e3, "1000", True, 0, -5, math.inf], [1000, None]),
    "sampler": (["nuts", 5, MCMC, None, {}], [MCMC()]),
    "training": (["fast", 5, Training, None], [Training()]),
    "head": (["MAF", 5, Mixture, None, Training()], [Mixture(), MAF(), Spline()]),
    "method": (["TSNL", 5, TSNL, None, MCMC(), Correct()], [TSNL(), SNL()]),
    "many": ([2.5, "5", True, -3, math.inf], [0, 16, None]),
    "flag": (["yes", 1, 0.0, []], [True, False, None]),
}
FIELDS = {
    (TSNL, "rounds"): "whole",
    (TSNL, "simulations"): "whole",
    (SNL, "rounds"): "whole",
    (SNL, "simulations"): "whole",
    (Training, "num_members"): "whole",
    (Training, "min_steps"): "whole",
    (Training, "batch_size"): "whole",
    (Training, "max_batch_size"): "whole",
    (Training, "check_every"): "whole",
    (MCMC, "num_chains"): "whole",
    (MCMC, "num_warmup"): "whole",
    (MCMC, "num_draws"): "whole",
    (PMMH, "num_steps"): "whole",
    (PMMH, "num_warmup"): "whole",
    (PMMH, "num_chains"): "whole",
    (RejectionABC, "draws"): "whole",
    (SMCABC, "max_generations"): "whole",
    (MCMCABC, "num_warmup"): "whole",
    (MCMCABC, "num_draws"): "whole",
    (Correct, "min_ess"): "whole",
    (Correct, "num_moves"): "whole",
    (Correct, "num_chains"): "whole",
    (DelayedPMMH, "num_steps"): "whole",
    (DelayedPMMH, "num_warmup"): "whole",
    (Mixture, "num_components"): "whole",
    (Mixture, "depth"): "whole",
    (Mixture, "curved"): "flag",
    (Mixture, "bends"): "many",
    (MAF, "num_layers"): "whole",
    (MAF, "num_hidden"): "whole",
    (Spline, "num_layers"): "whole",
    (Recurrent, "width"): "whole",
    (Lags, "lag"): "whole",
    (Training, "learning_rate"): "number",
    (Lags, "fading"): "number",
    (Training, "held_out"): "share",
    (Correct, "defensive"): "share",
    (SMCABC, "first_share"): "share",
    (MCMCABC, "pilot_share"): "share",
    (SMCABC, "min_acceptance"): "share",
    (TSNL, "stop"): "word",
    (SNL, "stop"): "word",
    (SMCABC, "stop"): "word",
    (Training, "patience"): "cost",
    (TSNL, "budget"): "cost",
    (TSNL, "max_cost"): "cost",
    (SNL, "max_cost"): "cost",
    (PMMH, "max_cost"): "cost",
    (Correct, "max_cost"): "cost",
    (SMCABC, "max_cost"): "cost",
    (MCMCABC, "max_cost"): "cost",
    (Correct, "first"): "method",
    (TSNL, "sampler"): "sampler",
    (ExactMCMC, "sampler"): "sampler",
    (TSNL, "training"): "training",
    (TSNL, "head"): "head",
    (TSNL, "gaps"): "flag",
    (TSNL, "counts"): "flag",
}
OPTIONS = [
    (kind, name, value, verdict)
    for (kind, name), sort in FIELDS.items()
    for values, verdict in zip(KINDS[sort], (REFUSED, TAKEN), strict=True)
    for value in values
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("kind", "name", "value", "verdict"), OPTIONS)
def test_options(kind, name, value, verdict):
    if verdict is TAKEN:
        found = getattr(kind(**{name: value}), name)
        assert not isinstance(found, np.generic)  # it could not be saved as it is
        return
    with pytest.raises(verdict) as caught:
        kind(**{name: value})
    assert name in str(caught.value) or type(kind()).__name__ in str(caught.value)
    words = ("expected", "must be", "too few", "exact already")
    assert any(word in str(caught.value) for word in words)


MODEL, Q = LinearGaussian(), dist.LogNormal(0.0, 1.0)
PRIOR, SERIES = tsnl.Prior(Q=Q), np.sin(np.arange(20.0))
BOX = BlackBox(walk)
DAYS = pd.date_range("2024-01-01", periods=20)


def ask(model=MODEL, prior=PRIOR, series=SERIES, inputs=None):
    return lambda: Problem.of(model, prior, series, inputs)


def infer(**given):
    question = {"model": MODEL, "prior": PRIOR, "series": SERIES, "seed": 0, **given}
    return lambda: tsnl.infer(**question)


FORECAST = Forecast(np.zeros((10, 3, 1)), SERIES[:, None], "kernel")
STATES = States(np.zeros((10, 20, 1)), ("x",), "smooth")
CALLS = {
    # seeds
    "seed -1": (lambda: key_of(-1), "seed is -1, expected a non-negative"),
    "seed 1.5": (infer(seed=1.5), "seed is 1.5, expected a non-negative"),
    "seed text": (infer(seed="0"), "seed is '0'"),
    "seed True": (infer(seed=True), "seed is True"),
    "seed None": (infer(seed=None), "seed is None"),
    "seed array": (infer(seed=np.array([1, 2])), "seed is"),
    "seed large": (lambda: key_of(2**200), TAKEN),
    "seed of NumPy": (lambda: key_of(np.uint64(2**63)), TAKEN),
    # how to infer
    "method by name": (infer(method="TSNL"), "method is 'TSNL', expected one such as"),
    "method as a class": (infer(method=TSNL), "method is <class.*expected one such as"),
    "resume text": (infer(resume="yes"), "resume is 'yes', expected True or False"),
    "progress None": (infer(progress=None), "progress is None, expected True or False"),
    "lag longer than the series": (infer(method=TSNL(lag=20)), "lag is 20"),
    "budget below one series": (infer(method=TSNL(max_cost=5)), "max_cost is 5, less than the 20"),
    "unknown option": (lambda: TSNL(density="MAF"), "density"),
    "lag None": (lambda: TSNL(lag=None), "lag is None, expected a whole number or one of"),
    "lag by another rule": (lambda: TSNL(lag="AIC"), "lag is 'AIC', expected"),
    "lag 0": (lambda: TSNL(lag=0), "lag is 0, expected at least 1"),
    "decays text": (lambda: TSNL(decays="0.5"), "decays is '0.5', expected a tuple"),
    "decays above 1": (lambda: Decays((0.5, 1.5)), "decays are"),
    "transition": (lambda: MCMC(transition="NUTS"), "transition is 'NUTS', expected one of"),
    "particles text": (lambda: PMMH(num_particles="many"), "num_particles is 'many', expected"),
    "depth absurd": (lambda: Mixture(depth=10**9), "depth"),
    "layers absurd": (lambda: MAF(num_layers=10**9), "at most 100"),
    "both tolerances": (lambda: RejectionABC(tolerance=1.0, fraction=0.1), "one of the two"),
    "tolerance text": (lambda: RejectionABC(tolerance="small"), "tolerance is 'small', expected"),
    "distance unknown": (lambda: SMCABC(distance="manhattan"), "distance"),
    # series
    "no rows": (ask(series=[]), "shape"),
    "one number": (ask(series=3.0), "shape"),
    "text": (ask(series=["a", "b"]), "not numeric"),
    "dates": (ask(series=DAYS.to_numpy()), "not numeric"),
    "complex": (ask(series=SERIES + 1j), "not numeric"),
    "objects": (ask(series=[object()] * 20), "not numeric"),
    "ragged": (ask(series=[[1.0, 2.0], [1.0]]), "not numeric"),
    "infinite": (ask(series=np.r_[SERIES, np.inf]), "infinite at row 21"),
    "all missing": (ask(series=np.full(20, np.nan)), "All 20 rows"),
    "all masked": (ask(series=np.ma.masked_all(20)), "All 20 rows"),
    "constant": (ask(series=np.ones(20)), "constant at 1.0"),
    "three axes": (ask(series=np.zeros((2, 3, 4))), r"\(2, 3, 4\)"),
    "two columns for one": (ask(series=np.c_[SERIES, SERIES]), r"2 column\(s\), the model observes 1"),
    "dictionary": (ask(series={"y": SERIES}), "not numeric"),
    "function": (ask(series=np.sin), "not numeric"),
    "None": (ask(series=None), "shape|not numeric"),
    "panel of two widths": (ask(series=[SERIES, np.c_[SERIES, SERIES]], model=BOX), "columns"),
    "dates backwards": (ask(series=pd.Series(SERIES, DAYS[::-1])), "Row 2 .*is earlier than row 1"),
    "dates twice": (
        ask(series=pd.Series(SERIES, DAYS[[*range(19), 3]])),
        "Row 20 .*time of row 4 again",
    ),
    "dates with a gap": (ask(series=pd.Series(SERIES[:19], DAYS.delete(5))), "Row 6 .*equally spaced"),
    "index with a gap": (ask(series=pd.Series(SERIES).drop(4)), r"Row 5 .*\(5\).* row 4 \(3\)"),
    "frame of text": (ask(series=pd.DataFrame({"a": list("abc")})), "not numeric"),
    "list": (ask(series=SERIES.tolist()), TAKEN),
    "frame": (ask(series=pd.DataFrame({"y": SERIES}, DAYS)), TAKEN),
    "masked": (ask(series=np.ma.masked_where(SERIES > 0.9, SERIES)), TAKEN),
    "some missing": (ask(series=np.where(SERIES > 0.9, np.nan, SERIES)), TAKEN),
    "integers": (ask(series=np.arange(20)), TAKEN),
    "text of numbers": (ask(series=[str(y) for y in SERIES]), TAKEN),
    "panel": (ask(series=[SERIES, SERIES[:9]]), TAKEN),
    # inputs
    "inputs too short": (ask(inputs=SERIES[:5]), "expected 20 rows"),
    "inputs missing": (ask(inputs=np.full(20, np.nan)), "inputs must be known"),
    "inputs masked": (ask(inputs=np.ma.masked_all(20)), "inputs must be known"),
    "inputs infinite": (ask(inputs=np.full(20, np.inf)), "inputs must be known"),
    "inputs text": (ask(inputs=["a"] * 20), "not numeric"),
    "inputs of other dates": (
        ask(series=pd.Series(SERIES, DAYS), inputs=pd.Series(SERIES, DAYS + pd.Timedelta("1D"))),
        "not those of the series",
    ),
    # priors
    "prior as a dictionary": (ask(prior={"Q": Q}), "expected tsnl.Prior"),
    "prior as a distribution": (ask(prior=Q), "expected tsnl.Prior"),
    "prior of nothing": (lambda: tsnl.Prior(), "empty"),
    "prior of a number": (lambda: tsnl.Prior(Q=0.1), "fixed value belongs in the model"),
    "prior between 1 and 0": (
        lambda: tsnl.Prior(Q=dist.Uniform(1.0, 0.0)),
        "Q is a Uniform between 1 and 0",
    ),
    "prior discrete": (lambda: tsnl.Prior(Q=dist.Poisson(3.0)), "discrete Poisson"),
    "prior unknown name": (ask(prior=tsnl.Prior(Z=Q)), "no parameter"),
    "prior improper": (
        lambda: tsnl.Prior(Q=dist.ImproperUniform(dist.constraints.real, (), ())),
        "improper",
    ),
    "prior huge": (lambda: tsnl.Prior(Q=dist.LKJ(5000, 1.0)), "at most 1,000,000"),
    "prior of a string key": (lambda: tsnl.Prior({"beta": Q}), TAKEN),
    # simulators
    "model a number": (ask(model=3), "model is a int, expected"),
    "model a class": (ask(model=LinearGaussian), "expected a tsnl.StateSpaceModel"),
    "function without arguments": (lambda: BlackBox(lambda: 1), r"expected \(rng, theta\)"),
    "function with a third": (lambda: BlackBox(lambda rng, theta, x: 1), r"expected \(rng, theta\)"),
    "no function": (lambda: BlackBox(3), "simulate_fn is a int"),
    "timeout 0": (lambda: BlackBox(walk, timeout=0), "timeout is 0"),
    "timeout text": (lambda: BlackBox(walk, timeout="1 s"), "timeout is '1 s', expected a number"),
    "chunk 1.5": (lambda: BlackBox(walk, chunk=1.5), "chunk is 1.5, expected a whole number"),
    "chunk 0": (lambda: BlackBox(walk, chunk=0), "chunk is 0"),
    "max_failures 2": (lambda: BlackBox(walk, max_failures=2), "max_failures is 2"),
    "executor a number": (lambda: BlackBox(walk, executor=4), "executor is a int"),
    "executor of threads": (lambda: BlackBox(walk, executor=ThreadPoolExecutor(1)), TAKEN),
    "command as one string": (lambda: Program("ls -l"), "expected the program and its arguments"),
    "table of two lengths": (lambda: Table({"Q": np.ones(3)}, np.zeros((2, 20))), "leading axes"),
    "table of another T": (ask(model=Table({"Q": np.ones(3)}, np.zeros((3, 9)))), r"\(9, 1\)"),
    "length 0": (lambda: MODEL.simulate(seed=0, length=0), "length is 0, expected at least 1"),
    "length 2.5": (lambda: MODEL.simulate(seed=0, length=2.5), "length is 2.5, expected a whole"),
    # what looks at results
    "levels text": (lambda: FORECAST.quantiles("0.5"), "levels is '0.5', expected numbers between"),
    "levels in per cent": (lambda: FORECAST.quantiles([5, 95]), r"levels is \[5, 95\], expected"),
    "levels negative": (lambda: STATES.quantiles([-0.1]), "expected numbers between 0 and 1"),
    "levels None": (lambda: STATES.quantiles(None), "expected numbers between 0 and 1"),
    "levels none": (lambda: STATES.quantiles([]), "expected numbers between 0 and 1"),
    "one level": (lambda: STATES.quantiles(0.5), TAKEN),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    call, verdict = CALLS[name]
    if verdict is TAKEN:
        call()
        return
    with pytest.raises(REFUSED, match=verdict):
        call()


def test_there_are_many():
    assert len(OPTIONS) + len(CALLS) >= 300
