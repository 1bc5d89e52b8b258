"""Frames of a moved time line: what is kept of the frame before is what would be drawn, and nothing but the picture is made for each frame."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.web.chromium import Page
from tests.web.conftest import Site
from tests.web.line import SETTLED, axis, opened, settled, top

ACTS = """
const line = document.querySelector('.line'), canvas = document.querySelector('.line-canvas');
const frame = () => new Promise(requestAnimationFrame);
// What follows from an event is drawn in microtasks: so no time goes by, in which it would come to rest.
const drawn = async () => { for (let number = 0; number < 8; number++) await 0; };
const roll = (more) => line.dispatchEvent(new WheelEvent('wheel', { bubbles: true, cancelable: true, ...more }));
const pan = (pixels) => roll({ shiftKey: true, deltaX: pixels });
const pixels = () => {
  // As it is seen, on a ground: a colour of almost no opacity is not exact.
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true, alpha: false });
  copy.fillStyle = 'white';
  copy.fillRect(0, 0, canvas.width, canvas.height);
  copy.drawImage(canvas, 0, 0);
  return copy.getImageData(0, 0, canvas.width, canvas.height).data;
};
const differ = (a, b) => {
  if (a.length !== b.length) return a.length;
  let found = 0;
  for (let at = 0; at < a.length; at++) if (Math.abs(a[at] - b[at]) > 16) found++;
  return found;
};
"""
"""What a script does with a picture."""
PANNED = f"""(async () => {{ {ACTS}
  const found = [];
  for (const step of [20, -14, 2, -40]) {{
    let shifted = 0;
    for (let number = 0; number < 6; number++) {{
      pan(step);
      await drawn();
      shifted += canvas.dataset.drawn === 'part';
    }}
    const kept = pixels();
    // Closer and back: all of it is drawn, while it still moves.
    for (const deltaY of [-1, 1]) {{
      roll({{ ctrlKey: true, deltaY }});
      await drawn();
    }}
    found.push([shifted, canvas.dataset.drawn, differ(kept, pixels())]);
  }}
  return found;
}})()"""
SCROLLED = f"""(async () => {{ {ACTS}
  const found = [];
  for (const step of [14, -6, 8]) {{
    let shifted = 0;
    for (let number = 0; number < 4; number++) {{
      line.scrollTop += step;
      await frame(); await frame();
      shifted += canvas.dataset.drawn === 'part';
    }}
    const kept = pixels();
    for (const deltaY of [-1, 1]) {{
      roll({{ ctrlKey: true, deltaY }});
      await drawn();
    }}
    found.push([shifted, canvas.dataset.drawn, differ(kept, pixels())]);
    await new Promise((done) => setTimeout(done, 300));
  }}
  return found;
}})()"""
KEEP = f"(() => {{ {ACTS} globalThis.kept = pixels(); return canvas.dataset.drawn; }})()"
PARTS = {
    "charts and CPUs": "zoom=6s..10.2s&tracks=cpu",
    "names of runs": "zoom=9s..9.021s&turn=host",
    "heat maps and marks": "zoom=15s..17.1s&turn=host&turn=heat",
    "most of it": "turn=host&zoom=4s..14.5s",
}
"""Marks of the axis are not between two pixels, of which either is right."""
EDGES = 600
"""Among a million colours of pixels: edges that are between two pixels."""


@pytest.fixture
def low(page: Page) -> Iterator[Page]:
    """A window in which there is much to scroll."""
    page.resize(1280, 600)
    yield page
    page.resize(1280)


@pytest.mark.parametrize(
    ("part", "density"),
    [*((part, 1) for part in PARTS), ("most of it", 1.25), ("charts and CPUs", 1.5), ("names of runs", 2)],
)
def test_what_is_shifted_is_what_would_be_drawn(part: str, density: float, low: Page, site: Site) -> None:
    page = low
    page.call("Emulation.setDeviceMetricsOverride", width=1280, height=600, deviceScaleFactor=density, mobile=False)
    opened(page, site.at(f"c/{site.ids['x86_64']}/timeline?{PARTS[part]}"))
    # Titles take 190 pixels: at 1.25 their edge is within a pixel of the screen, and nothing is kept.
    can_shift = density != 1.25
    for shifted, drawn, different in page.see(PANNED):
        assert (shifted >= 4) == can_shift
        assert drawn == "whole"
        assert different < EDGES
    settled(page)
    for shifted, drawn, different in page.see(SCROLLED):
        # How often depends on how busy the machine is: what scrolls in between is drawn.
        assert (shifted > 0) == can_shift
        assert drawn == "whole"
        assert different < EDGES


def test_a_link_shows_the_same_as_the_picture_that_was_moved(page: Page, site: Site) -> None:
    opened(page, site.at(f"c/{site.ids['x86_64']}/timeline?zoom=6s..10s"))
    page.see(f"(async () => {{ {ACTS} for (let number = 0; number < 9; number++) {{ pan(7); await frame(); }} }})()")
    settled(page)
    assert page.see(KEEP) == "whole"
    moved = page.see("[...kept].reduce((sum, one) => (31 * sum + one) | 0, 0)")
    opened(page, page.see("location.href"))
    page.see(KEEP)
    assert page.see("[...kept].reduce((sum, one) => (31 * sum + one) | 0, 0)") == moved


def test_only_the_picture_is_made_for_a_frame(page: Page, site: Site) -> None:
    opened(page, site.at(f"c/{site.ids['x86_64']}/timeline?zoom=6s..10s"))
    # The whole page writes down what it asks for, each time that it is made.
    made, titles, said = page.see(f"""(async () => {{ {ACTS}
      pan(10);
      await drawn();
      const stringify = JSON.stringify, head = document.querySelector('.line-head .quiet');
      const before = head.innerText;
      let [made, titles] = [0, 0];
      JSON.stringify = (...given) => (made++, stringify(...given));
      const observer = new MutationObserver((all) => (titles += all.length));
      observer.observe(document.querySelector('.line-labels'), {{ subtree: true, childList: true, attributes: true, characterData: true }});
      for (let number = 0; number < 5; number++) {{ pan(10); await drawn(); }}
      JSON.stringify = stringify;
      observer.disconnect();
      return [made, titles, before !== head.innerText];
    }})()""")
    assert made == 0
    assert titles == 0
    assert said, "the head says which part is seen now"


def test_a_picture_that_moves_under_the_mouse_is_told_of(page: Page, site: Site) -> None:
    opened(page, site.at(f"c/{site.ids['x86_64']}/timeline?zoom=6s..10s&turn=host"))
    track = page.see("document.querySelector('.line-lane').dataset.track")
    (left, width), y = axis(page), top(page, track) + 10
    told = "[document.querySelector('.line-tip')?.innerText, ...[...document.querySelectorAll('.line-time, .line-legend')].map((one) => one.innerText)]"
    page.see("document.querySelector('.line').focus()")
    for x in (left + width / 3, left + width / 2, left + width * 0.8):
        page.mouse("mouseMoved", x, y)
        before = page.see(told)
        page.press("d")
        settled(page)
        now = page.see(told)
        page.mouse("mouseMoved", x + 1, y)
        page.mouse("mouseMoved", x, y)
        assert page.see(told) == now
        assert now != before
    assert None not in now


def test_lanes_are_decoded_beside_the_main_thread(page: Page, site: Site) -> None:
    page.open("about:blank")
    # The answers are there, but what decodes them is not.
    gone = "globalThis.Worker = class extends Worker { constructor(url, more) { super(`${url}.gone`, more); } }"
    script = page.call("Page.addScriptToEvaluateOnNewDocument", source=gone)
    page.open(site.at(f"c/{site.ids['tcp']}/timeline"))
    page.has("This part of the page could not be fetched.", ".problem")
    page.call("Page.removeScriptToEvaluateOnNewDocument", **script)
    page.click(".problem button", "Load the page again")
    page.until(f"!document.querySelector('.problem') && {SETTLED}")
    page.problems.clear()
