import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tsnl.kernel.gaps import gap_masks


@given(st.lists(st.booleans(), min_size=2, max_size=30).filter(lambda x: not all(x)), st.integers(1, 5))
@settings(deadline=None)
def test_a_pattern_is_turned_round(seen, n):
    mask = np.array(seen)[:, None]
    found = gap_masks(np.random.default_rng(0), [mask], len(mask), n)
    assert found.shape == (n, len(seen), 1)
    turns = {tuple(np.roll(seen, k).tolist()) for k in range(len(seen))}
    assert all(tuple(one[:, 0].tolist()) in turns for one in found)


def test_a_complete_series_gets_gaps_of_its_own():
    found = gap_masks(np.random.default_rng(0), [np.ones((100, 2), bool)], 100, 200)
    assert (found[:, :, 0] == found[:, :, 1]).all()
    share = 1 - found.mean()
    expected = 1 - 0.9 * 0.9
    assert abs(share - expected) < 4.5 * np.sqrt(0.9 * 0.1 / (200 * 100))
    runs = [
        max(len(run) for run in "".join("01"[int(x)] for x in one[:, 0]).split("1")) for one in found
    ]
    assert min(runs) >= 5  # a run of ten, which the ends of the series may cut in two


def test_every_series_of_a_panel_lends_its_pattern():
    whole, gappy = np.ones((6, 1), bool), np.array([True, False, True])[:, None]
    found = gap_masks(np.random.default_rng(0), [whole, gappy], 6, 4)
    assert found[::2].all()
    assert (found[1::2].sum(axis=(1, 2)) == 4).all()
