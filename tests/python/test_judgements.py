# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/judge-peers with NumPy alone: the page, and programs that show what is broken."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).parents[2]
LINES = 30


class Judgements(unittest.TestCase):
    def test_numpy_is_judged_and_each_break_has_a_program(self):
        build = pathlib.Path(os.environ["HEED_LIBRARY"]).resolve().parent
        with tempfile.TemporaryDirectory() as folder:
            page, breaks = pathlib.Path(folder) / "page.md", pathlib.Path(folder) / "breaks"
            done = subprocess.run(
                [sys.executable, TOP / "scripts/judge-peers", "--build", build, "--only", "matmul",
                 "--cases", "12", "--page", page, "--breaks", breaks, "--results",
                 pathlib.Path(folder) / "results"],
                env={**os.environ, "HEED_JUDGE": sys.executable}, capture_output=True, text=True,
                check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            text = page.read_text(encoding="utf-8")
            # Sums of matmul's depend on the shapes; a row without keys divides by 0.
            row = re.search(r"\| numpy-matmul \| f32 \| kept.*", text)[0]
            self.assertGreaterEqual(row.count("**broken**"), 3)
            programs = sorted(breaks.glob("*.py"))
            self.assertEqual(len(programs), len(re.findall(r"\| \[\d+ lines\]", text)))
            self.assertEqual(len(programs), len(re.findall(r"\*\*broken\*\* \d", text)))
            for program in programs:
                lines = program.read_text(encoding="utf-8").splitlines()
                self.assertLessEqual(sum(bool(x) and x[0] != "#" for x in lines), LINES)
                self.assertEqual(set(re.findall(r"^import (\S+)", "\n".join(lines), re.MULTILINE)),
                                 {"numpy"})


if __name__ == "__main__":
    unittest.main()
