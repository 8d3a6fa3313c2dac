#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Summaries of files as people have them: files.py HEED-SUMMARIZE FILES.JSON
[--without FORMAT]

FILES.JSON says of each file in the folder files: its format, language and encoding, what its summary
must never have, and, of messages and talks, the sentence with the outcome. It also has all
paragraphs of a language: everything else in a file is markup, quotation or furniture. A summary of
any length has whole sentences of these paragraphs, none of them twice; one of 200 words has the
outcome, in at least 80 % of the files that have one.
"""

import json
import pathlib
import re
import subprocess
import sys

LENGTHS = (40, 100, 200)
OUTCOMES = 0.8
MARKS = ".!?…。！？"
CLOSERS = "\"')]»«”“’」』）"


def summarize(program, path, words):
    done = subprocess.run([program, "--json", "--words", str(words), path], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0 or done.stderr:
        raise SystemExit(f"{path.name}: exit {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def joined(text):
    """Without white space and soft hyphens: lines are broken anywhere."""
    return re.sub(r"[\s\u00ad]+", "", text)


def is_whole(sentence, paragraphs):
    """Does it stand in a paragraph, between its start or a mark and a mark?"""
    text = joined(sentence)
    for paragraph in paragraphs:
        for at in (m.start() for m in re.finditer(re.escape(text), paragraph)):
            before = paragraph[:at].rstrip(CLOSERS)
            if (not before or before[-1] in MARKS) and text.rstrip(CLOSERS)[-1] in MARKS:
                return True
    return False


def troubles(wanted, result, paragraphs, words):
    document = result["document"]
    for key in ("format", "language", "encoding"):
        if key in wanted and document[key] != wanted[key]:
            yield f"{key} is {document[key]}, not {wanted[key]}"
    chosen = [one["text"] for one in result["sentences"]]
    if not chosen:
        yield f"{words} words: nothing"
    if result["words"] > words:
        yield f"{words} words: has {result['words']}"
    for text in chosen:
        if chosen.count(text) > 1:
            yield f"twice: {text}"
        if not is_whole(text, paragraphs):
            yield f"no whole sentence of the file: {text}"
        for never in wanted.get("never", []):
            if joined(never) in joined(text):
                yield f"has {never!r}: {text}"


def main():
    program, side = sys.argv[1], pathlib.Path(sys.argv[2])
    data = json.loads(side.read_text(encoding="utf-8"))
    prose = {code: [joined(text) for text in texts] for code, texts in data["prose"].items()}
    failed, having = [], {words: 0 for words in LENGTHS}
    left_out = sys.argv[4:] if sys.argv[3:4] == ["--without"] else []
    tried = [one for one in data["files"] if one["format"] not in left_out]
    outcomes = [one for one in tried if "outcome" in one]
    for one in tried:
        path = side.parent / "files" / one["name"]
        for words in LENGTHS:
            result = summarize(program, path, words)
            failed += [f"{one['name']}: {what}" for what in
                       troubles(one, result, prose[one["language"]], words)]
            texts = [joined(sentence["text"]) for sentence in result["sentences"]]
            having[words] += "outcome" in one and joined(one["outcome"]) in texts
            if words == 200 and "outcome" in one and joined(one["outcome"]) not in texts:
                print(f"{one['name']}: the outcome is not in {words} words")
    print("\n".join(failed))
    for words, count in having.items():
        print(f"{words} words: {count} of {len(outcomes)} outcomes")
    print(f"{len(tried)} files, {len(failed)} troubles")
    good = not failed and having[200] >= OUTCOMES * len(outcomes) and len(tried) >= 40
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
