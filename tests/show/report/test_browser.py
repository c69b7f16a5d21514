"""A report in a real browser."""

import shutil

import pytest

BROWSER = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium on the path: install it to see")

CONTRAST = """() => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const f = x => { x /= 255; return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  const ground = node => {
    for (; node; node = node.parentElement) {
      const colour = channels(getComputedStyle(node).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let worst = [21, ''];
  while (walker.nextNode()) {
    if (!walker.currentNode.data.trim()) continue;
    const node = walker.currentNode.parentElement;
    const pair = [light(channels(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (ratio < worst[0]) worst = [ratio, walker.currentNode.data.trim()];
  }
  return worst;
}"""


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


@pytest.fixture(params=[1100, 390], ids=["desk", "phone"])
def page(browser, path, scheme, request):
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": request.param, "height": 844}, offline=True
    )
    found = context.new_page()
    found.complaints, found.requests = [], []
    found.on("console", lambda message: found.complaints.append(message.text))
    found.on("pageerror", lambda error: found.complaints.append(str(error)))
    found.on("dialog", lambda dialog: (found.complaints.append("a dialog"), dialog.dismiss()))
    found.on("request", lambda request: found.requests.append(request.url))
    found.goto(path.as_uri())
    yield found
    context.close()


def test_it_renders(page, path, scheme, given):
    """Without complaints or requests, every picture seen, hostile text as text, nothing too wide."""
    width = page.viewport_size["width"]
    pictures = page.locator("img")
    assert pictures.count() == 5
    for i in range(pictures.count()):
        picture = pictures.nth(i)
        picture.scroll_into_view_if_needed()
        picture.evaluate("image => image.decode()")
        assert picture.is_visible()
        assert picture.evaluate("image => image.naturalWidth") > 300
        box = picture.bounding_box()
        assert 200 < box["width"] <= width
        assert box["height"] > 100
    assert page.locator("h1").inner_text() == given.title
    shown = page.locator("main").inner_text()
    for name in given.names:
        assert name in shown
    assert page.locator("script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ratio, text = page.evaluate(CONTRAST)
    assert ratio >= 4.5, text
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    assert page.complaints == []
    assert [url for url in page.requests if not url.startswith("data:")] == [path.as_uri()]


def test_pictures_follow_paper_and_width(page, scheme):
    """The drawing shown is the one for this scheme and width, and its corner has the page's colour."""
    kinds = {(1100, "light"): None, (1100, "dark"): 2, (390, "dark"): 0, (390, "light"): 1}
    place = kinds[page.viewport_size["width"], scheme]
    figure = page.locator("picture").first
    wanted = (
        figure.locator("img").get_attribute("src")
        if place is None
        else figure.locator("source").nth(place).get_attribute("srcset")
    )
    assert figure.locator("img").evaluate("image => image.currentSrc") == wanted
