"""What a report says, read without a browser."""

import base64
import re
import struct
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, PMMH, SMCABC, ExactMCMC
from tsnl.checks import Report, Verdict
from tsnl.models import LinearGaussian, StochasticVolatility
from tsnl.runtime.reader import at_command_line
from tsnl.show.report import citation, render
from tsnl.show.report.facts import history_table, left_out
from tsnl.show.report.write import verdict_sentence

ROOT = Path(__file__).parents[3]
VOID = {"meta", "link", "source", "img", "br"}


class Page(HTMLParser):
    """Elements, their attributes and their text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self):
        return re.sub(r"\s+", " ", " ".join(self.text))


@pytest.fixture(scope="module")
def page(path):
    return Page(path.read_text())


def test_all_parts_are_there_in_order(page, given, result):
    words = page.words
    parts = ["Verdict", "Data and prediction", "Posterior", "Checks", "The run", "Learning curves"]
    parts += ["Failed simulations", "Configuration", "Versions", "How to cite"]
    places = [words.rindex(f" {part} ") for part in parts]
    assert places == sorted(places)
    for verdict in given.checks:
        assert verdict.sentence in words
        assert verdict.remedy in words
    for fact in (f"{result.cost:,} calls", "1,234 calls", "4: as the option says", "sampler.num_chains"):
        assert fact in words
    assert "LogNormal(loc=-1, scale=1)" in words
    assert "Replicates fails; lag needs a look; 1 of 3 checks pass." in words
    assert tsnl.__version__ in words
    assert "Checks can find a wrong answer, not prove a right one" in words
    assert not page.open


def test_hostile_text_is_text(page, path, given):
    assert not page.all("script")
    assert all(image["src"].startswith("data:image/png;base64,") for image in page.all("img"))
    assert not [name for _, found in page.elements for name in found if name.startswith("on")]
    assert given.title in page.words
    for name in given.names:
        assert page.words.count(name) >= 3
    text = path.read_text()
    assert "<script" not in text
    assert "<img src=x" not in text
    assert "raised" in page.words or "not finite" in page.words


def test_no_network_and_no_scripts(page, path):
    policy = next(m["content"] for m in page.all("meta") if "http-equiv" in m)
    assert "default-src 'none'" in policy
    assert not page.all("iframe")
    text = re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]+", "", path.read_text())
    assert "://" not in text
    assert "url(" not in text
    assert "@import" not in text


def test_pictures_have_text_and_four_drawings(page):
    pictures, sources = page.all("img"), page.all("source")
    assert len(pictures) == 5  # series, pairs, PIT, autocorrelations, learning
    assert len(sources) == 3 * len(pictures)
    for image in pictures:
        assert len(image["alt"]) > 30
    assert "of the entries lie in the 90\u00a0% band" in pictures[0]["alt"]
    for uri, found in [(i["src"], i) for i in pictures] + [(s["srcset"], s) for s in sources]:
        data = base64.b64decode(uri.partition(",")[2])
        width, height = struct.unpack(">II", data[16:24])
        assert (width / 2, height / 2) == pytest.approx(
            (int(found["width"]), int(found["height"])), abs=1
        )


def test_structure_for_screen_readers(page):
    assert page.all("html")[0]["lang"] == "en"
    assert all(len(page.all(tag)) == 1 for tag in ("h1", "main", "header", "nav", "footer", "title"))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(found["scope"] in ("row", "col") for found in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table")) == 4
    identities = [found["id"] for _, found in page.elements if "id" in found]
    assert len(set(identities)) == len(identities)
    targets = {found["href"][1:] for found in page.all("a")}
    targets |= {found["aria-labelledby"] for found in page.all("section")}
    assert targets <= set(identities)


def contrast(a, b):
    """The ratio of WCAG 2, from 1 to 21."""
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (a, b)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    dim, bright = np.sort(linear @ [0.2126, 0.7152, 0.0722])
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_contrast_of_all_text(scheme):
    css = (ROOT / "src" / "tsnl" / "show" / "report" / "page.css").read_text()
    block = css.split(":root {")[1 + scheme]
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block.split("}")[0]))
    for name in ("ink", "quiet", "accent", "pass", "look", "fail"):
        assert contrast(colours[name], colours["paper"]) >= 4.5
    for name in ("pass", "look", "fail"):
        for text in (name, "ink"):
            assert contrast(colours[text], colours[f"{name}-soft"]) >= 4.5


def test_citation_is_that_of_the_file():
    text = (ROOT / "CITATION.cff").read_text()
    for part in (citation.SOFTWARE, citation.METHOD):
        assert f'title: "{part["title"]}"' in text
    given = re.findall(r"given-names: (.*)", text)
    family = re.findall(r"family-names: (.*)", text)
    authors = tuple(f"{a} {b}" for a, b in zip(given, family, strict=True))
    assert authors == citation.METHOD["authors"]
    assert f"version: {tsnl.__version__}" in text


@pytest.mark.parametrize(
    ("levels", "sentence"),
    [
        (["pass", "pass"], "All 2 checks pass."),
        (["pass"], "The one check that applies passes."),
        (["look", "pass", "look"], "A, c need a look; 1 of 3 checks pass."),
        (["fail", "look", "fail"], "A, c fail; b needs a look; 0 of 3 checks pass."),
    ],
)
def test_verdict_sentence(levels, sentence):
    verdicts = [Verdict(name, level, "", "", {}) for name, level in zip("abc", levels, strict=False)]
    assert verdict_sentence(Report(verdicts, 0)) == sentence


@pytest.fixture(scope="module")
def linear():
    model = LinearGaussian()
    return model, tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0)), model.simulate(seed=1, length=20)


OTHERS = {
    "SMCABC": SMCABC(particles=40, max_generations=2),
    "ExactMCMC": ExactMCMC(MCMC(num_chains=2, num_warmup=50, num_draws=50, max_extensions=0)),
}


@pytest.mark.parametrize("name", ["SMCABC", pytest.param("ExactMCMC", marks=pytest.mark.slow)])
def test_other_methods(linear, given, name):
    found = tsnl.infer(*linear, OTHERS[name], seed=0, progress=False)
    page = Page(render(found, given.checks, num_replicates=20))
    assert f"Q of LinearGaussian, by {name}" in page.words
    assert "20 series simulated at the posterior" in page.words
    assert "Learning curves" not in page.words
    assert len(page.all("img")) == 2
    assert not page.open


def test_checks_are_made_where_none_are_given(linear, tmp_path):
    found = tsnl.infer(*linear, OTHERS["SMCABC"], seed=0, progress=False)
    page = Page(found.report(tmp_path / "report.html", num_replicates=0).read_text())
    assert "R-hat is" in page.words
    assert "Posterior predictive summaries" in page.words
    assert "The observed series: 20 rows of 1 column(s)." in page.words


def test_counts_are_of_each_round_alone(result):
    table = history_table(result)
    place = table.head.index("simulations")
    assert [row[place] for row in table.rows] == ["8", "8"]


def test_versions_are_those_of_the_run(result, tmp_path):
    old = replace(result, versions={"tsnl": "0.0.7", "jax": "0.1"})
    old.save(tmp_path / "run")
    again = tsnl.load(tmp_path / "run", model=result.problem.model)
    assert again.versions == {"tsnl": "0.0.7", "jax": "0.1"}
    text = render(again, Report([], 0), num_replicates=0)
    assert "0.0.7" in text
    assert f"Made by tsnl {tsnl.__version__}" in text


def test_what_is_left_out_is_said_with_a_way_to_see_it():
    assert left_out(8, 8, "columns") == ""
    assert left_out(8, 20, "columns") == " 8 of 20 columns are drawn; all of them: " + (
        "report(path, everything=True)."
    )
    with at_command_line():
        assert "tsnl report RUN --everything" in left_out(8, 20, "parameters")


@pytest.mark.slow
def test_columns_gaps_and_several_parameters(given, tmp_path):
    model = StochasticVolatility(C=[[1.0, 0.5], [0.5, 1.0]])
    prior = tsnl.Prior(C=dist.LKJ(2, 1.0), A=dist.Uniform(0.5, 1.0))
    series = np.array(model.simulate(seed=1, length=30))
    series[10] = np.nan
    found = tsnl.infer(model, prior, series, given.method, seed=0, progress=False)
    found.save(tmp_path / "run")
    page = Page(tsnl.load(tmp_path / "run").report(tmp_path / "report.html").read_text())
    assert "30 rows of 2 column(s), 2 entries missing" in page.all("img")[0]["alt"]
    assert "C[1,0]" in page.words
    assert len(page.all("img")) == 7  # no autocorrelations of a series with gaps


@pytest.mark.slow
def test_particle_mcmc(linear, given):
    found = tsnl.infer(*linear, PMMH(num_steps=100, num_warmup=100), seed=0, progress=False)
    page = Page(render(found, given.checks, num_replicates=20))
    assert "search" in page.words
    assert not page.open
