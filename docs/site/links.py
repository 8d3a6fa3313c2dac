#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Follows every link of a folder of HTML that stays within it: links.py FOLDER | --self-test

A file that is not there, and an anchor that its page does not have, is broken. Exit status 1 if one
is. Links to other hosts are counted and not followed.
"""

import html.parser
import pathlib
import sys
import tempfile
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.anchors, self.links = set(), []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value is not None:
                self.links.append(value)


def check(folder):
    """The broken ones as lines; how many were followed; how many lead elsewhere."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}
    broken, followed, elsewhere = [], 0, 0
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                elsewhere += 1
                continue
            followed += 1
            to = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            anchor = urllib.parse.unquote(parts.fragment)
            # "#" alone is the top of the page.
            if not to.is_file() or (anchor and to in pages and anchor not in pages[to].anchors):
                broken.append(f"{path.relative_to(folder.resolve())}: {link}")
    return broken, followed, elsewhere


def self_test():
    """A file and an anchor that are not there are found, and nothing else."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "a.html").write_text(
            '<p id="here"><a href="#here"></a><a href="b.html#there"></a><a href="https://x.org/y"></a>'
            '<img src="gone.png"><a href="b.html#nowhere"></a><a href="c.html"></a><a href="#"></a>',
            encoding="utf-8")
        (folder / "b.html").write_text('<a name="there"></a><a href="a.html"></a>', encoding="utf-8")
        found = check(folder)
    wanted = (["a.html: gone.png", "a.html: b.html#nowhere", "a.html: c.html"], 7, 1)
    print(found)
    return 0 if found == wanted else 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    broken, followed, elsewhere = check(pathlib.Path(sys.argv[1]))
    print("\n".join(sorted(set(broken))), end="\n" if broken else "")
    print(f"{followed} links, {len(broken)} broken, {elsewhere} to other hosts not followed")
    return 1 if broken or not followed else 0


if __name__ == "__main__":
    sys.exit(main())
