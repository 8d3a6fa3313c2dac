#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What a reader asks heed-summarize for, option by option: asking.py HEED-SUMMARIZE"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

FERRY = ("The ferry crosses the bay each morning at nine. The crew counts the passengers on deck. "
         "Nobody waits for the first crossing in winter. The harbour sells tickets until eight. "
         "Fog delays many crossings in late autumn. The captain decides when the fog is too thick. ")
BEES = ("Bees leave the hive when spring turns warm. A strong hive gathers honey until late summer. "
        "The keeper opens each hive once a week. Honey flows best after a warm night. "
        "A weak queen is replaced before winter comes. Mites harm the brood of every hive. ")
SECTIONS = f"<html><body><h1>Sailing</h1><p>{FERRY}</p><h2>Keeping</h2><p>{BEES}</p>" \
           "<h2>Nothing</h2><h2>Ending</h2><p>The island lives on honey and on visitors who take " \
           "the ferry.</p></body></html>"
WIDE = "渡船每天早上九点穿过海湾。船员在甲板上清点乘客。冬天没有人等第一班渡船。" \
       "港口卖票到八点。深秋的雾使许多渡船晚点。船长决定雾是否太浓。"


class Bench:
    """Runs the program on files in a folder of its own and counts what is not as it should be."""

    def __init__(self, program, folder):
        self.program, self.folder, self.troubles, self.checks = program, folder, [], 0

    def write(self, name, text):
        (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    def run(self, *words, stdin=b""):
        done = subprocess.run([self.program, *words], check=False, cwd=self.folder, input=stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def text(self, *words, **more):
        status, out, err = self.run(*words, **more)
        self.expect(status == 0 and not err, f"{words}: exit {status}, {err[:200]!r}")
        return out

    def json(self, *words):
        return json.loads(self.text("--json", *words))

    def expect(self, good, what):
        self.checks += 1
        if not good:
            self.troubles.append(what)

    def refused(self, status, said, *words):
        got, out, err = self.run(*words)
        self.expect(got == status and not out and said in err and err.count("\n") == 1,
                    f"{[word[:40] for word in words]}: exit {got}, {out[:60]!r}, {err[:300]!r}")


def chosen(result):
    return [one for one in result["sentences"] if one["chosen"]]


def lengths(b):
    file = b.write("both.txt", FERRY + "\n\n" + BEES)
    words = len((FERRY + BEES).split())
    for count in (1, 3, 12, 99):
        b.expect(len(chosen(b.json("--length", f"{count}s", file))) == min(count, 12), f"{count}s")
    for share in (1, 10, 35, 100):
        result = b.json("--length", f"{share}%", file)
        b.expect(result["words"] <= max(words * share / 100, 10), f"{share}%: {result['words']}")
        b.expect(len(chosen(result)) >= 1 and not result["sentences"][0]["text"].endswith("…"),
                 f"{share}%: no whole sentence")
    b.expect(b.text("--words", "30", file) == b.text("--length=30w", file), "--words is --length w")
    b.expect(b.json("--length", "8s", file)["length"] == "8s", "the length is told")
    for bad in ("", "0", "w", "5", "5x", "0s", "1000001w", "101%", "5ws", "-3w", "1e3w", " 5w",
                "9" * 100000 + "w"):
        b.refused(2, "--length: wanted 1w to 1000000w", "--length", bad, file)
    b.refused(2, "--length: wanted", "--length")


def queries(b):
    file = b.write("both.txt", FERRY + "\n\n" + BEES)
    for query, part in (("When does the hive give honey?", BEES), ("crossing in fog", FERRY)):
        texts = [one["text"] for one in chosen(b.json("--length", "2s", "--query", query, file))]
        b.expect(all(text in part for text in texts), f"{query}: {texts}")
    text = b.text("--length", "2s", "--query", "HIVES, in WARM weather", file)
    b.expect("hive" in text, f"no word by its stem: {text!r}")
    wide = b.write("wide.txt", WIDE)
    b.expect("船长" in b.text("--length", "1s", "--query", "船长决定什么", wide), "Chinese")
    talk = b.write("talk.txt", "Ann: " + FERRY + "\n\nBob: " + BEES)
    texts = [one["speaker"] for one in chosen(b.json("--length", "3s", "--query", "Bob?", talk))]
    b.expect(texts == ["Bob"] * 3, f"a speaker is asked for: {texts}")
    reasons = chosen(b.json("--length", "1s", "--query", "honey", file))[0]["reasons"]
    b.expect(reasons["query"] > 0, f"{reasons}")
    b.refused(3, "no sentence has a word of the query", "--query", "zeppelin", file)
    b.refused(3, "no sentence has a word of the query", "--query", "zeppelin", b.write("e", ""))
    b.refused(2, "--query: wanted a text with a word that says something", "--query", "of the", file)
    b.refused(2, "--query: wanted a text with a word", "--query", "\x1b[ ?!", file)
    b.refused(2, "--query: wanted a text, got", "--query", "", file)
    # A program gets no argument of more than 128 KiB on Linux.
    b.text("--query", "honey " * 20000, file)
    b.text("--query", b"honey \xff\xfe \xc3", file)


def keywords(b):
    file = b.write("both.txt", (FERRY + "\n\n" + BEES) * 2)
    words = b.text("--keywords", "5", file).splitlines()
    b.expect(1 <= len(words) <= 5 and len(set(words)) == len(words), f"{words}")
    b.expect({"hive", "ferry"} & {word.lower() for word in words}, f"{words}")
    stops = {"the", "each", "when", "until", "on", "is", "in"}
    many = b.text("--keywords", "1000", file).splitlines()
    b.expect(not stops & {word.lower() for one in many for word in one.split()}, f"{many}")
    b.expect(all(one in FERRY + BEES for one in many), f"not as it is spelt: {many}")
    pair = b.write("pair.txt", "The remote control fell. Each remote control has a light. We sell "
                               "the remote control in May. A lamp burns all night long here. ")
    said = ("Every second week two ferries bring something good to %s. "
            "Maybe nothing else is so important there. ")
    common = b.write("common.txt", "".join(said % town for town in ("Bergen", "Oslo", "Kiel")))
    got = {one.lower() for one in b.text("--keywords", "50", common).split()}
    b.expect({"ferries", "week", "bergen"} <= got, f"{got}")
    b.expect(not {"every", "two", "something", "good", "maybe", "nothing"} & got, f"{got}")
    b.expect("remote control" in b.text("--keywords", "3", pair).splitlines(), "no pair")
    result = b.json("--keywords", "3", file)
    b.expect(len(result["keywords"]) == 3 and chosen(result), "JSON has both")
    scores = [one["score"] for one in result["keywords"]]
    b.expect(scores == sorted(scores, reverse=True), f"{scores}")
    b.expect(b.text("--keywords", "3", b.write("empty", "")) == "", "of nothing, nothing")
    b.expect(all(len(one) >= 2 for one in b.text("--keywords", "5", b.write("w", WIDE)).split()),
             "single signs")
    for bad in ("", "0", "1001", "x", "5x", "-1"):
        b.refused(2, "--keywords: wanted a whole number from 1 to 1000", "--keywords", bad, file)


def files(b):
    one, two = b.write("one.txt", FERRY), b.write("two.txt", BEES)
    text = b.text("--length", "4s", one, two)
    b.expect(text.index("# one.txt\n") < text.index("# two.txt\n"), f"{text!r}")
    for half, part in zip(text.split("# two.txt"), (FERRY, BEES)):
        lines = half.replace("# one.txt", "").replace("[…]", "").split(".")
        b.expect(all(" ".join(line.split()) in part for line in lines), f"{half!r}")
    result = b.json("--length", "6s", one, b.write("empty", ""), two)
    b.expect([file["file"] for file in result["files"]] == [one, "empty", two], "files")
    for sentence in chosen(result):
        bytes_ = (b.folder / result["files"][sentence["file"]]["file"]).read_bytes()
        b.expect(bytes_[sentence["begin"]:sentence["end"]].decode() == sentence["text"],
                 f"offsets: {sentence}")
    wide = b.write("wide.txt", WIDE.encode("utf-16"))
    offsets = b.json("--length", "9s", one, wide, one)
    for sentence in chosen(offsets):
        data = (b.folder / offsets["files"][sentence["file"]]["file"]).read_bytes()
        b.expect(data[sentence["begin"]:sentence["end"]].decode(
            "utf-16-le" if sentence["file"] == 1 else "utf-8") == sentence["text"], f"{sentence}")
    twice = [s["text"] for s in chosen(b.json("--length", "99s", one, one, two))]
    b.expect(len(twice) == len(set(twice)) == 12, f"said twice: {twice}")
    each = b.text("--each", "--length", "1s", one, two)
    b.expect(each.startswith("# one.txt\n") and "\n\n# two.txt\n" in each, f"{each!r}")
    b.expect(b.text("--each", one) == b.text(one), "--each of one file")
    b.expect("# -\n" in b.text("--length", "1s", one, "-", stdin=b"") + "# -\n", "standard input")
    b.refused(2, "FILE: wanted standard input once", "-", one, "-")
    b.refused(2, "no-such: No such file", one, "no-such", two)
    status, out, err = b.run("--each", "--length", "1s", one, "no-such", two)
    b.expect(status == 2 and "two.txt" in out and err.count("\n") == 1, "--each goes on")
    status, out, _ = b.run("--each", "--query", "honey", one, two)
    b.expect(status == 0 and "two.txt" in out and "one.txt" not in out, "--each with a query")
    b.refused(2, "--html: wanted one summary", "--each", "--html", "x.html", one)
    hostile = b.write("a\x1b[31m\u202eb.txt", BEES)
    text = b.text("--length", "1s", one, hostile) + b.text("--each", "--length", "1s", hostile, one)
    b.expect("\x1b" not in text and "\u202e" not in text, "a name with controls")
    many = [b.write(f"many-{i}.txt", f"Word{i} stands alone in file number {i} of all.")
            for i in range(3000)]
    b.expect(len(b.json("--length", "20s", *many)["files"]) == 3000, "3000 files")


def names(b):
    """Names of files are what they are, also those that no text would have."""
    for name in (" two  blanks ", "tab\there", 'a "quoted" \\ one', "new\nline", "\u3000wide"):
        result = b.json("--length", "1s", b.write(name, BEES))
        b.expect(result["file"] == name, f"{name!r} is {result['file']!r}")
        result = b.json("--length", "2s", name, b.write("other", FERRY))
        b.expect([one["file"] for one in result["files"]] == [name, "other"], f"{name!r} of two")
    broken = os.fsdecode(b"no \xff UTF-8")
    b.expect(b.json("--length", "1s", b.write(broken, BEES))["file"] == "no \ufffd UTF-8",
             "a name that is no UTF-8")


def crowds(b):
    """Parts without end that say next to nothing: a line says so, whatever they are."""
    said = "this is no text: of its parts 786432 have fewer than 32 bytes each"
    for part in ("a 1.\n\n", "So. "):
        b.text("--length", "1s", b.write("few", part * 20000))
        b.refused(2, said, b.write("crowd", part * 800000))


def escapes(b):
    """What a terminal would obey, of a text, a name or a query, is neither printed nor read."""
    text = FERRY.replace(" the ", " \x1b[31mthe\x1b[0m \x9b1m").replace(".", ".\x1b]0;owned\x07")
    name = "a\x1b[31m\x7f\x9b1m\u202e\U000e0041b.txt"
    for file in (b.write("coloured.txt", text), b.write(name, FERRY)):
        for words in ([], ["--explain"], ["--keywords", "9"], ["--json", "--explain"],
                      ["--html", "-"], ["--each"], ["--each", "--json"]):
            said = b.text("--query", "\x9bfog\x1b", *words, *[file] * (1 + ("--each" in words)))
            bad = {c for c in said if not c.isprintable() and c != "\n"}
            b.expect(not bad and "owned" not in said, f"{file!r} {words}: {bad}, {said!r}")
    b.expect(b.text("coloured.txt") == b.text(name), "colours are words")
    b.expect(b.json(name)["file"] == name, "a name is not what it is")


def sections(b):
    file = b.write("sections.html", SECTIONS)
    text = b.text("--by-section", "--length", "50%", file)
    at = [text.find(f"## {name}\n") for name in ("Sailing", "Keeping")]
    b.expect(0 <= at[0] < at[1] and "Nothing" not in text, f"{text!r}")
    result = b.json("--by-section", "--length", "60w", file)
    b.expect(result["words"] <= 60, f"{result['words']} words")
    b.expect(abs(sum(one["share"] for one in result["sections"]) - 1) < 1e-4, "shares")
    for one in chosen(result):
        part = result["sections"][one["section"]]
        b.expect(part["begin"] <= one["index"] < part["end"], f"{one['index']} in {part}")
    b.expect(len({one["section"] for one in chosen(result)}) >= 2, "one section has all")
    b.expect("#" not in b.text("--by-section", b.write("plain.txt", FERRY * 3)), "no headings")
    b.expect(b.text("--by-section", b.write("empty", "")) == "", "nothing")
    b.refused(2, "--by-section: wanted no value", "--by-section=2", file)


def reasons(b):
    file = b.write("both.txt", FERRY + "\n\n" + BEES)
    result = b.json("--explain", "--length", "4s", file)
    ranks = sorted(one["rank"] for one in chosen(result))
    b.expect(ranks == [0, 1, 2, 3], f"{ranks}")
    for one in result["sentences"]:
        parts = dict(one["reasons"])
        parts.pop("likeness", None)
        b.expect(abs(sum(parts.values()) - one["score"]) < 1e-3, f"{one['reasons']} {one['score']}")
    alike = [one["reasons"]["likeness"] for one in chosen(result)]
    b.expect(all(x <= 0 for x in alike), f"{alike}")


def paragraphs(b):
    file, places = b.write("one.txt", FERRY), 0
    for count in range(1, 6):
        at = [one["index"] for one in chosen(b.json("--length", f"{count}s", file))]
        gaps = sum(after - before > 1 for before, after in zip(at, at[1:]))
        b.expect(b.text("--length", f"{count}s", file).count("[…]") == gaps, f"marks at {at}")
        places += gaps
    b.expect(places > 0, "nothing was ever left out")
    b.expect("[…]" not in b.text(b.write("two.txt", FERRY)), "nothing was left out")


def numbers(b):
    """Numbers make headings where paragraphs stand between them, and only there."""
    texts = [BEES.strip(), FERRY.strip()]
    chapters = b.write("chapters.txt", f"1. On bees\n\n{texts[0]}\n\n2. On ships\n\n{texts[1]}\n")
    said = b.text("--by-section", chapters)
    b.expect(said.startswith("## 1. On bees\n") and "\n## 2. On ships\n" in said, said)
    for heads in (("1. On bees\n\n2. On ships", "So much for it."), ("3. On bees", "4. On ships"),
                  ("1. On bees", "Nothing more of that.")):
        file = b.write("items.txt", f"{heads[0]}\n\n{texts[0]}\n\n{heads[1]}\n\n{texts[1]}\n")
        said = b.text("--by-section", file)
        b.expect(f"## {heads[0][:2]}" not in said, f"{heads} are headings: {said}")


def manual(b):
    edge = "FERRY(1)                User Commands                FERRY(1)\n\n"
    file = b.write("ferry.1.txt", edge + "NAME\n       ferry - go over the bay\n\nABOUT\n"
                   "       The FER\u2010\n       RIES carry (unless\n       --never is given) cars.\n"
                   "\n   Tickets\n       --price COINS\n           Take so many coins for a car.\n"
                   "       --first\n           Let the oldest car go first.\n\n"
                   "COPYRIGHT\n       The bay belongs to all of us.\n\n" + edge)
    b.expect(b.json("--each", file)["document"]["format"] == "man", "no manual page")
    said = " ".join(b.text("--by-section", file).split())
    b.expect(said == "## ABOUT The FERRIES carry (unless --never is given) cars. ## Tickets "
             "Take so many coins for a car. Let the oldest car go first.", said)


def endless(b):
    """What has no end is read as far as --max-bytes says, or 256 MiB."""
    one, two, more = b.write("one.txt", FERRY), b.write("two.txt", BEES), "more bytes than --max-bytes"
    size = len(FERRY) + len(BEES)
    b.expect(b.text("--max-bytes", str(size), one, two) == b.text(one, two), "as many as there are")
    b.refused(2, more, "--max-bytes", str(size - 1), one, two)
    b.text("--each", f"--max-bytes={size - 1}", one, two)
    b.refused(2, "/dev/zero: " + more, "--max-bytes", "3M", "/dev/zero")
    for wrong in ("0", "M", "1T", "1025G", "1KB", "-1"):
        b.refused(2, "--max-bytes: wanted 1 to 1024G bytes", "--max-bytes", wrong, one)
    status, _, said = b.run("--max-bytes", "1K", "-", stdin=b"a" * 1025)
    b.expect(status == 2 and "standard input: " + more in said, said)
    with subprocess.Popen([b.program, "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        taken = 0
        try:
            while taken < 512:
                child.stdin.write(b"Go on. " * 149797)
                taken += 1
        except BrokenPipeError:
            pass
        said = child.stderr.read().decode() if taken < 512 else child.kill() or ""
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()
    b.expect(256 <= taken < 300 and child.returncode == 2 and more in said, f"{taken} MiB, {said!r}")


def unwritten(b):
    """What cannot be written is a failure, that of --help and --version as well."""
    if not os.path.exists("/dev/full"):
        return
    for words in (["--help"], ["--version"], [b.write("full.txt", FERRY)]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([b.program, *words], check=False, cwd=b.folder, stdout=full,
                                  stderr=subprocess.PIPE, timeout=120)
        b.expect(done.returncode == 1 and b"cannot write" in done.stderr,
                 f"{words}: exit {done.returncode} where nothing can be written")


def main():
    with tempfile.TemporaryDirectory() as folder:
        b = Bench(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(folder))
        for part in (lengths, queries, keywords, files, names, crowds, escapes, sections, reasons,
                     paragraphs, numbers, manual, endless, unwritten):
            part(b)
    print("\n".join(b.troubles))
    print(f"{b.checks} checks, {len(b.troubles)} troubles")
    return 1 if b.troubles or b.checks < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
