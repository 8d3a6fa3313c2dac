#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The page that --html writes: page.py HEED-SUMMARIZE

Of every second file in the folder files, and of texts that mean harm: the page has only the tags
and attributes that are known here, no script, no address outside itself, ids once, links that lead
somewhere, the sentences of the JSON with those of the summary marked, and a policy that admits
nothing but its style. The page is written wholly or not at all. And docs/summarizer.md names every
option of --help and every field of the JSON.
"""

import base64
import hashlib
import html.parser
import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import tempfile

try:
    import html5lib
except ImportError:
    html5lib = None

VOID = {"meta"}
KNOWN = {
    "html": {"lang"}, "head": set(), "meta": {"charset", "http-equiv", "content", "name"},
    "title": set(), "style": set(), "body": set(), "header": {"lang"}, "h1": set(),
    "h2": {"id", "lang"}, "h3": {"id"}, "bdi": set(), "b": set(), "main": set(),
    "div": {"class"}, "section": {"id"}, "nav": {"id", "aria-label"}, "details": {"open"},
    "summary": {"lang"}, "ol": set(), "ul": {"class"}, "li": {"class"}, "p": {"class", "lang"},
    "a": {"class", "lang", "href", "id", "tabindex"}, "small": {"lang"},
    "span": {"id", "lang"}, "mark": {"id"}, "i": {"class", "data-n"}, "pre": set(),
    "blockquote": set(), "article": {"id", "tabindex"}, "figure": {"id", "lang"},
    "figcaption": set(), "svg": {"class", "viewbox", "preserveaspectratio", "role", "aria-label",
                                 "aria-hidden", "font-size"},
    "rect": {"class", "x", "y", "width", "height"}, "path": {"class", "d"},
    "text": {"x", "y", "text-anchor"},
}
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
                    "\U000e0000-\U000e007f]")
HARM = "<script>alert(1)</script> \"><img src=x onerror=alert(2)> ' &lt;b&gt; --> ]]> \u202e\u2066 "


def joined(text):
    """Without white space, which a page may break; what HTML has no place for is U+FFFD."""
    return re.sub("[\ufdd0-\ufdef\ufffe\uffff\U0001ffff]", "\ufffd", re.sub(r"\s+", "", text))


class Page(html.parser.HTMLParser):
    """What a page has: ids, links, texts by id, and what is wrong with its form."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.faults = [], [], [], []
        self.texts, self.tags, self.meta, self.lang = {}, {}, {}, None
        self.style = ""
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag, _ in self.open]

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        more = set(given) - KNOWN.get(tag, set())
        if tag not in KNOWN or more or len(given) < len(attrs):
            self.faults.append(f"<{tag}> with {sorted(given)}")
        self.lang = given.get("lang") if tag == "html" else self.lang
        if tag == "meta":
            self.meta[given.get("name") or given.get("http-equiv")] = given.get("content")
        if "href" in given:
            self.links.append(given["href"])
        if "id" in given:
            self.ids.append(given["id"])
            self.tags[given["id"]] = tag
            self.texts[given["id"]] = ""
        if tag not in VOID:
            self.open.append((tag, given.get("id")))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.faults.append(f"</{tag}> within {self.open[-2:]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        for tag, name in self.open:
            self.style += data if tag == "style" else ""
            if name:
                self.texts[name] += data

    def handle_comment(self, data):
        self.faults.append(f"a comment: {data}")


def form(text, page):
    """What is wrong, whatever the document."""
    yield from page.faults
    yield from (f"the id {name} is there twice" for name in set(page.ids)
                if page.ids.count(name) > 1)
    yield from (f"{link} leads nowhere" for link in set(page.links)
                if not link.startswith("#") or link[1:] not in page.ids)
    if HIDDEN.search(text):
        yield f"has {HIDDEN.search(text)[0]!r}"
    digest = base64.b64encode(hashlib.sha256(page.style.encode()).digest()).decode()
    policy = (page.meta.get("Content-Security-Policy") or "").split("; ")
    if policy[:2] != ["default-src 'none'", f"style-src 'sha256-{digest}'"] or len(policy) != 4:
        yield f"the policy is {policy}; the style's hash is sha256-{digest}"
    if "<script" in text.lower() or "@import" in text or "url(" in page.style:
        yield "has a script, or loads something"
    if html5lib:
        try:
            html5lib.HTMLParser(strict=True).parse(text)
        except html5lib.html5parser.ParseError as error:
            yield f"html5lib: {error}"


def content(page, told, whole):
    """What differs from the JSON of the same run."""
    chosen = {one["index"] for one in told["sentences"] if one["chosen"]}
    marked = {int(name[1:]) for name, tag in page.tags.items() if tag == "mark"}
    listed = {int(name[1:]) for name in page.ids if re.fullmatch(r"c\d+", name)}
    if marked != chosen or listed != chosen:
        yield f"chosen {sorted(chosen)}, marked {sorted(marked)}, listed {sorted(listed)}"
    if page.lang != told["document"]["language"]:
        yield f"lang is {page.lang}"
    for one in told["sentences"]:
        shown, words = page.texts.get(f"s{one['index']}"), joined(one["text"])
        cut = words.endswith("…") and one["chosen"]
        if shown is None and not whole and not one["chosen"]:
            continue
        if shown is None or not (joined(shown) == words or
                                 (cut and joined(shown).startswith(words[:-1]))):
            yield f"sentence {one['index']} is {shown!r}, not {one['text']!r}"
        if one["chosen"] and joined(page.texts.get(f"c{one['index']}", "")) != words:
            yield f"the summary has not {one['text']!r}"


def run(program, *arguments, status=0, stdin=None):
    done = subprocess.run([program, *arguments], check=False, input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120)
    if done.returncode != status:
        raise SystemExit(f"{arguments}: exit {done.returncode}: {done.stderr.decode()}")
    if status and (done.stdout or done.stderr.count(b"\n") != 1):
        raise SystemExit(f"{arguments}: {done.stdout} {done.stderr}")
    return done


def troubles(program, paths, folder, *options):
    target = folder / "page.html"
    done = run(program, "--json", "--explain", "--html", target, *options, *paths)
    text = target.read_text("utf-8")
    page, told = Page(text), json.loads(done.stdout)
    yield from form(text, page)
    yield from content(page, told, told["document"]["sentences"] <= 5000)
    if "attention" not in page.ids and told["document"]["sentences"] > 1:
        yield "there is no attention"


def harmful(folder):
    """Texts that try to get out of their place, and names of files that do."""
    talk = "".join(f"{HARM}: We agree on {i} {HARM}.\n\n" for i in range(9))
    for name, text in (
            ("talk.txt", "Ann <b>: I say <i>this</i> here now.\nBob: & that is \"all\".\n" + talk),
            ("head.md", f"# {HARM}\n\nText {HARM} goes on here. More of it.\n\n## {HARM}\n\nEnd.\n"
                        f"\n```\n{HARM}\n</pre>\n{'x' * 400}\n```\n\nThe word {'y' * 300} is "
                        f"long.\n\n> {HARM}\n\n- item {HARM}.\n"),
            ("site.html", f"<h1>&lt;script&gt;alert(1)&lt;/script&gt;</h1><p>{HARM} says it. "
                          "A second one &lt;/span&gt;&lt;/mark&gt; here.</p><pre>&lt;/pre></pre>"),
            ("<img src=x onerror=alert(3)>\u202e'\"&.txt", "A name may do harm. It does not.\n"),
            ("non.txt", "Not a character: \ufdd0 \ufffe \U0001ffff here. \u2028And more of it.\n"),
            ("one.txt", "word " * 300 + "\n"), ("empty.txt", "")):
        path = folder / name
        path.write_text(text, encoding="utf-8")
        yield path
    path = folder / "bad.txt"
    path.write_bytes(b"Bytes \xc3( that are no text. They are \xf0\x9f told.\n" * 3)
    yield path


def long_text(path):
    """More sentences than a page shows."""
    words = "river bridge harbour council budget winter engine garden letter museum".split()
    with path.open("w", encoding="utf-8") as to:
        for i in range(6500):
            if i % 500 == 0:
                to.write(f"# Part {i // 500}\n\n")
            to.write(f"The {words[i % 10]} of {words[i * 7 % 9]} number {i} is {words[i % 7]}.\n\n")
    return path


def long_ones(program, folder):
    path = long_text(folder / "long.md")
    yield from troubles(program, [path], folder)
    text = (folder / "page.html").read_text("utf-8")
    shown = len(re.findall(r'id="s\d+"', text))
    if not 100 < shown < 1500 or "sentences not shown" not in text or len(text) > 400000:
        yield f"{shown} of 6500 sentences, {len(text)} bytes"
    if len(re.findall(r'<h3 id="h\d+"', text)) != 13:
        yield "not all headings of a long text are there"


def several(program, paths, folder):
    """One page of several files names each, in the document and in the list of sections."""
    yield from troubles(program, paths, folder)
    page = Page((folder / "page.html").read_text("utf-8"))
    for number, path in enumerate(paths):
        if page.texts.get(f"f{number}") != path.name or f"#f{number}" not in page.links:
            yield f"{path.name} is not named"


def expect(good, what):
    if not good:
        raise SystemExit(what)


def writing(program, path, folder):
    """Where the page goes, and what stays when it cannot go there."""
    page = run(program, "--html", "-", path).stdout
    target = folder / "out.html"
    expect(page.startswith(b"<!DOCTYPE html>"), "- is standard output")
    expect(run(program, "--html", target, path).stdout == run(program, path).stdout, "text stays")
    expect(target.read_bytes() == page, "a file has another page than standard output")
    expect(not run(program, "--quiet", "--html", target, path).stdout, "--quiet prints nothing")
    run(program, "--quiet", path, status=2)         # nobody would get anything
    expect(stat.S_IMODE(target.stat().st_mode) & 0o044, "others cannot read the page")
    (folder / "link.html").symlink_to(target)
    target.write_text("old", encoding="utf-8")
    target.chmod(0o600)
    run(program, "--html", folder / "link.html", path)
    expect((folder / "link.html").is_symlink() and target.read_bytes() == page, "a link stays")
    expect(stat.S_IMODE(target.stat().st_mode) == 0o600, "the mode stays")
    run(program, "--html", "/dev/null", path)
    expect(stat.S_ISCHR(os.stat("/dev/null").st_mode), "a device stays")
    run(program, "--html", folder / "no" / "x.html", path, status=1)
    run(program, "--html", folder, path, status=1)
    if os.path.exists("/dev/full"):
        run(program, "--html", "/dev/full", path, status=1)
    run(program, "--html", "-", "--json", path, status=2)
    run(program, "--html", status=2)
    copy = folder / "copy.txt"
    copy.write_bytes(path.read_bytes())
    run(program, "--html", copy, copy, status=2)
    expect(copy.read_bytes() == path.read_bytes(), "what is read is not written over")
    target.write_text("old", encoding="utf-8")
    run(program, "--html", target, "--attention", "nosuch", path, status=2)
    run(program, "--html", target, folder / "nosuch.txt", status=2)
    expect(target.read_text("utf-8") == "old", "a failure leaves the old page")
    left = [one.name for one in folder.iterdir() if re.search(r"\.html\.\w{6}$", one.name)]
    expect(not left, f"left behind: {left}")
    asked = run(program, "--html", "-", "--keywords", "3", "--query", HARM + "bridge harbour the",
                folder / "long.md")
    faults = list(form(asked.stdout.decode(), Page(asked.stdout.decode())))
    expect(not faults and b"said about: <bdi>&lt;script" in asked.stdout, f"query: {faults}")
    expect(asked.stdout.count(b"Keywords: <bdi>") == 1, "keywords are on the page")
    expect(run(program, "--html", "-", "-", stdin=path.read_bytes()).stdout
           .count(b"standard input") == 2, "standard input has its name")


def kept(program, path, folder):
    """What is not the page's to replace stays: what is read as standard input, and links."""
    copy = folder / "stdin.txt"
    copy.write_bytes(path.read_bytes())
    with open(copy, "rb") as stdin:
        done = subprocess.run([program, "--html", copy, "-"], stdin=stdin, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(done.returncode == 2 and copy.read_bytes() == path.read_bytes(),
           "standard input is written over")
    link, target = folder / "to-nothing.html", folder / "not-yet.html"
    link.symlink_to(target)
    run(program, "--html", link, path)
    expect(link.is_symlink() and target.read_bytes().startswith(b"<!DOCTYPE html>"),
           "a link to nothing stays a link")


def ended(program, path, folder):
    """A signal in the middle of the page leaves the old one and nothing else: SIGXFSZ comes when a
    file is longer than it may be, which is surely within the page."""
    own = folder / "ended"
    own.mkdir()
    page = own / "page.html"
    page.write_text("old", encoding="utf-8")
    done = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -c 0; ulimit -f 4; exec "$0" --html "$1" "$2"',
         program, page, path],
        check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    expect(done.returncode == -signal.SIGXFSZ, f"ended by {done.returncode}, not by the signal")
    expect([one.name for one in own.iterdir()] == ["page.html"], "a signal leaves files behind")
    expect(page.read_text("utf-8") == "old", "a signal leaves the old page")


def fields(value):
    if isinstance(value, dict):
        yield from value
    for one in value.values() if isinstance(value, dict) else value \
            if isinstance(value, list) else []:
        yield from fields(one)


def documented(program, files):
    text = (pathlib.Path(__file__).parents[2] / "docs/summarizer.md").read_text("utf-8")
    told = run(program, "--help").stdout.decode()
    names = set(re.findall(r"^  (--[a-z-]+)", told, re.MULTILINE)) - {"--version"}
    for more in (["--explain"], ["--query", "the ferry of the harbour", "--by-section"],
                 ["--keywords", "2"]):
        names |= set(fields(json.loads(run(program, "--json", *more, *files).stdout)))
    yield from (f"docs/summarizer.md has not {name}" for name in sorted(names)
                if not re.search(rf"`{name}[ `]", text))


def main():
    program = sys.argv[1]
    files = sorted((pathlib.Path(__file__).parent / "files").iterdir())[::2]
    failed, pages = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number, path in enumerate([*files, *harmful(folder)]):
            options = [[], ["--words", "12"], ["--attention", "lsg"]][number % 3]
            failed += [f"{path.name} {options}: {what}"
                       for what in troubles(program, [path], folder, *options)]
            pages += 1
        failed += [f"several: {what}" for what in several(program, files[:4], folder)]
        texts = [path for path in files if path.name.startswith("en-")]
        failed += [*documented(program, texts[:1]), *documented(program, texts)]
        failed += [f"long: {what}" for what in long_ones(program, folder)]
        writing(program, files[0], folder)
        kept(program, files[0], folder)
        ended(program, files[0], folder)
    print("\n".join(failed))
    print(f"{pages + 1} pages, {len(failed)} troubles" + ("" if html5lib else ", no html5lib"))
    return 1 if failed or pages < 35 else 0


if __name__ == "__main__":
    sys.exit(main())
