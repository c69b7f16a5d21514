import jax
import numpy as np

from tsnl.kernel import Decays, KernelSpec, Lags, Mixture
from tsnl.kernel.heads.weight_prior import make_table

SINGLE = Mixture(num_components=1, width=0)


def groups_of(d_y):
    return KernelSpec(SINGLE, (Lags(2), Decays((0.5,))), d_y, 0, 1, 3).groups()


def test_weights_of_own_and_other_columns_are_groups_apart():
    for d_y in (1, 3):
        groups = groups_of(d_y)
        parts = SINGLE.make(jax.random.key(0), d_y, groups, 1).parts
        table, sizes = make_table(parts, groups), [leaf.size for leaf in jax.tree.leaves(parts)]
        first = table.group[: sizes[0]].reshape(parts.mean.shape)[:, 0]  # of the mean, at theta's centre
        for j in range(d_y):
            lags = first[j, : 2 * d_y].reshape(2, d_y)
            assert len(set(lags[:, j])) == 1
            assert len(set(lags.ravel())) == min(d_y, 2)
            assert set(lags[:, j]).isdisjoint(np.delete(lags, j, axis=1).ravel())
