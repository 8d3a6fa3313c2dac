# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The examples in Python run, and the smallest one prints what that in C prints, whose program
HEED_MINIMAL names."""

import contextlib
import io
import os
import pathlib
import runpy
import subprocess
import unittest

FOLDER = pathlib.Path(__file__).parents[2] / "examples/python"


def said_by(name):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        runpy.run_path(str(FOLDER / name), run_name="__main__")
    return said.getvalue()


class Examples(unittest.TestCase):
    def test_minimal_has_the_bits_of_the_one_in_c(self):
        wanted = subprocess.run([os.environ["HEED_MINIMAL"]], check=True, text=True,
                                capture_output=True).stdout
        self.assertIn("begins", wanted)
        self.assertEqual(said_by("minimal.py"), wanted)

    def test_mechanisms(self):
        self.assertRegex(said_by("mechanisms.py"), r"^\d\d outputs are finite\n$")

    def test_tasks(self):
        self.assertIn("40 passed, 0 failed", said_by("tasks.py"))
