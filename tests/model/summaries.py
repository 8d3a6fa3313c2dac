#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed-summarize --model with --segments, --memory and --salient, on a random model of bytes.

summaries.py HEED-SUMMARIZE HEED-MODEL: parts cover the text and keep to the positions; what a part gets of
others is what Cao and Wang 2023, section 3.2, say, to the byte, as each byte is a token; memories
change what follows the first part and nothing before; the same text on other devices and threads;
what makes no sense is one line and exit status 2. The page of --html has what was written, and of each
sentence which of the document's it looked at most: the sums of what `heed-model looks` prints.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import running
import numpy
import checkpoints

sys.path.append(str(pathlib.Path(__file__).parents[1] / "summarize"))
import page as pages

POSITIONS = 512
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
WORDS = ("Previous important sentences:", "Current chunk:", "Next important sentences:")
TEXT = """The harbour has a new ferry, and the town pays for it. It sails at noon every day but
Sunday. The old ferry was sold to an island in the north. Nobody in the town misses its noise.

The council had asked three yards for a price. The yard at the river was not the cheapest. It could
build the ferry within a year, and the council decided for it. The bank gave a loan of four million.
Interest is paid from the fares.

In spring the ice stayed until April. The ferry could not sail for two weeks. The town hired a bus,
which went around the bay in an hour. Most people stayed at home instead.

The captain says that the new engine needs half of the oil. The crew has learned to repair it. A
sailor fell on the stairs in May, and the stairs have a rail now. The doctor came by boat.

Next year the council wants a second ferry. The harbour must be dug for it, and the old wall must
go. Fishermen fear that the dredger will drive away the herring. The council will hear them in
autumn, before the money is given.
"""


def alphabet():
    """The characters that stand for bytes (byte-level BPE, Radford et al. 2019)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(other)) for b in range(256)]


def tokenizer():
    """tokenizer.json in which every byte is a token."""
    vocab = {word: i for i, word in enumerate(SPECIAL + alphabet())}
    added = [{"id": i, "content": word, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for i, word in enumerate(SPECIAL)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
             "use_regex": True}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": None, "pre_tokenizer": level,
            "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0],
                               "trim_offsets": True, "add_prefix_space": False},
            "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False,
                      "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "byte_fallback": False, "vocab": vocab, "merges": []}}


class Program:
    """heed-summarize, and what was wrong with it."""

    def __init__(self, path, model, file):
        self.path, self.model, self.file, self.failures = path, model, file, 0

    def fail(self, text):
        self.failures += 1
        print(text)

    def run(self, *options):
        return subprocess.run([self.path, *options, self.file], capture_output=True, text=True,
                              check=False, env=os.environ | {"OMP_WAIT_POLICY": "passive"})

    def asked(self, *options):
        """The JSON of a run."""
        done = self.run("--json", *options)
        if done.returncode:
            raise running.Failed(f"{options}: {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def parts(self, *options):
        return self.asked("--model", self.model, "--segments", *options)["parts"]


def joined(sentences):
    return " ".join(" ".join(s["text"].split()) for s in sentences)


def others(chosen, first, end, fits):
    """Which sentences a part gets: the outermost first, in turn, until one does not fit."""
    before, behind = [i for i in chosen if i < first], [i for i in chosen if i >= end]
    taken = ([], [])
    while before or behind:
        past = bool(before) and (len(taken[0]) <= len(taken[1]) or not behind)
        one = before[0] if past else behind[-1]
        if not fits(one):
            break
        taken[not past].append((before if past else behind).pop(0 if past else -1))
    return taken[0], taken[1][::-1]


def covered(program, parts, sentences, what):
    """Parts cover all sentences, one after another."""
    ends = [0] + [part["sentences"][1] for part in parts]
    if [part["sentences"][0] for part in parts] != ends[:-1] or ends[-1] != len(sentences):
        program.fail(f"{what}: parts do not cover the text: {ends}")
    if any(part["tokens"] > POSITIONS for part in parts) or len(parts) < 3:
        program.fail(f"{what}: {len(parts)} parts of {[part['tokens'] for part in parts]} tokens")


def told(program, parts, sentences, chosen):
    """--salient text, to the byte."""
    for part in parts:
        first, end = part["sentences"]
        own = [sentences[i] for i in range(first, end)]
        left = [POSITIONS - 8 - sum(len(word) + 1 for word in WORDS) -
                sum(len(joined([s])) + 1 for s in own)]

        def fits(i, left=left):
            left[0] -= len(joined([sentences[i]])) + 1
            return left[0] >= 0
        before, behind = others(chosen, first, end, fits)
        texts = [WORDS[0] + " " + joined([sentences[i] for i in before])] if before else []
        texts += [WORDS[1]] if before or behind else []
        texts += [joined(own)]
        texts += [WORDS[2] + " " + joined([sentences[i] for i in behind])] if behind else []
        if part["others"] != [len(before), len(behind)]:
            program.fail(f"part {first}: others {part['others']}, wanted {before} and {behind}")
        elif part["tokens"] != len(" ".join(texts)) + 2:
            program.fail(f"part {first}: {part['tokens']} tokens, wanted {' '.join(texts)}")


def others_of(program, options, parts, sentences, chosen):
    """What parts get of others, and that it is the same on another device."""
    if program.parts(*options, "--device", "cpu:scalar") != parts:
        program.fail(f"{options}: other words on another device")
    if not any(part["others"][0] for part in parts) or not any(p["others"][1] for p in parts):
        program.fail(f"{options}: no part gets anything")
    if options[-1] == "text":
        told(program, parts, sentences, chosen)
        return
    begins = {part["sentences"][0] for part in parts}
    for part in parts:
        left = [1024]

        def fits(i, left=left):
            left[0] -= len(joined([sentences[i]])) + (i not in begins)
            return left[0] >= 0
        wanted = [len(taken) for taken in others(chosen, *part["sentences"], fits)]
        if part["others"] != wanted:
            program.fail(f"{options}: others {part['others']}, wanted {wanted}")


def sentences_of(page, text):
    """Of each listed sentence the bytes of the text that it ends at."""
    end = 0
    for i in range(sum(bool(re.fullmatch(r"c\d+", name)) for name in page.ids)):
        words = page.texts[f"c{i}"].split()
        for word in words:
            end = text.index(word, end) + len(word)
        yield " ".join(words), end


def letters(folder):
    """A model that writes words of a few letters, and sentences of them."""
    settings = checkpoints.settings_of("bart", vocab=len(SPECIAL) + 256, positions=POSITIONS)
    tensors = checkpoints.draw(settings, 1)
    bias = numpy.full((1, settings["vocab"]), -100.0)
    known = [len(SPECIAL) + b for b in b"ABCDEFGHIJKLMNOPQRSTUVW. "]
    bias[0, known] = 0
    bias[0, known[-2:]] = 3
    tensors["final_logits_bias"] = bias
    checkpoints.save(folder, checkpoints.config_of(settings), tensors,
                     generation={"max_length": 110, "no_repeat_ngram_size": 2})
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))


def paged(program, model, folder):
    """The page of such a model."""
    letters(folder)
    target = folder / "page.html"
    told = program.asked("--explain")["sentences"]
    done = program.run("--model", str(folder), "--segments", "--json", "--explain", "--html",
                       str(target))
    if done.returncode:
        raise running.Failed(done.stderr)
    parts, text = json.loads(done.stdout)["parts"], target.read_text("utf-8")
    quiet = program.run("--model", str(folder), "--segments", "--json", "--quiet", "--html",
                        str(target))
    if quiet.returncode or quiet.stdout or target.read_text("utf-8") != text:
        program.fail(f"--quiet prints {quiet.stdout!r}, or another page")
    page = pages.Page(text)
    for fault in pages.form(text, page):
        program.fail(f"the page: {fault}")
    looks = re.findall(r"<small[^>]*>looked at sentence (.*?)</small>", text)
    looks = [re.findall(r'#s(\d+)">(\d+)</a> \((\d+) %\)', one) for one in looks]
    written = "".join(part["text"] for part in parts)
    listed = list(sentences_of(page, written))
    if pages.joined("".join(words for words, _ in listed)) != pages.joined(written) or \
            len(listed) < 6 or len(looks) != len(listed):
        program.fail(f"the page lists {listed} with {len(looks)} looks, written was {written}")
        return
    marked, begin, number = set(), 0, 0
    for part in parts:
        first, end = part["sentences"]
        own = [joined([told[i]]) for i in range(first, end)]
        ids = [0, *(4 + b for b in " ".join(own).encode()), 2]
        rows = model.looks(folder, ids, {}).astype("f8")
        ends = numpy.cumsum([0] + [len(one.encode()) + (i > 0) for i, one in enumerate(own)])
        token, before = 1, number
        while number < len(listed) and listed[number][1] <= begin + len(part["text"]):
            # Bytes of white space behind a sentence are the next one's.
            last = listed[number][1] - begin + 1 if listed[number][1] < begin + len(part["text"]) \
                else len(rows)
            sums = [rows[token:last, 1 + a:1 + b].sum() for a, b in zip(ends, ends[1:])]
            order = sorted(range(len(own)), key=lambda i: -sums[i])[:3]
            wanted = [(first + i, 100 * sums[i] / sum(sums)) for i in order]
            shown = [(int(a), float(c)) for a, b, c in looks[number] if int(a) + 1 == int(b)]
            got = [(one["index"], 100 * one["share"])
                   for one in part["written"][number - before]["looks_at"]]
            # The page has whole numbers, the JSON six places, sums are of binary32.
            for rows_of, off in ((shown, 0.5), (got, 1e-4)):
                if [a for a, _ in rows_of] != [a for a, _ in wanted] or \
                        any(abs(a - b) > off + 1e-4 for (_, a), (_, b) in zip(rows_of, wanted)):
                    program.fail(f"sentence {number} looked at {wanted}, told is {rows_of}")
            marked |= {a for a, _ in wanted}
            token, number = last, number + 1
        begin += len(part["text"])
    if {int(name[1:]) for name, tag in page.tags.items() if tag == "mark"} != marked:
        program.fail(f"marked are others than {marked}")


def usage(program):
    """What makes no sense."""
    model = ("--model", program.model)
    for options in (("--memory", "compressive"), ("--salient", "text"), (*model, "--salient", "kv"),
                    (*model, "--memory", "attentive"), (*model, "--segments", "--memory", "none"),
                    (*model, "--segments", "--salient", "words"), (*model, "--segments", "--memory",
                    "attentive", "--salient", "kv")):
        done = program.run(*options)
        if done.returncode != 2 or done.stdout or done.stderr.count("\n") != 1:
            program.fail(f"{options}: {done.returncode}: {done.stdout}{done.stderr}")


def compare(program):
    """All of it."""
    sentences = program.asked("--explain")["sentences"]
    chosen = [s["index"] for s in program.asked()["sentences"]]
    plain = program.parts()
    covered(program, plain, sentences, "--segments")
    for options in (("--memory", "compressive"), ("--memory", "attentive"), ("--salient", "kv"),
                    ("--memory", "attentive", "--salient", "text")):
        parts = program.parts(*options)
        covered(program, parts, sentences, options)
        if options[-1] in ("kv", "text"):
            others_of(program, options, parts, sentences, chosen)
        if len(options) > 2:
            continue
        texts = [[part["text"] for part in every] for every in (plain, parts)]
        if "--memory" in options and texts[0][0] != texts[1][0]:
            program.fail(f"{options}: an empty memory changes the first part")
        if texts[0] == texts[1]:
            program.fail(f"{options}: nothing changes")
    usage(program)
    return len(plain)


def main():
    """The exit status."""
    folder = running.scratch()
    try:
        settings = checkpoints.settings_of("bart", vocab=len(SPECIAL) + 256, positions=POSITIONS)
        checkpoints.save(folder, checkpoints.config_of(settings), checkpoints.draw(settings, 1),
                         generation={"max_length": 8})
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
        (folder / "text.txt").write_text(TEXT)
        program = Program(sys.argv[1], str(folder), str(folder / "text.txt"))
        parts = compare(program)
        if len(sys.argv) > 2:
            paged(program, running.Program(sys.argv[2]), folder / "letters")
    finally:
        shutil.rmtree(folder)
    print(f"{parts} parts, {program.failures} failures")
    return 1 if program.failures else 0


if __name__ == "__main__":
    sys.exit(main())
