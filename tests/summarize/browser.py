#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The page that --html writes, in Chromium: browser.py HEED-SUMMARIZE [PAGE PICTURE WIDTH HEIGHT]

On a telephone of 360 pixels nothing scrolls sideways; nothing is asked of a network; the console is
silent, with scripts and without; what text is about has a contrast of 4.5 in light and dark; the
keyboard leads from the summary to the document and back, and one sees where it is; the page prints.
Skipped where there is no Chromium. With PAGE: takes a picture of it instead,
as docs/summarizer.png was (the page of docs/guide.txt with --length 5s, 1040 by 720).
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import page as pages

try:
    import numpy
except ImportError:
    numpy = None                        # then there is no model

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
         "--remote-debugging-pipe")
# Every element with text of its own: its name, and the contrast of the text to what is behind it.
CONTRAST = """
(() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = c => [.2126, .7152, .0722].reduce((sum, part, i) => sum + part *
    (c[i] / 255 <= .03928 ? c[i] / 255 / 12.92 : ((c[i] / 255 + .055) / 1.055) ** 2.4), 0);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("body *")].filter(e => [...e.childNodes].some(
    n => n.nodeType === 3 && n.data.trim()) && e.tagName !== "title").map(e => {
      const style = getComputedStyle(e);
      const a = light(rgb(e.tagName === "text" ? style.fill : style.color)), b = light(ground(e));
      return [e.tagName + "." + e.className, (Math.max(a, b) + .05) / (Math.min(a, b) + .05)];
    });
})()
"""
FOCUS = """
(() => {
  const e = document.activeElement, box = e.getBoundingClientRect(), style = getComputedStyle(e);
  const seen = box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight;
  return [e.tagName, e.id, e.getAttribute("href"), seen,
          style.outlineStyle !== "none" || e.closest("svg") !== null];
})()
"""


class Browser:
    """Chromium, driven through a pair of pipes (the DevTools protocol, NUL between messages)."""

    def __init__(self, program, folder):
        read, self.write = os.pipe()
        self.read, write = os.pipe()
        command = f'exec "$@" 3<&{read} 4>&{write}'
        self.process = subprocess.Popen(
            ["bash", "-c", command, "bash", program, *FLAGS, f"--user-data-dir={folder}",
             "about:blank"], pass_fds=(read, write), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(folder)})
        os.close(read)
        os.close(write)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []

    def receive(self):
        while b"\0" not in self.buffer:
            more = os.read(self.read, 1 << 20)
            if not more:
                raise SystemExit("Chromium has ended")
            self.buffer += more
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, name):
        while not any(one.get("method") == name for one in self.events):
            self.events.append(self.receive())

    def start(self):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    def open(self, path):
        self.events = []
        self.ask("Page.navigate", url=pathlib.Path(path).as_uri())
        self.wait("Page.loadEventFired")

    def size(self, width, height, mobile=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=mobile)

    def scheme(self, name):
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": name}])

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            more = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                     windowsVirtualKeyCode=code, **more)

    def picture(self, whole=True):
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png",
                                         captureBeyondViewport=whole)["data"])

    def close(self):
        self.session = None
        self.ask("Browser.close")
        self.process.wait(timeout=30)


def heard(browser, path):
    """Requests but that of the page, and what the console said."""
    for one in browser.events:
        params = one.get("params", {})
        if one.get("method") == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if url.split("#")[0] != pathlib.Path(path).as_uri():
                yield f"asks for {url}"
        elif one.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled",
                                   "Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
            yield f"{one['method']}: {params}"


def looks(browser, path):
    for width in (360, 768, 1280):
        browser.size(width, 740, mobile=width == 360)
        browser.open(path)
        yield from heard(browser, path)
        wide = browser.value("Math.max(document.documentElement.scrollWidth, "
                             "document.body.scrollWidth)")
        if wide > width:
            yield f"is {wide} wide on a screen of {width}"
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        rows = browser.value(CONTRAST)
        ground = browser.value("getComputedStyle(document.body).backgroundColor")
        if len(rows) < 10 or (scheme == "dark") != (int(ground[4:].split(",")[0]) < 128):
            yield f"{scheme}: {len(rows)} texts on {ground}"
        yield from {f"{scheme}: {name} has a contrast of {ratio:.2f}"
                    for name, ratio in rows if ratio < 4.5}
    browser.scheme("light")
    if browser.value("document.title").find(pathlib.Path(path).stem.split(".")[0]) < 0:
        yield "the title is another's"


def keys(browser, path):
    """From link to link by keyboard: skip link, summary, place in the document, and back."""
    browser.size(360, 740, mobile=True)
    browser.open(path)
    browser.press("Tab", 9)
    first = browser.value(FOCUS)
    if first[2:] != ["#document", True, True]:
        yield f"the first stop is {first}"
    browser.press("Tab", 9)
    tag, name, href, seen, marked = browser.value(FOCUS)
    if tag != "A" or not str(name).startswith("c") or not seen or not marked:
        yield f"the second stop is {tag} {name}, seen {seen}, marked {marked}"
        return
    browser.press("Enter", 13)
    place = browser.value("location.hash + ' ' + document.querySelector(':target').tagName + ' ' + "
                          "(document.querySelector(':target').getBoundingClientRect().top < 740)")
    if place != f"{href} MARK true":
        yield f"{href} leads to {place}"
    browser.press("Tab", 9)
    back = browser.value(FOCUS)
    if back[2] != "#" + name or not back[3] or not back[4]:
        yield f"from {href} the next stop is {back}"
    browser.press("Enter", 13)
    if browser.value("location.hash") != "#" + name:
        yield f"{back} leads to {browser.value('location.hash')}"
    stops = browser.value("[...document.querySelectorAll('a, summary')].filter("
                          "e => e.tabIndex >= 0 && e.checkVisibility()).length")
    browser.open(path)
    for _ in range(min(stops, 60)):
        browser.press("Tab", 9)
        if not all(browser.value(FOCUS)[3:]):
            yield f"one does not see the stop {browser.value(FOCUS)}"


def without_scripts(browser, path):
    browser.open(path)
    text = browser.value("document.body.innerText")
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(path)
    if browser.value("document.body.innerText") != text or len(text) < 200:
        yield "is another page without scripts"
    yield from heard(browser, path)
    printed = base64.b64decode(browser.ask("Page.printToPDF")["data"])
    if not printed.startswith(b"%PDF") or len(printed) < 5000:
        yield f"prints {len(printed)} bytes"
    browser.ask("Emulation.setScriptExecutionDisabled", value=False)


def examples(program, folder):
    """Pages of a talk, of a text with sections and of one in Chinese, and one that means harm."""
    files = pathlib.Path(__file__).parent / "files"
    harm = [path for path in pages.harmful(folder) if path.name in ("head.md", "talk.txt")]
    for path in [files / "en-talk.txt", files / "zh-article.md",
                 pathlib.Path(__file__).parents[2] / "docs/guide.txt", *harm]:
        made = folder / (path.name + ".html")
        pages.run(program, "--quiet", "--words", "60", "--html", made, path)
        yield made


def of_model(program, folder):
    """The page of what a random model wrote."""
    sys.path.append(str(pathlib.Path(__file__).parents[1] / "model"))
    import summaries
    summaries.letters(folder / "model")
    text, made = folder / "town.txt", folder / "town.txt.html"
    text.write_text(summaries.TEXT, encoding="utf-8")
    pages.run(program, "--quiet", "--model", folder / "model", "--segments", "--html", made, text)
    yield made


def main():
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if not chromium:
        print("there is no Chromium: scripts/setup --browser")
        return 77
    failed = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        browser = Browser(chromium, folder / "profile")
        browser.start()
        if len(sys.argv) > 2:
            browser.size(int(sys.argv[4]), int(sys.argv[5]))
            browser.open(pathlib.Path(sys.argv[2]).resolve())
            pathlib.Path(sys.argv[3]).write_bytes(browser.picture(whole=False))
        made = list(examples(sys.argv[1], folder)) if len(sys.argv) == 2 else []
        if made and numpy and "libheed-model" in pages.run(sys.argv[1], "--version").stdout.decode():
            made += of_model(sys.argv[1], folder)
        for path in made:
            for check in (looks, keys, without_scripts):
                failed += [f"{path.name}: {what}" for what in check(browser, path)]
        browser.close()
    print("\n".join(failed) or "no trouble")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
