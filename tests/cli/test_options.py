import os
from dataclasses import fields

import pytest

from tsnl import MCMC, SMCABC, SNL, TSNL, Correct, Training
from tsnl.cli import encoding
from tsnl.cli.data import read_csv
from tsnl.cli.model_file import read_model
from tsnl.cli.options import Settings, changed, make_method, options_text, read_settings, to_toml
from tsnl.cli.runs import kept_title, read_checks
from tsnl.kernel import MAF
from tsnl.methods import METHODS
from tsnl.store.files import MOST_TEXT


def test_command_line_over_file_over_defaults(tmp_path):
    path = tmp_path / "options.toml"
    path.write_text(
        'method = "t-snl"\nseed = 3\ncolumns = ["a", 2]\n[options]\nrounds = 2\nlag = "acf"\n'
        '[options.training]\nmax_steps = 400\n[options.head]\nclass = "MAF"\n'
    )
    settings = changed(read_settings(path), {"seed": None, "workers": 2}, {"rounds": 7, "lag": None})
    assert settings.columns == ("a", "2")
    assert (settings.seed, settings.workers) == (3, 2)
    method = make_method(settings)
    assert method == TSNL(rounds=7, lag="acf", training=Training(max_steps=400), head=MAF())


def test_every_option_of_a_method_can_be_assigned():
    assignments = (
        *("rounds=3", "transform=asinh", "gaps=true", "max_cost=none", "decays=[0.5]"),
        *("training.max_steps=400", "head.class=MAF", "head.width=8", "sampler.transition=nuts"),
    )
    settings = changed(Settings(), {}, {"rounds": 7, "max_cost": 5}, assignments)
    assert make_method(settings) == TSNL(
        rounds=3,
        transform="asinh",
        gaps=True,
        decays=(0.5,),
        training=Training(max_steps=400),
        head=MAF(width=8),
        sampler=MCMC(transition="nuts"),
    )
    for wrong in ("rounds", "=3", "training.=3", ""):
        with pytest.raises(ValueError, match="expected name=value"):
            changed(Settings(), {}, {}, (wrong,))
    with pytest.raises(ValueError, match="TSNL has no option round; it has"):
        make_method(changed(Settings(), {}, {}, ("round=3",)))


@pytest.mark.parametrize("kind", METHODS)
def test_the_options_shown_read_back(tmp_path, kind):
    path = tmp_path / "options.toml"
    path.write_text(options_text(kind))
    assert make_method(read_settings(path)) == kind()
    shown = path.read_text()
    for field in fields(kind):
        assert field.name in shown


@pytest.mark.parametrize(
    "method",
    [
        TSNL(lag="bic", decays=(), head=MAF(activation="relu"), sampler=MCMC(transition="nuts")),
        SMCABC(particles=50, max_cost=1000),
        Correct(first=SNL(rounds=3), num_draws=90),
    ],
)
def test_the_resolved_configuration_reads_back(tmp_path, method):
    settings = Settings(
        seed=4, columns=("a", 'b"\\c'), timeout=1.5, title="größe\n<b>", time="day", every="1D"
    )
    path = tmp_path / "config.toml"
    path.write_text(to_toml(settings, method), encoding="utf-8")
    again = read_settings(path)
    assert make_method(again) == method
    for name in ("seed", "columns", "timeout", "title", "workers", "time", "every"):
        assert getattr(again, name) == getattr(settings, name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed = ", "is no TOML"),
        ("sed = 3", r"unknown \['sed'\]; known are"),
        ('seed = "one"', "seed is 'one', which is of the wrong kind"),
        ("seed = true", "seed is True"),
        ('method = "MCMC"', "method is 'MCMC', expected one of TSNL, SNL"),
        ("[options]\nround = 3", "TSNL has no option round; it has"),
        ("[options.training]\nsteps = 3", "TSNL.training has no option steps"),
        ("[options.lag]\nx = 3", "TSNL.lag has no options inside it"),
        ('[options.head]\nclass = "os.system"', "The class of TSNL.head is unknown"),
        ("[options]\nrounds = 0", "rounds is 0, expected at least 1"),
    ],
)
def test_what_does_not_fit(tmp_path, text, message):
    path = tmp_path / "options.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        make_method(read_settings(path))


READERS = {
    "options": (read_settings, "file"),
    "data": (read_csv, "file"),
    "configuration": (lambda path: kept_title(path.parent), "config.toml"),
    "checks": (lambda path: read_checks(path.parent), "checks.json"),
}


@pytest.mark.parametrize("name", READERS)
def test_what_is_no_plain_file(tmp_path, name):
    """A pipe would be waited for, a device read for ever, a hole would fill the memory."""
    read, called = READERS[name]
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / called)
    (tmp_path / "device").mkdir()
    (tmp_path / "device" / called).symlink_to("/dev/zero")
    (tmp_path / "hole").mkdir()
    with (tmp_path / "hole" / called).open("wb") as file:
        file.truncate(10**12)
    for kind, message in (
        ("pipe", "no plain file"),
        ("device", "no plain file"),
        ("hole", "mostly holes"),
    ):
        path = tmp_path / kind / called
        with pytest.raises(ValueError, match=f"{path} is .*{message}: give a file of text"):
            read(path)


@pytest.mark.parametrize("name", READERS)
def test_what_is_too_large(tmp_path, monkeypatch, name):
    read, called = READERS[name]
    monkeypatch.setattr(encoding, "MOST_DATA", MOST_TEXT)
    path = tmp_path / called
    with path.open("wb") as file:
        file.truncate(MOST_TEXT + 1)
    with pytest.raises(ValueError, match=f"{path} has more than 16,000,000 bytes"):
        read(path)


def test_a_model_file_that_is_too_large(tmp_path):
    path = tmp_path / "model.py"
    with path.open("wb") as file:
        file.truncate(MOST_TEXT + 1)
    with pytest.raises(ValueError, match="has more than 16,000,000 bytes"):
        read_model(path)
