"""The site: pages, links, anchors and names without a build; the whole of it, slowly, with one."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

import tsnl

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def prose(path):
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(path):
    """What the headings of a page can be linked by."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", h.lower()).strip()) for h in headings}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_anchors_are_there(path):
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "", prose(path))):
        if re.match(r"https?://", link):
            continue
        target, _, anchor = link.partition("#")
        page = (path.parent / target).resolve() if target else path
        assert page.exists(), f"{path.name} links to {link}"
        if page.suffix == ".md" and anchor:
            assert anchor in anchors(page), f"{path.name} links to {link}"


def test_included_tables_are_there():
    """Figures that change are included from where they are made, never copied."""
    included = [
        name for path in PAGES for name in re.findall(r'^--8<-- "(.+)"$', path.read_text(), re.M)
    ]
    assert "benchmarks/zoo/table.md" in included
    assert all((ROOT / name).exists() for name in included)


def test_every_page_is_in_the_navigation():
    named = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    pages = {str(path.relative_to(DOCS)) for path in PAGES if path.parent.name != "gallery"}
    assert pages | {"gallery/index.md"} == named  # the gallery's index leads to its pages


@pytest.mark.parametrize("name", tsnl.__all__)
def test_every_public_name_is_in_the_reference(name):
    page = (DOCS / "api.md").read_text()
    assert f"::: tsnl.{name}\n" in page or f"`tsnl.{name}`" in page


def test_every_python_block_is_run():
    """A block of Python under another label would be one that no test runs.

    Those of the gallery are cut from its modules, which run.
    """
    for path in TEXTS:
        if path.parent.name == "gallery":
            continue
        for block in re.findall(r"^```py\n.*?^```", path.read_text(), re.DOTALL | re.MULTILINE):
            pytest.fail(f"{path.name}: {block.splitlines()[1]}")


class Resources(HTMLParser):
    """What a page fetches by itself."""

    def __init__(self):
        super().__init__()
        self.fetched = []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "link" and found.get("rel") != "canonical":
            self.fetched.append(found.get("href") or "")
        elif tag in ("img", "script", "iframe", "source"):
            self.fetched.append(found.get("src") or "")


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("mkdocs"), reason="the docs extra is not installed: make docs")
def test_the_built_site_fetches_nothing_from_elsewhere(tmp_path):
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path),
    ]
    subprocess.run(command, cwd=ROOT, check=True)
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for path in pages:
        text = path.read_text()
        page = Resources()
        page.feed(text)
        assert not [url for url in page.fetched if re.match(r"(https?:)?//", url)], path
        assert "arithmatex" not in text, f"{path} has a formula that is not MathML"
        assert ".. math::" not in text, path
    for style in tmp_path.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?https?:", style.read_text()), style
    assert "<math" in (tmp_path / "how" / "index.html").read_text()
    assert "predator" in (tmp_path / "search" / "search_index.json").read_text()
