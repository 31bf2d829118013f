"""The widget's own module on a bare page: a model that is none of Jupyter's, and answers that are Python's own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ledgerkit.notebook.module import module_text, style_text
from ledgerkit.notebook.pages import ReplayPages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_MODEL = """
class Model {
  constructor(state) { this.state = state; this.heard = {}; }
  get(name) { return this.state[name]; }
  set(name, value) {
    if (this.state[name] === value) return;
    this.state[name] = value;
    this.tell("change:" + name);
  }
  save_changes() { window.saved = {...this.state, head: undefined}; }
  on(name, act) { (this.heard[name] ??= []).push(act); }
  off(name, act) { this.heard[name] = (this.heard[name] ?? []).filter((one) => one !== act); }
  tell(name, ...what) { for (const act of this.heard[name] ?? []) act(...what); }
  async send(message) {
    const said = JSON.parse(await window.askPython(JSON.stringify(message)));
    this.tell("msg:custom", said, []);
  }
}
"""


@dataclass
class Bare:
    """A page with one widget in it.

    Attributes:
        page: The page.
        requests: URLs that it asked for.
        said: What its console said, and errors that nobody caught.
        sizes: Bytes of each answer that it was sent.
    """

    page: Page
    pages: ReplayPages
    requests: list[str] = field(default_factory=list[str])
    said: list[str] = field(default_factory=list[str])
    sizes: list[int] = field(default_factory=list[int])

    def answer(self, message: str) -> str:
        """What Python says to a message of the page."""
        said = json.dumps(self.pages.answer(json.loads(message)))
        self.sizes.append(len(said.encode()))
        return said

    def set(self, name: str, value: Any) -> None:
        """Sets a trait, as Python does."""
        self.page.evaluate("([name, value]) => window.model.set(name, value)", [name, value])

    def saved(self) -> dict[str, Any]:
        """The traits that the page last sent to Python."""
        return self.page.evaluate("window.saved ?? {}")

    def at(self, step: int, strategy: int = 0) -> None:
        """Waits until a step is shown."""
        self.page.locator(f".lk-replay[data-step='{step}'][data-strategy='{strategy}']").wait_for()


def bare_page(
    browser: Browser, pages: ReplayPages, *, width: int = 1280, height: int = 900, dark: bool = False, **state: Any
) -> Bare:
    """Opens a page with the widget in it, and waits until it is there."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
    made = Bare(page, pages)
    page.on("request", lambda request: made.requests.append(request.url))
    page.on("console", lambda message: made.said.append(message.text))
    page.on("pageerror", lambda error: made.said.append(str(error)))
    page.expose_function("askPython", made.answer)  # pyright: ignore[reportUnknownMemberType]
    page.set_content(
        '<!doctype html><html lang="en"><head><title>Replay</title>'
        '<meta name="color-scheme" content="light dark"></head><body><div id="here"></div></body></html>'
    )
    page.add_style_tag(content=style_text())
    traits = {"step": 0, "strategy": 0, "selected": "", "head": pages.head, **state}
    module = module_text().replace("export default { render };", "window.widget = { render };")
    page.evaluate(
        """([code, traits]) => {
            (0, eval)(code);
            window.model = new Model(traits);
            window.stop = window.widget.render({model: window.model, el: document.getElementById("here")});
        }""",
        [_MODEL + "window.Model = Model;" + module, traits],
    )
    page.locator(".lk-replay[data-ready='1']").wait_for()
    return made
