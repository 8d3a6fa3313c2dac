#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The command line of heed-conform: command_line.py HEED-CONFORM HEED-CONFORM-PARTIAL

The second program is the first one with a device "cpu" that takes only some of the legal cases
(partial_device.c), and with a fault in it where HEED_TEST_FAULT says so.
"""

import os
import re
import subprocess
import sys
import unittest

CONFORM, PARTIAL = sys.argv[1:3]
NARROW = "q=f16 ns=1 s0.k=f16 s0.v=f16 d=64 dv=64 lse=none sink=none s0.nb=0 s0.mask=none o=f32"


def run(*arguments, program=CONFORM, fault=""):
    environment = dict(os.environ, HEED_TEST_FAULT=fault)
    return subprocess.run([program, *arguments], text=True, check=False, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def partial(*arguments, fault=""):
    return run("--device", "cpu", "--op", "attn", *arguments, program=PARTIAL, fault=fault)


def totals(text):
    found = re.match(r"(\d+) passed, (\d+) failed, (\d+) skipped$", text.splitlines()[-1])
    return tuple(int(number) for number in found.groups())


def cases(text):
    """The lines of drawn cases as dictionaries; what is at its default is not in them."""
    lines = re.findall(r"^(?:not )?ok \d+ - \S+ case op=\S+ (.*?)(?: # SKIP .*)?$", text, re.M)
    return [dict(word.split("=") for word in line.split()) for line in lines]


class Refusals(unittest.TestCase):
    def test_a_refusal_is_a_failure_unless_the_device_is_partial(self):
        whole = partial("--cases", "20", "--family", "bits")
        self.assertEqual(whole.returncode, 1)
        self.assertGreater(totals(whole.stdout)[1], 0)
        self.assertIn("HEED_E_UNSUPPORTED in ", whole.stdout)

    def test_a_refusal_of_a_partial_device_is_a_skip(self):
        said = partial("--partial", "--case", "op=attn seed=1")
        self.assertEqual(said.returncode, 0, said.stdout)
        self.assertIn("# SKIP refused: q.dtype", said.stdout)
        self.assertIn("# cpu: accepted 0 cases, refused 1: q.dtype 1", said.stdout)
        self.assertEqual(totals(said.stdout), (0, 0, 1))

    def test_a_refusal_without_a_field_is_a_failure(self):
        said = partial("--partial", "--case", "op=attn seed=1", fault="silent")
        self.assertEqual(totals(said.stdout), (0, 1, 0))

    def test_plan_must_refuse_what_check_refuses(self):
        said = partial("--partial", "--case", "op=attn seed=1", fault="late")
        self.assertEqual(totals(said.stdout), (0, 1, 0))
        self.assertIn("check said yes, plan or run said HEED_E_UNSUPPORTED", said.stdout)

    def test_partial_goes_with_a_device(self):
        said = run("--partial")
        self.assertEqual(said.returncode, 2)
        self.assertIn("--partial goes with --device", said.stderr)

    def test_what_a_device_takes_is_learned(self):
        said = partial("--partial", "--cases", "60", "--family", "bits")
        self.assertEqual(said.returncode, 0, said.stdout[-2000:])
        takes = re.search(r"^# op=attn: cpu takes \(as --only has it\): (.*)$", said.stdout, re.M)
        self.assertIn("q=f16", takes.group(1).split())
        self.assertIn("ns=1", takes.group(1).split())
        self.assertIn("d=64,128", takes.group(1).split())
        accepted = re.search(r"^# cpu: accepted (\d+) cases, refused (\d+): ", said.stdout, re.M)
        self.assertGreaterEqual(int(accepted.group(1)), 60)
        self.assertGreater(int(accepted.group(2)), 0)
        passed, failed, skipped = totals(said.stdout)
        self.assertEqual((passed, failed), (int(accepted.group(1)), 0))
        self.assertLess(skipped, 60)

    def test_a_device_that_takes_nothing_has_passed_nothing(self):
        said = partial("--partial", "--cases", "5", "--only", "q=f32")
        self.assertEqual(said.returncode, 1)
        self.assertIn("no case was accepted", said.stdout)


class Subset(unittest.TestCase):
    def test_drawn_cases_are_in_the_subset(self):
        said = run("--device", "cpu", "--cases", "40", "--family", "bits",
                   "--only", "q=f32,bf16 ns=1,2 s0.lay=paged d=64")
        self.assertEqual(said.returncode, 0, said.stdout[-2000:])
        drawn = cases(said.stdout)
        self.assertGreaterEqual(len(drawn), 40)
        self.assertEqual({case.get("q", "f32") for case in drawn}, {"f32", "bf16"})
        self.assertEqual({case.get("ns", "1") for case in drawn}, {"1", "2"})
        self.assertEqual({case.get("s0.lay", "dense") for case in drawn}, {"paged"})
        self.assertEqual({case.get("d", "16") for case in drawn}, {"64"})

    def test_wrong_subsets_say_what_there_is(self):
        for text, wanted in (("q=f64", "q has no value 'f64'; it has f32 f16 bf16"),
                             ("zz=1", "op=attn has no axis 'zz'; it has batch h nq"),
                             ("ns", "'ns' is not axis=value"),
                             ("q=f32 q=f16", "q: no value is left")):
            said = run("--only", text)
            self.assertEqual(said.returncode, 2)
            self.assertEqual(said.stdout, "")
            self.assertEqual(len(said.stderr.splitlines()), 1)
            self.assertIn(wanted, said.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
