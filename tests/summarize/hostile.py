#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Files that mean harm, made on the fly: hostile.py HEED-SUMMARIZE [--big]

Each is refused with one clear line and exit 2, or has a summary in printable UTF-8 within its budget
and exit 0; never a crash, a signal, more than LIMIT seconds, or more memory than MOST_TIMES its
bytes and MOST_FREE. The long ones have 4 MB, with --big 100 MB.
"""

import base64
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

LIMIT = 60
MOST_FREE, MOST_TIMES = 200 << 20, 3
LONG, BIG = 4 << 20, 100 << 20
BUDGET = 50
LEFT_OUT = "[\N{HORIZONTAL ELLIPSIS}]"      # stands for sentences between
PROSE = "The ferry crosses the bay each morning at nine. Nobody waits for it in winter. "
REFUSED, READ, EITHER = {2}, {0}, {0, 2}


def noise(size, seed):
    return random.Random(seed).randbytes(size)


def header(kind, *more):
    return "\n".join(["From: Ann <a@example.org>", "Subject: x", "MIME-Version: 1.0",
                      f"Content-Type: {kind}", *more, "", ""]).encode()


def binaries():
    for name, magic in [("pdf", b"%PDF-1.7\n"), ("zip", b"PK\3\4"), ("gzip", b"\x1f\x8b\x08"),
                        ("elf", b"\x7fELF\2\1\1"), ("png", b"\x89PNG\r\n\x1a\n"),
                        ("jpeg", b"\xff\xd8\xff\xe0"), ("old-office", b"\xd0\xcf\x11\xe0"),
                        ("rtf", b"{\\rtf1 "), ("xz", b"\xfd7zXZ\0"), ("bzip2", b"BZh9"),
                        ("zstd", b"\x28\xb5\x2f\xfd"), ("postscript", b"%!PS-Adobe"),
                        ("roff", b".TH LS 1\n")]:
        yield name, magic + noise(4000, name), REFUSED
    yield "noise", noise(100000, 1), REFUSED
    yield "noise-behind-text", (PROSE * 2000).encode() + noise(200000, 2), REFUSED
    yield "zeros", bytes(100000), REFUSED
    yield "little-noise", noise(20, 3), EITHER


def encodings():
    text = PROSE * 30
    yield "empty", b"", READ
    yield "one-byte", b"x", READ
    yield "only-space", b" \n\t\r\n" * 1000, READ
    yield "only-marks", b".!?" * 5000, READ
    yield "nuls", text.replace(" each", "\0each").encode(), EITHER
    yield "bad-utf8", text.encode() + b"\xc3\x28\xe2\x82 \xf0\x9f\xed\xa0\x80 end. " * 30, READ
    yield "overlong", b"\xc0\xaf\xe0\x80\xaf" * 3000, READ
    yield "half-utf16", text.encode("utf-16")[:-1], READ
    yield "lone-surrogates", b"\xff\xfe" + b"\x00\xd8" * 5000, READ
    yield "mixed-encodings", text.encode() + "Käse für später. ".encode("latin-1") * 50, READ
    yield "marks-of-order", b"\xef\xbb\xbf" * 1000 + text.encode(), READ
    yield "direction-marks", ("\u202e" + PROSE + "\u2066").encode() * 20, READ
    yield "escapes", ("\x1b[31m" + PROSE + "\x1b]0;title\x07").encode() * 20, READ
    yield "open-escapes", (PROSE + "\x1b]\x1b[\x9d\x9b" * 500000).encode(), READ
    yield "combining", ("e" + "\u0301" * 5000 + " ").encode() * 5, READ
    yield "soft-hyphens", ("so\u00adft " * 3000).encode(), READ
    yield "private", ("\U0010fffd" * 3000).encode(), READ


def markup():
    yield "deep-div", b"<html><body>" + b"<div>" * 200000 + PROSE.encode(), READ
    yield "deep-quotes", b"<html>" + b"<blockquote><p>" * 100000 + PROSE.encode(), READ
    yield "open-comment", b"<html><p>" + PROSE.encode() + b"<!--" * 50000, READ
    yield "open-tag", b"<html><p>" + PROSE.encode() + b"<a href=\"" * 50000, READ
    yield "open-script", b"<html><p>" + PROSE.encode() + b"<script>" + b"</scrip" * 50000, READ
    yield "entities", b"<html><p>" + b"&amp;&#x;&#99999999999;&" * 20000, READ
    yield "end-tags", b"<html>" + b"</div></p>" * 100000 + PROSE.encode(), READ
    yield "stars", b"# A\n\n[a](http://b)\n\n" + b"*a **b " * 20000, READ
    yield "brackets", b"# A\n\n[a](http://b)\n\n" + b"[" * 50000, READ
    yield "deep-list", b"# A\n\n" + b"".join(b" " * i + b"- a\n" for i in range(900)), READ
    yield "deep-markdown-quote", b"# A\n\n[a](http://b)\n" + b">" * 50000 + b" a\n", READ
    yield "backticks", b"# A\n\n```x\n" + b"".join(b"`" * i + b" a\n" for i in range(1, 400)), READ
    yield "wide-table", b"# A\n\n|" + b"a|" * 5000 + b"\n|" + b"-|" * 5000 + b"\n|" + b"b|" * 5000, READ
    yield "references", b"# A\n\n" + b"[a]: b\n" * 10000 + b"[a][a] " * 10000, READ


def mails():
    nested = b"".join(header(f'multipart/mixed; boundary="b{i}"') + b"--b%d\n" % i
                      for i in range(300))
    yield "nested-parts", nested + PROSE.encode(), READ
    yield "many-parts", header("multipart/mixed; boundary=b") + b"--b\n\nText is here.\n" * 20000, READ
    yield "no-boundary", header("multipart/mixed") + PROSE.encode(), READ
    yield "empty-boundary", header('multipart/mixed; boundary=""') + b"--\n--\n" * 1000, READ
    yield "bad-base64", header("text/plain", "Content-Transfer-Encoding: base64") + b"=?@" * 9000, READ
    yield "binary-base64", header("text/plain", "Content-Transfer-Encoding: base64") + \
        base64.encodebytes(noise(30000, 4)), READ
    yield "bad-quoted", header("text/plain", "Content-Transfer-Encoding: quoted-printable") + \
        b"=ZZ=\n=4" * 9000, READ
    yield "bad-charset", header("text/plain; charset=no-such-set") + "Käse. ".encode("latin-1") * 99, \
        READ
    yield "long-header", b"From: " + b"a" * 1000000 + b"\nSubject: " + b"=?utf-8?Q?" * 20000 + \
        b"\n\n" + PROSE.encode(), READ
    yield "many-froms", b"From a@b\nFrom: a\nSubject: b\n\n" * 20000, READ
    yield "quotes-only", header("text/plain") + b"> > > > a quote.\n" * 20000, READ


def lines():
    yield "cut-captions", b"WEBVTT\n\n00:01.000 --> ", READ
    yield "tags-in-captions", b"WEBVTT\n\n00:01.000 --> 00:02.000\n" + b"<v a><" * 50000, READ
    yield "pages", b"\f" * 100000 + PROSE.encode(), READ
    yield "same-pages", (b"Head\n\n" + PROSE.encode() + b"\n\n1\n\f") * 3000, READ
    yield "overstrike", b"LS(1)   X   LS(1)\n\nNAME\n" + b"a\b" * 100000 + b"\n", EITHER
    yield "backspaces", b"LS(1)   X   LS(1)\n\nNAME\n       a" + b"\ba\b\b" * 50000 + b"\n", EITHER
    yield "speakers", b"".join(b"Ann %d: yes.\n" % i for i in range(20000)), READ
    yield "contents", b"A heading .............. 12\n" * 20000, READ
    yield "long-word", b"x" * 3000000, READ
    yield "long-line", (PROSE * 20000).encode(), READ
    yield "short-lines", b"a\n" * 300000, READ
    yield "same-sentence", (PROSE * 1).encode() * 5000, READ


def long_ones():
    """What is repeated, and what comes before it."""
    page, markdown = b"<html><p>" + PROSE.encode(), b"# A\n\n[a](http://b)\n\n"
    for name, unit, head in [
            ("long-no-space", b"x", b""), ("long-one-word", b"word ", b""),
            ("long-one-letter", b"a. ", b""), ("long-short-sentences", b"Ab cd. ", b""),
            ("long-signs", "猫。".encode(), b""), ("long-prose", PROSE.encode(), b""),
            ("long-lines", b"a\n", b""), ("long-paragraphs", b"a\n\n", b""),
            ("long-speakers", b"Ann: b\n", b""), ("long-items", b"- a\n", b""),
            ("long-quotes", b"> ", b""), ("long-zeros", b"\0", b""),
            ("long-bad-utf8", b"\xf0\x9f ", PROSE.encode()), ("long-tabs", b"a\t", b""),
            ("long-open-tag", b" href=x", page + b"<a"), ("long-comment", b"<!-- ", page),
            ("long-div", b"<div>", page), ("long-html-paragraphs", b"<p>a", page),
            ("long-references", b"&amp;", page), ("long-depth", b">", markdown),
            ("long-stars", b"**a ", markdown), ("long-list", b"- ", markdown),
            ("long-mbox", b"From a@b\nFrom: a\nSubject: b\n\nhi\n\n", b""),
            ("long-base64", b"QUJD\n",
             header("text/plain", "Content-Transfer-Encoding: base64"))]:
        yield name, head, unit


def write(path, head, unit, size):
    piece = unit * ((1 << 20) // len(unit))
    with open(path, "wb") as file:
        file.write(head)
        while file.tell() < size:
            file.write(piece)


def run(command):
    """Exit status, stdout, stderr, bytes of memory at the most; None: no end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, stdout=out, stderr=said)
        watch = threading.Timer(LIMIT, child.kill)
        watch.start()
        _, status, usage = os.wait4(child.pid, 0)
        late = not watch.is_alive()
        watch.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said.seek(0)
        most = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return None if late else (child.returncode, out.read(), said.read(), most)


def judge(program, name, path, statuses):
    begin = time.monotonic()
    done = run([program, "--words", str(BUDGET), path])
    if done is None:
        return f"{name}: more than {LIMIT} s"
    seconds = time.monotonic() - begin
    code, out, said, most = done
    said = said.decode(errors="replace")
    if code not in statuses:
        return f"{name}: exit {code}, {said[:300]}"
    if "Sanitizer" in said or "runtime error" in said:
        return f"{name}: {said[:2000]}"
    if code == 2 and (out or said.count("\n") != 1 or len(said) < 30):
        return f"{name}: no clear line: {said!r}"
    # Sanitizers take memory of their own.
    if most > MOST_FREE + MOST_TIMES * os.path.getsize(path) and \
            b"__asan_init" not in pathlib.Path(program).read_bytes():
        return f"{name}: {most >> 20} MB of memory"
    text = out.decode("utf-8")
    if any(not (c.isprintable() or c in "\n\u3000" or 0xE000 <= ord(c) or ord(c) >= 0x300)
           for c in text):
        return f"{name}: what is printed cannot be: {text[:80]!r}"
    words = len([word for word in text.split() if word != LEFT_OUT])
    if words > BUDGET:
        return f"{name}: {words} words"
    print(f"ok {name}, exit {code}, {seconds:.1f} s, {most >> 20} MB", flush=True)
    return None


def main():
    program = sys.argv[1]
    cases = [case for part in (binaries, encodings, markup, mails, lines) for case in part()]
    long_texts = {name: (head, unit) for name, head, unit in long_ones()}
    size = BIG if "--big" in sys.argv else LONG
    troubles = []
    with tempfile.TemporaryDirectory() as folder:
        for name, data, statuses in [*cases, *((one, None, EITHER) for one in long_texts)]:
            path = pathlib.Path(folder) / name
            if data is None:
                write(path, *long_texts[name], size)
            else:
                path.write_bytes(data)
            trouble = judge(program, name, path, statuses)
            os.unlink(path)
            if trouble:
                troubles.append(trouble)
                print("not ok " + trouble, flush=True)
    print(f"{len(cases) + len(long_texts)} files, {len(troubles)} troubles")
    return 1 if troubles or len(cases) < 60 else 0


if __name__ == "__main__":
    sys.exit(main())
