#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Renders headers and pages to HTML: render.py TOP OUT

The pages of docs/ go to OUT/source, with their links led to where the site has what they name; a
header has a page that doxygen and Breathe make of its comments, another file of the tree is shown
as it is. OUT/html is the site. Any warning, a public name without a text and a broken link are
failures: exit status 1. 77: what renders is not installed (scripts/setup --docs).
"""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import xml.etree.ElementTree

import links

HERE = pathlib.Path(__file__).resolve().parent
LINK = re.compile(r"(\]\()([^)\s:#]+)(#[^)\s]*)?(\))")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"`(heed_\w+|HEED_\w+)(\(\))?`")
# The pages, in the order of the table of contents. Every page of docs/ is in one of the lists.
CONTENTS = [
    ("", ["README.md", "docs/guide.txt"]),
    ("Using heed", ["docs/manual.md", "docs/mechanisms.md", "docs/systems.md", "docs/python.md",
                    "docs/mpi.md", "docs/ggml.md", "docs/backends.md", "docs/summarizer.md", "docs/models.md"]),
    ("Testing and adding", ["docs/testing-kernels.md", "docs/adding.md", "docs/architecture.md",
                            "docs/style.md", "CONTRIBUTING.md"]),
    ("Specification and evidence", ["docs/numerics.md", "docs/decisions.md", "docs/benchmarks.md",
                                    "docs/judgements.md", "docs/measurements", "CHANGELOG.md",
                                    "SECURITY.md"]),
]
FIRST = "docs/index.md"
ROLES = {"function": "func", "define": "macro", "enumvalue": "enumerator", "typedef": "type",
         "struct": "struct"}
LANGUAGES = {".c": "c", ".h": "c", ".cl": "c", ".py": "python"}


class Site:
    def __init__(self, top, out):
        self.top, self.source, self.xml = top, out / "source", out / "xml"
        self.roles = {}                 # of each public name
        self.shown = set()              # files of the tree that a page shows

    # ---- headers ----

    def read_headers(self):
        """Runs doxygen; what it complains of."""
        settings = (HERE / "Doxyfile").read_text("utf-8")
        settings += (f"INPUT = {self.top / 'include/heed'}\nOUTPUT_DIRECTORY = {self.xml.parent}\n"
                     f"STRIP_FROM_PATH = {self.top / 'include'}\n")
        done = subprocess.run(["doxygen", "-"], input=settings, text=True, check=True,
                              stderr=subprocess.PIPE)
        for path in self.xml.glob("*_8h.xml"):
            for member in xml.etree.ElementTree.parse(path).iter("memberdef"):
                if member.get("kind") in ROLES:
                    self.roles[member.findtext("name")] = ROLES[member.get("kind")]
                for value in member.iter("enumvalue"):
                    self.roles[value.findtext("name")] = "enumerator"
        for path in self.xml.glob("struct*.xml"):
            self.roles[xml.etree.ElementTree.parse(path).findtext(".//compoundname")] = "struct"
        return [line for line in done.stderr.splitlines() if not self.spoken_of(line)]

    @staticmethod
    def spoken_of(warning):
        """Does it lack a text of a member, of which the comment of its line speaks, which doxygen
        gives to the last member of the line, or another comment of its header?"""
        match = re.match(r"(.*\.h):(\d+): warning: Member (\w+).* \(variable\) of struct", warning)
        if not match:
            return False
        text = pathlib.Path(match[1]).read_text("utf-8")
        comments = " ".join(re.findall(r"/\*.*?\*/", text, re.DOTALL))
        return "/**<" in text.splitlines()[int(match[2]) - 1] or match[3] == "reserved" or \
            match[3] in re.findall(r"\w+", comments)

    # ---- pages ----

    def place(self, path):
        """Where the site has a file or folder of the tree."""
        if path == FIRST:
            return "index.md"
        if path == "README.md":
            return "readme.md"
        if path.startswith("include/heed/") and path.endswith(".h"):
            return f"headers/{pathlib.Path(path).stem}.md"
        if path.startswith("docs/") and path.endswith((".md", ".svg", ".png", ".txt")):
            return path[len("docs/"):].replace(".txt", ".md")
        if path == "docs/measurements":
            return "measurements/index.md"
        if path in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
            return path.lower()
        self.shown.add(path)
        return f"tree/{path}/index.md" if (self.top / path).is_dir() else f"tree/{path}.md"

    def led(self, text, path):
        """A text with links to where the site has things, and with public names as links."""
        own = pathlib.Path(self.place(path)).parent

        def link(match):
            named = (self.top / path).parent / match[2]
            to = os.path.relpath(os.path.normpath(named), self.top)
            if to.startswith("..") or not named.exists():
                raise SystemExit(f"{path}: there is no {match[2]}")
            return match[1] + os.path.relpath(self.place(to), own) + (match[3] or "") + match[4]

        def name(match):
            role = self.roles.get(match[1])
            return f"{{c:{role}}}`{match[1]}`" if role else match[0]

        kept = []
        text = CODE.sub(lambda match: kept.append(match[0]) or f"\0{len(kept) - 1}\0", text)
        text = LINK.sub(link, text)
        # An anchor that is written as HTML is one that Sphinx does not know.
        text = re.sub(r"\[([^]]+)\]\(#([\w-]+)\)", lambda match: f'<a href="#{match[2]}">{match[1]}</a>'
                      if f'id="{match[2]}"' in text else match[0], text)
        kept = [self.bare(span) if span.startswith("```") else NAME.sub(name, span)
                for span in kept]
        return re.sub("\0(\\d+)\0", lambda match: kept[int(match[1])], text)

    @staticmethod
    def bare(block):
        """A block of code without the indentation that it has in its file."""
        first, *body, last = block.splitlines()
        return "\n".join([first, textwrap.dedent("\n".join(body)), last])

    def write(self, place, text):
        path = self.source / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def page(self, path):
        text = (self.top / path).read_text("utf-8")
        if path.endswith(".txt"):       # the guide: its chapters are numbered lines
            text = "# " + re.sub(r"(?m)^(?=\d+\. [A-Z].*\n\n)", "## ", text)
        self.write(self.place(path), self.led(text, path))

    def contents(self, caption, places):
        """A table of contents in the margin."""
        return ("```{toctree}\n:hidden:\n" + (f":caption: {caption}\n" if caption else "") +
                "".join(f"/{place[:-len('.md')]}\n" for place in places) + "```\n")

    def put(self):
        for path in (self.top / "docs").rglob("*"):
            if path.suffix in (".svg", ".png"):
                to = self.source / path.relative_to(self.top / "docs")
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)
        headers = sorted(path.name for path in (self.top / "include/heed").glob("*.h"))
        for name in headers:
            # The label is doxygen's for the file: comments name headers.
            self.write(f"headers/{name[:-2]}.md", f"({name[:-2]}_8h)=\n# heed/{name}\n\n"
                       f"```{{doxygenfile}} {name}\n```\n")
        pages = [path for _, paths in CONTENTS for path in paths]
        written = [path.relative_to(self.top).as_posix() for path in (self.top / "docs").rglob("*.md")]
        measured = sorted((path for path in written if "/measurements/" in path), reverse=True)
        left = set(written) - set(pages) - set(measured) - {FIRST}
        if left:
            raise SystemExit(f"render.py lists no {', '.join(sorted(left))}")
        for path in [FIRST, *measured, *(path for path in pages if path != "docs/measurements")]:
            self.page(path)
        self.write("measurements/index.md", "# Measurements\n\nNewest first. A page names its "
                   "machine and its commands.\n\n```{toctree}\n" +
                   "".join(f"/{self.place(path)[:-3]}\n" for path in measured) + "```\n")
        with open(self.source / "index.md", "a", encoding="utf-8") as index:
            for caption, paths in CONTENTS:
                index.write("\n" + self.contents(caption, map(self.place, paths)))
            index.write("\n" + self.contents("Headers", [f"headers/{name[:-2]}.md"
                                                        for name in headers]))
        self.show()

    def show(self):
        """Files of the tree that pages name, and those of folders that they name."""
        for path in sorted(self.shown):
            if (self.top / path).is_dir():
                for file in (self.top / path).iterdir():
                    if file.is_file():
                        self.place(file.relative_to(self.top).as_posix())
        for path in sorted(self.shown):
            head = f"---\norphan: true\n---\n\n# {path}\n\n"
            file = self.top / path
            if file.is_dir():
                rows = [f"- [{one.name}]({one.name}.md)\n" for one in sorted(file.iterdir())
                        if one.is_file()]
                self.write(self.place(path), head + "".join(rows))
            elif file.name == "README.md":
                self.write(self.place(path), head + self.led(file.read_text("utf-8"), path))
            else:
                language = LANGUAGES.get(file.suffix, "text")
                self.write(self.place(path), f"{head}````{language}\n"
                           f"{file.read_text('utf-8', 'replace')}\n````\n")


def lacking():
    tools = {"doxygen": "doxygen", "sphinx-build": "python3-sphinx"}
    yield from (package for tool, package in tools.items() if not shutil.which(tool))
    if shutil.which("sphinx-build"):
        modules = {"breathe": "python3-breathe", "myst_parser": "python3-myst-parser",
                   "furo": "furo"}
        with open(shutil.which("sphinx-build"), encoding="utf-8") as script:
            python = script.readline()[2:].split()
        for module, package in modules.items():
            if subprocess.run([*python, "-c", f"import {module}"], check=False,
                              stderr=subprocess.DEVNULL).returncode:
                yield package


def main():
    top, out = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    needed = list(lacking())
    if needed:
        print(f"docs: missing (Debian's names): {' '.join(needed)}: scripts/setup --docs")
        return 77
    for part in ("source", "xml", "html", "trees"):
        shutil.rmtree(out / part, ignore_errors=True)
    (out / "source").mkdir(parents=True)
    site = Site(top, out)
    version = re.search(r"version: '([\d.]+)'", (top / "meson.build").read_text("utf-8"))[1]
    faults = site.read_headers()
    site.put()
    shutil.copytree(HERE / "static", out / "source/static")
    print("\n".join(faults), end="\n" if faults else "")
    done = subprocess.run(
        ["sphinx-build", "-q", "-n", "-W", "--keep-going", "-b", "html", "-c", HERE,
         "-d", out / "trees", out / "source", out / "html"], check=False,
        env={**os.environ, "HEED_XML": str(site.xml), "HEED_VERSION": version,
             "PYTHONDONTWRITEBYTECODE": "1"})
    if not (out / "html/index.html").is_file():
        return 1
    broken, followed, elsewhere = links.check(out / "html")
    print("\n".join(broken), end="\n" if broken else "")
    print(f"{out / 'html/index.html'}: {len(list((out / 'html').rglob('*.html')))} pages; "
          f"{followed} links, {len(broken)} broken, {elsewhere} to other hosts not followed; "
          f"{len(site.roles)} public names, {len(faults)} without a text")
    return 1 if faults or broken or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
