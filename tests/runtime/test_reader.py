import numpy as np

from tsnl.checks.budget import _remedy
from tsnl.checks.health import check_sampler
from tsnl.runtime.reader import at_command_line, option, remedy


def test_the_words_are_those_of_the_reader():
    assert remedy(python="a", command="b") == "a"
    assert option("transform", "asinh") == "transform='asinh'"
    with at_command_line():
        assert remedy(python="a", command="b") == "b"
        assert option("transform", "asinh") == "--set transform=asinh"
    assert remedy(python="a", command="b") == "a"


def test_checks_speak_to_their_reader():
    z = np.zeros((2, 10, 1)) + np.arange(10)[:, None]
    assert "sampler=MCMC(num_draws=20)" in check_sampler(z).remedy
    assert "result.refine(simulations=8, seed=...)" in _remedy([0, 8, 16])
    with at_command_line():
        assert "--set sampler.num_draws=20" in check_sampler(z).remedy
        assert "tsnl refine RUN --simulations 8" in _remedy([0, 8, 16])
