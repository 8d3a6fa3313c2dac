#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed_model_vectors() through heed-model: what vectors of texts are, and what they are not.

vectors.py HEED-MODEL HEED-INFO [--all]: of random encoders of every attention, the vector of a line is the
mean of the rows that `heed-model states` has for its ids alone, at unit length, within a derived
bound: n sums and a division in binary32, of numbers of which the largest is m, are off by at most
(n + 2) 2^-24 m, and what that does to a unit vector is at most twice as much by its length. The bits
of a line do not depend on lines beside it, threads or the device. The first row, a cut and what is not
known are as the files of the folder say.
"""

import json
import shutil
import subprocess
import sys

import running
import numpy
import bits
import checkpoints
from summaries import tokenizer

POSITIONS = 40
FEW = ["bert", "t5", "roberta-lsg"]
ALL = FEW + ["roberta", "bart", "mbart", "deberta-v2-apart", "big_bird", "longformer", "longt5"]
LINES = ["A ferry.", "", "It sails at noon.", "x", "A line that is longer than all of the others is.",
         "A ferry.", "\u00e4 \u4e2d", "Nobody misses it."] + [f"Line {i}" for i in range(120)]


class Test:
    """Checkpoints of random weights whose tokens are bytes, and what was wrong."""

    def __init__(self, program, folder):
        self.program, self.folder, self.failures, self.worst = program, folder, 0, 0.0

    def fail(self, text):
        self.failures += 1
        print(text)

    def write(self, variant, files=None):
        """A folder, with these files besides."""
        shutil.rmtree(self.folder, ignore_errors=True)
        extra = 2 if variant.startswith(("roberta", "longformer")) else 0
        settings = checkpoints.settings_of(variant, vocab=260, **(
            {"positions": POSITIONS + extra} if "t5" not in variant else {}))
        checkpoints.save(self.folder, checkpoints.config_of(settings),
                         checkpoints.draw(settings, 1))
        (self.folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
        for name, content in (files or {}).items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(content if isinstance(content, str)
                                            else json.dumps(content))

    def run(self, lines, *options):
        return subprocess.run([str(self.program.path), "vectors", str(self.folder), *options],
                              input="".join(line + "\n" for line in lines).encode(),
                              capture_output=True, check=False)

    def vectors(self, lines, *options):
        done = self.run(lines, *options)
        if done.returncode:
            raise running.Failed(done.stderr.decode())
        return numpy.frombuffer(done.stdout, "<f4").reshape(len(lines), -1)

    def ids(self, line, most):
        ids = [0, *(4 + b for b in line.encode()), 2]
        return ids if len(ids) <= most else [*ids[:most - 1], ids[-1]]

    def expect(self, what, lines, got, most=POSITIONS, first=False):
        """Rows `got` are what the definition says."""
        known = {}
        for line, row in zip(lines, got):
            if line not in known:
                rows = self.program.states(self.folder, self.ids(line, most)).astype("f8")
                rows = rows[:1] if first else rows
                length = numpy.linalg.norm(rows.mean(0))
                bound = 2 ** -24 * (1 + (len(rows) + 2) * 2 * abs(rows).max() *
                                    rows.shape[1] ** .5 / length)
                known[line] = rows.mean(0) / length, bound
            want, bound = known[line]
            self.worst = max(self.worst, abs(row - want).max() / bound)
            if not (abs(row - want) <= bound).all():
                self.fail(f"{what}: {line!r}: off by {abs(row - want).max():.3g}, bound {bound:.3g}")
                return

    def variant(self, variant, devices):
        """One encoder: values, and bits."""
        self.write(variant)
        got = self.vectors(LINES)
        self.expect(variant, LINES[:8], got, POSITIONS if "t5" not in variant else 10 ** 9)
        alone = [self.vectors([line]) for line in LINES[:8]]
        if any(row.tobytes() != one.tobytes() for row, one in zip(got, alone)):
            self.fail(f"{variant}: a line has other bits alone")
        for device, threads in devices:
            if self.vectors(LINES, "--device", device, "--threads", threads).tobytes() != got.tobytes():
                self.fail(f"{variant}: other bits on {device}, {threads} threads")

    def plain(self, variant):
        """A tokenizer without tokens that begin and end texts: empty texts have none, and zeros."""
        self.write(variant)
        bare = tokenizer() | {"post_processor": None}
        (self.folder / "tokenizer.json").write_text(json.dumps(bare))
        lines = ["", "A ferry.", "", "", "x", "It sails.", ""]
        got = self.vectors(lines)
        for line, row in zip(lines, got):
            if not line and row.any():
                self.fail(f"{variant}: a text without tokens has {row}")
        alone = [self.vectors([line])[0] for line in lines]
        if got.tobytes() != numpy.array(alone).tobytes():
            self.fail(f"{variant}: beside empty texts a line has other bits than alone")
        if not all(abs(numpy.linalg.norm(row) - 1) < 1e-6 for line, row in zip(lines, got) if line):
            self.fail(f"{variant}: beside empty texts a vector is not of unit length")

    def files(self):
        """What the folder says of vectors."""
        kinds = [f"sentence_transformers.models.{name}" for name in ("Transformer", "Pooling",
                                                                     "Normalize")]
        modules = [{"idx": i, "name": str(i), "type": kind} for i, kind in enumerate(kinds)]
        pooling = "1_Pooling/config.json"
        takes = [({"modules.json": modules, pooling: {"pooling_mode_cls_token": False,
                                                      "pooling_mode_mean_tokens": True}}, {}),
                 ({pooling: {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}},
                  {"first": True}),
                 ({pooling: {"pooling_mode": "cls"}}, {"first": True}),
                 ({pooling: {"pooling_mode": "mean"}}, {}),
                 ({"sentence_bert_config.json": {"max_seq_length": 9, "do_lower_case": False}},
                  {"most": 9}),
                 ({"sentence_bert_config.json": {"max_seq_length": None}}, {})]
        for files, options in takes:
            self.write("bert", files)
            self.expect(str(files), LINES[:8], self.vectors(LINES[:8]), **options)
        refused = [{"modules.json": modules + [{"type": "sentence_transformers.models.Dense"}]},
                   {pooling: {"pooling_mode_max_tokens": True}},
                   {pooling: {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}},
                   {pooling: {"pooling_mode": "lasttoken"}},
                   {pooling: '{"pooling_mode_cls_token": tru'}, {"modules.json": "[{]"},
                   {"modules.json": "{}"}, {"sentence_bert_config.json": "9"},
                   {"sentence_bert_config.json": '{"max_seq_length": 1e3}'},
                   {pooling: "[" * 100}, {"modules.json": " " * (1 << 20) + "[]"}]
        for files in refused:
            self.write("bert", files)
            done = self.run(LINES[:2])
            said = done.stderr.decode()
            if done.returncode != 2 or done.stdout or said.count("\n") != 1 or \
                    next(iter(files)) not in said:
                self.fail(f"{str(files)[:80]}: status {done.returncode}: {said}")
            try:                            # states need none of these files
                self.program.states(self.folder, [0, 2])
            except running.Failed as why:
                self.fail(f"{str(files)[:80]}: {why}")


def main():
    """The exit status."""
    names = bits.devices_of(sys.argv[2]) if "--all" in sys.argv else ["reference", "cpu:scalar"]
    devices = [("cpu", "2"), *((name, "1") for name in names)]
    folder = running.scratch()
    test = Test(running.Program(sys.argv[1]), folder / "one")
    try:
        for variant in ALL if "--all" in sys.argv else FEW:
            test.variant(variant, devices)
        for variant in ("bert", "longformer"):   # texts together, and one at a time
            test.plain(variant)
        test.files()
    finally:
        shutil.rmtree(folder)
    print(f"error/bound {test.worst:.3g}, {test.failures} failures")
    return 1 if test.failures else 0


if __name__ == "__main__":
    sys.exit(main())
