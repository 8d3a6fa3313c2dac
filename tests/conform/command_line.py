#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The command line of heed-conform: command_line.py HEED-CONFORM HEED-CONFORM-PARTIAL

The second program is the first one with a device "cpu" that takes only some of the legal cases
(partial_device.c), and with a fault in it where HEED_TEST_FAULT says so.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

CONFORM, PARTIAL = sys.argv[1:3]
TOP = pathlib.Path(__file__).resolve().parents[2]
# What the partial device takes, but for the levels of fields that it does not look at.
TAKES = ("d=64,128 dv=64,128 q=f16 o=f32 ql=dense sink=none lse=none ns=1 s0.k=f16 s0.v=f16 "
         "s0.lay=dense s0.mask=none s0.rmask=none s0.nt=0,1 s0.nb=0 s0.t0.kind=window s0.t0.block=1 "
         "s0.t0.step=1")


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
        whole = partial("--case", "op=attn seed=1")
        self.assertEqual(whole.returncode, 1)
        self.assertEqual(totals(whole.stdout), (0, 1, 0))
        self.assertIn("HEED_E_UNSUPPORTED in ", whole.stdout)

    def test_a_refusal_of_a_partial_device_is_a_skip_and_no_success(self):
        said = partial("--partial", "--case", "op=attn seed=1")
        self.assertEqual(said.returncode, 3, said.stdout)
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
        said = partial("--partial", "--cases", "40", "--family", "bits")
        self.assertEqual(said.returncode, 0, said.stdout[-2000:])
        self.assertIn(f"# op=attn: cpu takes (as --only has it): {TAKES}\n", said.stdout)
        accepted = re.search(r"^# cpu: accepted (\d+) cases, refused (\d+): ", said.stdout, re.M)
        self.assertEqual(int(accepted.group(1)), 40)
        self.assertGreater(int(accepted.group(2)), 0)
        passed, failed, skipped = totals(said.stdout)
        self.assertEqual((passed, failed), (40, 0))
        # Lines that every device is asked, whatever it takes; draws are learned.
        lines = (TOP / "tools/conform/ops/attn/corners.c").read_text().count('"op=attn ')
        self.assertLessEqual(skipped, lines)

    def test_a_device_that_takes_nothing_has_passed_nothing(self):
        said = partial("--partial", "--cases", "5", "--only",
                       TAKES.replace("q=f16", "q=f32"))
        self.assertEqual(said.returncode, 3)
        self.assertIn("no case was accepted", said.stdout)


class Failures(unittest.TestCase):
    """Of a device with a fault: which rows and channels are wrong."""

    def quiet(self, fault, cases, more=""):
        said = partial("--partial", "--quiet", "--family", "bits", "--cases", cases, "--only",
                       TAKES.replace("d=64,128 dv=64,128", "d=128 dv=128") + more, fault=fault)
        self.assertNotRegex(said.stdout, r"(?m)^(not )?ok ")
        self.assertEqual(said.returncode, 1 if fault else 0)
        self.assertEqual(totals(said.stdout)[1] > 0, bool(fault))
        return said.stdout

    def test_rows_at_the_ends_of_blocks(self):
        said = self.quiet("window", "200", " nq=130")
        self.assertIn("# wrong rows: 63 mod 64; right ones among such: ", said)
        self.assertNotIn("# wrong channels", said)

    def test_channels_of_the_second_half(self):
        said = self.quiet("channels", "20")
        self.assertNotIn("# wrong rows", said)
        self.assertIn("# wrong channels, in such rows: 64 to 127; right ones among such: 0", said)

    def test_none(self):
        self.assertNotIn("wrong", self.quiet("", "20"))


class Subset(unittest.TestCase):
    def test_drawn_cases_are_in_the_subset(self):
        said = run("--device", "cpu", "--cases", "40", "--family", "bits",
                   "--only", "q=f32,bf16 h=1,4 s0.lay=paged d=64 ns=1 s0.nt=0 s0.nb=0 s0.mask=none")
        self.assertEqual(said.returncode, 0, said.stdout[-2000:])
        drawn = cases(said.stdout)
        self.assertGreaterEqual(len(drawn), 40)
        self.assertEqual({case.get("q", "f32") for case in drawn}, {"f32", "bf16"})
        self.assertEqual({case.get("h", "2") for case in drawn}, {"1", "4"})
        self.assertEqual({case.get("s0.lay", "dense") for case in drawn}, {"paged"})
        self.assertEqual({case.get("d", "16") for case in drawn}, {"64"})

    def test_wrong_subsets_say_what_there_is(self):
        for text, wanted in (("q=f64", "q has no value 'f64'; it has f32 f16 bf16"),
                             ("zz=1", "op=attn has no axis 'zz'; it has batch h nq"),
                             ("ns", "'ns' is not axis=value"),
                             ("", "it names no axis"), ("  ", "it names no axis"),
                             ("q=f32 q=f16", "q: no value is left")):
            said = run("--only", text)
            self.assertEqual(said.returncode, 2)
            self.assertEqual(said.stdout, "")
            self.assertEqual(len(said.stderr.splitlines()), 1)
            self.assertIn(wanted, said.stderr)


class Invariance(unittest.TestCase):
    ITEMS = "op=attn batch=2 h=1 nq=3 d=8 dv=8 s0.nk=20 s0.lay=paged s0.page=4 s0.len=rt seed=3"
    KEPT = re.compile(r"^# (\w+) +(kept|broken): (\d+) cases in (\d+) forms \(", re.M)

    def test_a_device_keeps_every_property(self):
        for device in "cpu", "reference":
            said = run("--device", device, "--family", "invariance", "--case", self.ITEMS)
            self.assertEqual((said.returncode, totals(said.stdout)), (0, (1, 0, 0)), said.stdout)
            kept = self.KEPT.findall(said.stdout)
            self.assertEqual({verdict for _, verdict, _, _ in kept}, {"kept"})
            names = {name for name, *_ in kept}
            self.assertLessEqual({"repeat", "layout", "batch", "chunk"}, names)
            self.assertEqual("threads" in names, device == "cpu")

    def test_a_property_that_is_broken_is_named_and_repeated_alone(self):
        said = partial("--partial", "--family", "invariance", "--cases", "12", "--shrink", "1",
                       "--only", TAKES.replace("d=64,128 dv=64,128", "d=64 dv=64") +
                       " batch=2 nq=1,2,7", fault="batch")
        self.assertEqual(said.returncode, 1, said.stdout[-2000:])
        reasons = re.findall(r"^not ok .*\n# (\w+): (.*)", said.stdout, re.M)
        self.assertEqual({name for name, _ in reasons}, {"batch"})
        self.assertRegex(reasons[0][1], r"o differs first at b=\d h=\d row=\d channel=\d+: wanted "
                                        r"0x[0-9a-f]{8} \(\S+\) got 0x[0-9a-f]{8} \(\S+\)")
        self.assertEqual(dict(row[:2] for row in self.KEPT.findall(said.stdout))["batch"], "broken")
        repeat = re.search(r"^# repeat: .* --family invariance --property batch --case '(.*)'$",
                           said.stdout, re.M).group(1)
        self.assertIn(" nq=1 ", repeat)
        self.assertIn("# shrunk, ", said.stdout)
        again = partial("--partial", "--property", "batch", "--case", repeat, fault="batch")
        self.assertEqual(totals(again.stdout), (0, 1, 0))
        self.assertEqual([row[0] for row in self.KEPT.findall(again.stdout)], ["batch"])

    def test_what_is_not_judged_is_no_success(self):
        said = run("--device", "cpu", "--property", "repeat,batch", "--case",
                   "op=attn batch=none nq=0 seed=1")
        self.assertEqual((said.returncode, totals(said.stdout)), (3, (1, 0, 0)), said.stdout)
        self.assertIn("# batch   not judged\n", said.stdout)
        self.assertIn("# no success: a property that was asked for was in no case judged",
                      said.stdout)

    def test_wrong_properties(self):
        for arguments, wanted in ((["--property", "bach"], "repeat, threads, batch, chunk or layout"),
                                  (["--property", ""], "repeat, threads, batch, chunk or layout"),
                                  (["--property", "batch", "--family", "bits"],
                                   "--property goes with --family invariance")):
            said = run(*arguments)
            self.assertEqual((said.returncode, said.stdout), (2, ""))
            self.assertIn(wanted, said.stderr)

    def test_properties_are_listed(self):
        listed = run("--help").stdout.partition("\nProperties:\n")[2].partition("\n\n")[0]
        self.assertEqual([line.split()[0] for line in listed.splitlines()],
                         ["repeat", "threads", "layout", "batch", "chunk"])


class Plugin(unittest.TestCase):
    """Options that do not go with a kernel of somebody else say so in one line."""

    def test_options_that_do_not_go_with_it(self):
        for arguments, wanted in ((["--device", "cpu"], "--device goes with --plugin as opencl:N"),
                                  (["--family", "meta"], "families exact, bits, bound, named and inv"),
                                  (["--only", "num=fast"], "num is what the plug-in claims"),
                                  ([], 'wanted a file that there is, got "./none.so"')):
            said = run("--plugin", "./none.so", *arguments)
            self.assertEqual(said.returncode, 2)
            self.assertEqual(said.stdout, "")
            self.assertEqual(len(said.stderr.splitlines()), 1)
            self.assertIn(wanted, said.stderr)

    def test_families_without_a_case_of_theirs_are_no_success(self):
        said = run("--device", "cpu", "--family", "bits", "--cases", "20", "--only",
                   "nq=0 ql=dense ns=1 s0.nt=0 s0.nb=0")
        self.assertEqual(said.returncode, 3, said.stdout[-500:])
        self.assertIn("# no success: in no case of attention a row saw two keys", said.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
