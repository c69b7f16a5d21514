"""How simulations are split into rounds, and what kernel they get."""

import numpy as np
import numpyro.distributions as dist
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsnl
from tsnl.kernel import Mixture
from tsnl.methods import TSNL
from tsnl.methods.sequential.options import split_budget
from tsnl.methods.sequential.tsnl import FINE
from tsnl.problem import Problem
from tsnl.sampling import MCMC


@given(st.integers(1, 10**6))
def test_rounds_share_a_budget_evenly(budget):
    sizes = split_budget(budget)
    assert sum(sizes) == budget
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) > 0


@pytest.mark.parametrize(
    ("budget", "rounds"), [(1, 1), (20, 2), (49, 2), (50, 3), (200, 5), (399, 5), (400, 8)]
)
def test_few_simulations_have_few_rounds(budget, rounds):
    assert len(TSNL(budget=budget).sizes) == rounds


def test_without_a_budget_rounds_are_as_asked_for():
    assert TSNL(rounds=3, simulations=7).sizes == (7, 7, 7)
    assert TSNL(budget=9, rounds=3, simulations=7).once(4).sizes == (4,)


def test_a_round_is_cut_by_the_cost_and_there_is_none_after_the_last():
    method = TSNL(rounds=2, simulations=10, max_cost=500)
    assert [method.affordable(n, cost, 20) for n, cost in ((0, 0), (1, 400), (2, 0))] == [10, 5, 0]


def problem(inputs=None):
    prior = tsnl.Prior(Q=dist.LogNormal(0.0, 1.0))
    return Problem.of(tsnl.models.LinearGaussian(), prior, np.sin(np.arange(50.0)), inputs)


def test_the_answer_has_more_draws_where_there_are_more_simulations():
    def target(simulations, **options):
        return TSNL(budget=simulations, sampler=MCMC(**options)).answer_sampler.target_ess

    assert [target(n) for n in (20, 250, 500, 1000, 10_000)] == [1000, 1000, 2000, 4000, 4000]
    assert target(10_000, min_ess=50) == 200
    assert target(10_000, target_ess=700) == 700


def test_many_simulations_get_a_kernel_with_more_weights():
    few, many = (TSNL(budget=budget).spec(problem(), 4) for budget in (1999, 2000))
    assert (few.head, many.head) == (
        Mixture(curved=False, bends=0),
        Mixture(curved=True, bends=32),
    )
    assert (len(few.memory[1].rates), many.memory[1].rates) == (3, FINE)


def test_what_is_given_stays():
    spec = TSNL(budget=5000, decays=(0.7,), head=Mixture(curved=False)).spec(problem(), 4)
    assert (spec.head.curved, spec.memory[1].rates) == (False, (0.7,))


def test_with_inputs_the_kernel_stays_compact():
    assert TSNL(budget=5000).spec(problem(np.ones(50)), 4).head == Mixture(curved=False, bends=0)


def test_paths_are_seen_up_to_eight_times_and_less_often_where_there_are_many_rows():
    assert [TSNL(budget=n).num_views(problem()) for n in (100, 5000, 10_000, 40_000)] == [8, 8, 4, 1]
    assert TSNL(budget=100, views=3).num_views(problem()) == 3


def test_a_black_box_has_no_states_to_see_again():
    prior = tsnl.Prior(Q=dist.LogNormal(0.0, 1.0))
    box = Problem.of(lambda rng, theta: rng.normal(size=50), prior, np.sin(np.arange(50.0)))
    assert TSNL(budget=100).num_views(box) == 1


def test_no_views_are_refused():
    with pytest.raises(ValueError, match="views is 0, expected None or at least 1"):
        TSNL(views=0)
