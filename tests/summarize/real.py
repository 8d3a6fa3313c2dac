#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Summaries of real files, those that the machine's packages install: real.py HEED-SUMMARIZE
[--others N]

Of each file, at two lengths, no sentence may be a heading, a reference, a badge, have the number of
a list, be half a sentence, or point back to what the summary leaves out. What these are is said
here again, by other means than the program's: from the file's lines and tags. Files that are not
there are left out; with fewer than LEAST the test is skipped. --others: of N files of
/usr/share/doc and N manual pages that are not in the lists, drawn by chance, the faults are
printed and are no failure.
"""

import gzip
import html
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

LEAST = 20
LENGTHS = (60, 120)
SKIP = 77
TEXTS = pathlib.Path(__file__).resolve().parent.parent.parent / "examples/texts"
LICENSES = [f"/usr/share/common-licenses/{name}" for name in
            ("Apache-2.0", "Artistic", "BSD", "CC0-1.0", "GFDL-1.3", "GPL-2", "GPL-3", "LGPL-2.1",
             "LGPL-3", "MPL-2.0")]
PAGES = [("1", name) for name in ("bash", "cmake", "curl", "dash", "find", "gcc", "git-rebase",
                                  "grep", "gzip", "ls", "make", "perl", "sed", "tar", "xz")]
PAGES += [("2", "fork"), ("3", "printf"), ("5", "ssh_config"), ("7", "man-pages"), ("7", "regex"),
          ("8", "adduser"), ("8", "apt-get")]
DOCS = [f"/usr/share/doc/{name}" for name in (
    "adduser/README.gz", "base-passwd/README", "base-passwd/users-and-groups.html", "bc/bc.html",
    "bzip2/manual.html", "ccache/manual.html", "coreutils/README.gz", "dbus/README.gz",
    "debian-policy/policy.html", "dpkg/spec/triggers.txt", "fontconfig/fontconfig-user.html",
    "fp-compiler/3.2.2/faq.html", "gcc-12-base/README.Bugs", "gdb/README.gz",
    "git/RelNotes/2.30.0.txt", "gzip/README.gz", "libbenchmark-dev/benchmark/user_guide.md.gz",
    "libevent-dev/whatsnew-2.0.txt.gz", "libexpat1-dev/expat.html/reference.html",
    "libgmp-dev/NEWS.gz", "libgnutls30/README.md.gz", "libjpeg-dev/README.ijg.gz",
    "libjpeg62-turbo-dev/usage.txt.gz", "libpng16-16/libpng-manual.txt.gz", "man-db/FAQ",
    "nettle-dev/nettle.html", "ninja-build/manual.html", "nodejs/api/esm.html",
    "nodejs/api/stream.html", "openssh-client/README", "postgresql-common/README.md.gz",
    "procps/FAQ.gz", "python3/python-policy.html", "python3/python-policy.txt.gz",
    "qemu-user/user/main.html", "shared-mime-info/shared-mime-info-spec.html/x34.html",
    "systemd/README.gz", "time/time.html", "valgrind/html/faq.html", "valgrind/html/mc-manual.html",
    "yq/README.rst.gz", "zlib1g-dev/FAQ.gz", "zlib1g-dev/algorithm.txt.gz",
    "zlib1g-dev/examples/zlib_how.html", "zstd/README.md.gz")]
PRINTED = [f"/usr/share/doc/{name}" for name in (
    "bzip2/manual.pdf.gz", "debian-policy/policy.pdf.gz", "fontconfig/fontconfig-user.pdf.gz",
    "gnucobol3/gnucobol.pdf.gz", "libtasn1-doc/libtasn1.pdf", "nettle-dev/nettle.pdf.gz",
    "shared-mime-info/shared-mime-info-spec.pdf", "valgrind/valgrind_manual.pdf.gz",
    "zlib1g-dev/crc-doc.1.0.pdf.gz")] + ["/usr/share/doc/debian-policy/policy.epub",
                                         "/usr/share/docutils/writers/odf_odt/styles.odt"]
PACKED = (".pdf", ".docx", ".odt", ".epub")
OWN = [str(TEXTS / name) for name in ("en-article.md", "en-talk.txt", "en-thread.mbox")]

END = r"[.!?…][\"'”’)\]*_`]*$"
NUMBER = r"^(\(?\d+(\.\d+)*[.)]|\(?[A-Za-z][.)]|[-*•·–])\s|[.!?]\s+\(?\d+(\.\d+)*[.)]?$"
REFERENCE = (r"https?://|www\.|^(please )?(see|refer to|consult)\b|^\[\d+\]|\bet al\.,? |\bpp\. \d|"
             r"\bIn (Proceedings|Proc\.|International Conference)|^([\w.-]+\(\d\w*\)(, |\.$)){2,}")
BADGE = r"!\[|shields\.io|\bbadge\b.*\bsvg\b|\.svg\b"
COPYRIGHT = r"^copyright\b|©|\(c\) (19|20)\d\d"
ABBREVIATED = r"\b(e\.g|i\.e|vs?|cf|Figs?|No|Dr|Mrs?|pp)\.$"
SMALL_START = r"^(a|an|the|of|to|in|on|by|for|from|with|and|or|but|which|that|if|as|is|are)\b"
BACK = (r"^(This|These|Those|Both) (?!(document|manual|man ?page|page|file|guide|paper|report|"
        r"article|book|chapter|licen[sc]e|package|program|library|tool|project|readme|section|"
        r"appendix|release|version|software|specification|policy|command|utility|script|module|"
        r"daemon)\b)|"
        r"^(It|They|He|She|But|And|However|Therefore|Thus|Hence|Otherwise|Furthermore|Moreover|"
        r"Consequently)\b|^The (second|third|former|latter|other) (is|are|was|has|to)\b")


def words_of(text):
    return " ".join(text.split())


def untagged(text):
    return words_of(html.unescape(re.sub(r"<[^>]*>", "", text)))


def headings_of(name, text):
    """Headings by tags, or by lines: underlined, with hashes or numbers, at the margin of a manual."""
    if name.endswith(".html"):
        for found in re.finditer(r"(?is)<(h[1-6]|title|dt|summary)\b[^>]*>(.*?)</\1>", text):
            yield untagged(found.group(2))
        return
    if name.endswith(PACKED):
        return                                 # see faults(): by how they are written
    lines = text.split("\n")
    for i, line in enumerate(lines):
        behind = lines[i + 1] if i + 1 < len(lines) else ""
        alone = not behind.strip() and (i == 0 or not lines[i - 1].strip())
        if name.endswith(".man"):
            if re.match(r" {0,3}\S", line) and line.strip():
                yield words_of(line)
        elif re.match(r"#+ ", line):
            yield words_of(line.strip("# "))
        elif re.match(r"\s*(=|-|~){4,}\s*$", behind) and line.strip():
            yield words_of(line)
        elif alone and re.match(r"\s*\d+(\.\d+)*\.?\s+\S", line) and len(line.split()) <= 13:
            yield re.sub(r"^[\d.]+\s+", "", words_of(line))


def begins_within(sentence, text):
    """Whether it stands in the text only behind what ends no sentence, and no line begins with it."""
    pattern = r"\s+".join(re.escape(word) for word in sentence.split())
    found = list(re.finditer(pattern, text))
    for one in found:
        line = text.rfind("\n", 0, one.start()) + 1
        before = text[:one.start()].rstrip()
        if not before or re.search(r"[.!?:;…>][\"'”’)\]*_`/]*$", before):
            return False
        if not re.search(r"[A-Za-z]", text[line:one.start()]) and not sentence[0].islower():
            return False
        if re.search(r"(\s{3}|\t)$", text[line:one.start()]) or text[:one.start()].endswith("\n\n"):
            return False
    return bool(found)


def is_title(sentence):
    """Every word that is not small has a capital, and there are some."""
    words = [word for word in re.findall(r"[^\W\d_]+", sentence) if len(word) > 4]
    return len(words) > 2 and len(sentence.split()) < 12 and \
        all(word[0].isupper() and not word.isupper() for word in words)


def faults(name, text, sentences):
    """(what, sentence) of those that a summary should not have."""
    headings = {one for one in headings_of(name, text) if one}
    chosen = {one["index"] for one in sentences}
    talk = any("speaker" in one for one in sentences)
    for one in sentences:
        said = one["text"]
        if said in headings or said.rstrip(".") in headings or is_title(said):
            yield "heading", said
        if re.search(NUMBER, said):
            yield "number", said
        if re.search(BADGE, said):
            yield "badge", said
        if re.search(COPYRIGHT, said, re.I):
            yield "copyright", said
        if not re.search(END, said) or re.search(ABBREVIATED, said) or re.match(SMALL_START, said):
            yield "half", said
        if talk:                               # people speak in halves
            continue
        if re.search(REFERENCE, said, re.I):
            yield "reference", said
        if (said.count("(") != said.count(")") or said.count("[") != said.count("]") or
                said.count('"') % 2 or said.count("“") != said.count("”") or
                (not name.endswith((".html", *PACKED)) and begins_within(said, text))):
            yield "half", said
        if re.match(BACK, said) and one["index"] - 1 not in chosen:
            yield "points back", said


def others(n):
    """Texts, one of a package, and pages that are not in the lists."""
    draw, texts = random.Random(4), {}
    found = [path for path in sorted(pathlib.Path("/usr/share/doc").rglob("*"))
             if re.match(r"(readme|faq)|.*\.(html|md|rst|txt|pdf|epub|odt|docx)(\.gz)?$",
                         path.name.lower())
             and not re.search("changelog|CMakeLists", path.name) and str(path) not in (*DOCS, *PRINTED)
             and path.is_file() and not path.is_symlink()
             and 3000 < path.stat().st_size < 400000]
    pages = [path.name[:-3] for path in sorted(pathlib.Path("/usr/share/man").glob("man[1578]/*.gz"))
             if not path.is_symlink() and path.stat().st_size > 1500]
    draw.shuffle(found)
    for path in found:
        texts.setdefault(path.parts[4], str(path))
    pages = [tuple(reversed(name.rsplit(".", 1))) for name in draw.sample(pages, min(n, len(pages)))]
    return list(texts.values())[:n], [page for page in pages if page not in PAGES]


def readable(program, paths):
    """Of the paths, those of formats that the program was built with."""
    told = subprocess.run([program, "--version"], check=True, stdout=subprocess.PIPE).stdout.decode()
    lacks = [line.split()[0] for line in told.split("\n") if "built without" in line]
    return [path for path in paths if not re.search(rf"\.({'|'.join(lacks) or '-'})(\.gz)?$", path)]


def files(folder, texts, pages):
    """(name, path that the program reads) of the files that are there."""
    for where in texts:
        path = pathlib.Path(where)
        if not path.is_file():
            continue
        if path.suffix == ".gz":
            path = folder / "_".join(path.parts[-2:])[:-3]
            path.write_bytes(gzip.decompress(pathlib.Path(where).read_bytes()))
        yield path.name, path
    for section, page in pages if shutil.which("man") else ():
        shown = subprocess.run(["man", "-P", "cat", section, page], check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
        if shown.returncode == 0 and len(shown.stdout) > 1000:
            path = folder / f"{page}.{section}.man"
            path.write_bytes(shown.stdout)
            yield path.name, path


def main():
    program, count, sentences, found = sys.argv[1], 0, 0, []
    drawn = others(int(sys.argv[3])) if sys.argv[2:3] == ["--others"] else None
    with tempfile.TemporaryDirectory() as folder:
        for name, path in files(pathlib.Path(folder),
                                *(drawn or ([*LICENSES, *DOCS, *OWN, *readable(program, PRINTED)], PAGES))):
            count += 1
            text = path.read_bytes().decode("utf-8", errors="replace")
            for words in LENGTHS:
                done = subprocess.run([program, "--json", "--words", str(words), path], check=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                said = json.loads(done.stdout)["sentences"]
                sentences += len(said)
                if not said:
                    found.append((name, "nothing", ""))
                found += [(name, *fault) for fault in faults(name, text, said)]
    if count < LEAST:
        print(f"skipped: of the files that packages install only {count} are here")
        return SKIP
    for name, what, text in dict.fromkeys(found):
        print(f"{name}: {what}: {text}")
    print(f"{count} files, {sentences} sentences, {len(set(found))} faults")
    return 1 if found and not drawn else 0


if __name__ == "__main__":
    sys.exit(main())
