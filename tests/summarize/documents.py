#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Documents of offices, books and PDF: documents.py HEED-SUMMARIZE [--without FORMAT,...]

The article of every language in every format (packed.py). The sentences that a summary may have are
those of its paragraphs and lists, each whole and in order, however words, lines, columns and pages
are broken, whatever stands beside them; headings are none of them. What was built without a format
says so with one line and exits with 2.
"""

import functools
import json
import pathlib
import subprocess
import sys
import tempfile

import files
import make
import packed

VARIANTS = {
    "pdf": {"": {}, "-columns": {"columns": 2}, "-sizes": {"outline": False},
            "-indented": {"outline": False, "gap": 0.0}},
}


def explained(program, path):
    done = subprocess.run([program, "--json", "--explain", "--words", "100000", path], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0 or done.stderr:
        return None, f"exit {done.returncode}: {done.stderr.decode()}"
    return json.loads(done.stdout), None


def article(lang):
    """What a summary may have: paragraphs, and the items that are sentences."""
    text = make.TEXTS[lang]
    return [part for _, paragraphs in text["article"] for part in paragraphs], text["items"]


def troubles(result, lang, form):
    document = result["document"]
    paragraphs, items = article(lang)
    may = [one for one in result["sentences"] if one["candidate"]]
    prose = files.joined("".join(one["text"] for one in may if not one["item"]))
    listed = files.joined("".join(one["text"] for one in may if one["item"]))
    if (document["format"], document["language"]) != (form, lang):
        yield f"is read as {document['format']}, in {document['language']}"
    if prose != files.joined("".join(paragraphs)):
        yield f"its paragraphs are {prose}"
    for item in (items[0], items[2]):
        if files.joined(item) not in listed:
            yield f"its list is {listed}"
    for one in may:
        if "hidden" in one["text"] or files.joined(one["text"]) == files.joined(make.quoted(lang)):
            yield f"may have: {one['text']}"


def without(program, path, form):
    done = subprocess.run([program, path], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    said = done.stderr.decode()
    if done.returncode != 2 or done.stdout or said.count("\n") != 1 or "built without" not in said:
        yield f"{form} is left out, and that says: exit {done.returncode}: {said}"


def main():
    program = sys.argv[1]
    left_out = sys.argv[3].split(",") if sys.argv[2:3] == ["--without"] else []
    told = subprocess.run([program, "--version"], check=True, stdout=subprocess.PIPE).stdout.decode()
    failed, count = [], 0
    for form in packed.MAKERS:
        line = next((line for line in told.split("\n") if line.split()[:1] == [form]), "")
        if not line or ("built without" in line) != (form in left_out):
            failed.append(f"--version says of {form}: {line!r}")
    with tempfile.TemporaryDirectory() as folder:
        for form, maker in packed.MAKERS.items():
            for variant, options in VARIANTS.get(form, {"": {}}).items():
                for lang in make.TEXTS:
                    path = pathlib.Path(folder) / f"{lang}{variant}.{form}"
                    path.write_bytes(functools.partial(maker, lang, **options)())
                    if form in left_out:
                        failed += without(program, path, form)
                        continue
                    count += 1
                    result, wrong = explained(program, path)
                    failed += [f"{path.name}: {one}" for one in
                               ([wrong] if wrong else troubles(result, lang, form))]
    print("\n".join(failed))
    print(f"{count} documents, {len(failed)} troubles")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
