from hypothesis import given
from hypothesis import strategies as st

from tsnl.methods.particle.budget import Ledger, allot, divide, most_particles


@given(
    st.integers(1, 8),
    st.integers(20, 2000),
    st.integers(20, 5000),
    st.one_of(st.just("auto"), st.integers(2, 300)),
    st.integers(1, 300),
    st.integers(60 * 300 * 300, 10**9),
)
def test_no_budget_is_exceeded(num_chains, num_warmup, num_steps, particles, length, limit):
    ledger = Ledger(length, limit)
    allotted = allot(num_chains, num_warmup, particles, ledger)
    first = allotted.num_particles
    spent = allotted.num_starts + allotted.num_chains * allotted.num_search + allotted.num_pilot
    ledger.pay(spent, first)
    n = most_particles(allotted.num_chains, first, ledger) if particles == "auto" else first
    ledger.pay(allotted.num_chains, n)
    rest = num_warmup - allotted.num_search
    warmup, steps = divide(rest, num_steps, allotted.num_chains, ledger.runs(n))
    assert 0 <= warmup <= rest
    assert min(num_steps, 14) <= steps <= num_steps
    ledger.pay(allotted.num_chains * (warmup + steps), n)
    assert ledger.cost <= limit
