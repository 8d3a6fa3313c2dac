# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed-model as tests run it. Importing this leaves the program with 77 where no Python of the
machine has NumPy."""

import os
import pathlib
import subprocess
import sys
import tempfile

for library in ("OMP", "OPENBLAS"):     # matrices of tests are small
    os.environ.setdefault(library + "_NUM_THREADS", "1")
try:
    import numpy
except ImportError:
    sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "python"))
    import run
    other = run.with_module("numpy")
    if other:
        os.execv(other, [other, *sys.argv])
    print("skipped: numpy is not installed; HEED_PYTHON may name a Python that has it")
    sys.exit(77)

OPTIONS = {"beams": "--beams", "min_length": "--min-length", "max_length": "--max-length",
           "no_repeat": "--no-repeat", "length_penalty": "--length-penalty"}
STOPPING = {False: "estimate", True: "first", "never": "never"}


class Failed(Exception):
    """heed-model ended with another status than 0."""


class Program:
    """heed-model on one device."""

    def __init__(self, path, *options):
        self.path, self.options = str(path), options

    def call(self, command, folder, ids, *options):
        """Standard output."""
        done = subprocess.run([self.path, command, str(folder), *self.options, *options],
                              input=" ".join(map(str, ids)).encode(), capture_output=True)
        if done.returncode:
            raise Failed(f"{command} {' '.join(self.options + options)}: status "
                         f"{done.returncode}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def states(self, folder, ids, *options):
        """[n][channels]"""
        return numpy.frombuffer(self.call("states", folder, ids, *options), "<f4").reshape(
            len(ids), -1)

    def logits(self, folder, ids, following, *options):
        """[m][vocabulary]"""
        return numpy.frombuffer(self.call("logits", folder, ids, "--next",
                                          " ".join(map(str, following)), *options),
                                "<f4").reshape(len(following), -1)

    @staticmethod
    def words(options):
        """Words of the command line."""
        words = [w for key, value in options.items() if key in OPTIONS
                 for w in (OPTIONS[key], str(value))]
        if "stopping" in options:
            words += ["--stopping", STOPPING[options["stopping"]]]
        return words

    def looks(self, folder, ids, options, *others):
        """[generated ids][n]"""
        return numpy.frombuffer(self.call("looks", folder, ids, *self.words(options), *others),
                                "<f4").reshape(-1, len(ids))

    def generate(self, folder, ids, options, *others):
        """Ids; options are those of a Search of oracle.py."""
        return [int(i) for i in self.call("generate", folder, ids, *self.words(options), *others).split()]


def scratch():
    """A folder of its own, for what a test writes."""
    return pathlib.Path(tempfile.mkdtemp(prefix="heed-model-"))
