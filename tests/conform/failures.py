#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What follows a failure: failures.py HEED-CONFORM-FAULTY ZOO-PLUGIN FAULTY-DEVICE.C

The first program is heed-conform with a device "cpu" that is wrong where the attention has the
features that HEED_TEST_FAULT names (faulty_device.c). Cases are shrunk to these features, lines and
C programs repeat them, and files of results hold them. The programs are built by $CC with what
pkg-config says, and with the fault ($FAULTS) or without.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

FAULTY, ZOO, DEVICE = sys.argv[1:4]
COMPILER = shlex.split(os.environ.get("CC", "cc"))
FAULTS = shlex.split(os.environ.get("FAULTS", ""))
INCLUDE = pathlib.Path(DEVICE).resolve().parents[2] / "include"
BUILD = pathlib.Path(FAULTY).resolve().parents[2]
# Cases with most features, where a fault may be in each.
RICH = ("op=attn batch=3 h=4 d=24 dv=40 align=end sink=normal lse=plain fill=ties qs=padded "
        "os=negative ns=2 s0.nk=65 s0.hk=half s0.len=rt s0.mask=h s0.nt=2 s0.nb=2 "
        "s0.t0.kind=window s0.t1.kind=global s0.b0.kind=alibi s0.b1.kind=table s1.lay=listed "
        "s1.len=const seed=3")
PAGES = ("op=attn batch=1x3 h=4 q=bf16 qlen=const align=start cap=20 sink=normal s0.nk=70 s0.k=i8 "
         "s0.hk=1 s0.lay=paged s0.len=hostile s0.idx=rt s0.page=3 s0.causal=yes s0.mask=1 seed=5")
LARGE = "op=attn h=3 nq=130 d=64 dv=130 lse=plain s0.nk=130 s0.causal=yes align=end seed=9"
# Cases that the kernels of the zoo take.
DENSE = "op=attn h=4 nq=9 d=5 dv=6 align=end lse=plain qs=padded s0.nk=40 s0.hk=half seed=12"
CONSTANT = DENSE.replace("s0.hk=half", "s0.hk=half s0.len=const")
POOL = "op=pool batch=2 kernel=4 stride=3 n=70 d=7 y.s=padded seed=7"
SELECT = "op=select kind=topk count=3 nq=17 group=2 h=2 n=33 d=7 y.s=negative seed=7"
COPY = "op=copy rows=33 yrows=40 d=130 how=ring dst=to from=good len=rt seed=4"
# Of a case shrunk as far as it goes.
SMALLEST = {"batch": "1", "h": "1", "nq": "1", "d": "1", "dv": "1", "s0.nk": "1"}


def run(*arguments, **environment):
    return subprocess.run([str(word) for word in arguments], text=True, check=False,
                          env={**os.environ, "HEED_TEST_FAULT": "", **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def device(fault, *arguments):
    return run(FAULTY, "--device", "cpu", "--family", "bits", *arguments, HEED_TEST_FAULT=fault)


def plugin(kernel, *arguments, drawn=False):
    case = CONSTANT if kernel == "keeps_constant" else DENSE
    return run(FAULTY, "--plugin", ZOO, *(() if drawn else ("--case", case)), *arguments,
               ZOO=kernel)


def fields(line):
    return dict(word.split("=") for word in line.split())


def failures(text):
    """Of each failure that was shrunk: its line and reason, and those of the shrunk case."""
    found = re.findall(r"^not ok \d+ - \S+ case (.*)\n# (.*)\n# shrunk, \d+ tries: (.*)\n# (.*)\n",
                       text, re.M)
    return found


def build(path, *more):
    """The program of that source."""
    program = path.with_suffix("")
    done = run(*COMPILER, "-std=c17", "-Wall", "-Wextra", "-Werror", path, *more, "-I", INCLUDE,
               "-L", BUILD, "-lheed", "-lm", "-ldl", "-o", program)
    if done.returncode:
        raise AssertionError(done.stderr[-3000:])
    return program


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heed-failures-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Shrinking(Folder):
    def shrunk(self, fault, case):
        said = device(fault, "--case", case)
        self.assertEqual(said.returncode, 1)
        before, _, line, why = failures(said.stdout)[0]
        self.assertLessEqual(len(line), len(before))
        self.assertIn("against the reference: ", why)
        return line, said.stdout

    def test_attention_keeps_what_the_fault_needs(self):
        line, _ = self.shrunk("mask groups", RICH)
        left = fields(line)
        self.assertIn(left.pop("s0.hk"), ("1", "half"))
        self.assertEqual(left.pop("s0.mask"), "1")
        self.assertIn(left.pop("h", "2"), ("2", "3", "4"))
        self.assertLessEqual(int(left.pop("seed")), 8)
        del left["op"]
        self.assertEqual(left, {key: SMALLEST[key] for key in SMALLEST if key != "h"})

    def test_terms_and_biases_that_matter_stay(self):
        left = fields(self.shrunk("bias window", RICH)[0])
        self.assertEqual((left["s0.nt"], left["s0.nb"], left["s0.t0.kind"]), ("1", "1", "window"))
        self.assertNotIn("ns", left)

    def test_an_operation_beside_attention(self):
        left = fields(self.shrunk("copy", COPY)[0])
        self.assertEqual(left["op"], "copy")
        self.assertEqual({left[key] for key in ("batch", "h", "rows", "yrows", "d")}, {"1"})

    def test_the_line_repeats_it(self):
        line, text = self.shrunk("mask", PAGES)
        command = re.search(r"^# repeat: (.*)$", text, re.M).group(1)
        said = run("sh", "-c", command, HEED_TEST_FAULT="mask")
        self.assertEqual(said.returncode, 1, said.stderr)
        self.assertIn("not ok 1 - cpu case " + line, said.stdout)
        self.assertIn(failures(text)[0][3], said.stdout)

    def test_the_verdict_stays(self):
        for kernel, verdict in (("keeps_constant", "kept"), ("head_wrong", "bound")):
            _, why, _, shrunk_why = failures(plugin(kernel).stdout)[0]
            self.assertEqual((why.split(":")[0], shrunk_why.split(":")[0]), (verdict, verdict))

    def test_none(self):
        said = device("mask", "--case", RICH, "--shrink", "0")
        self.assertEqual(failures(said.stdout), [])
        self.assertNotIn("shrunk", said.stdout)
        self.assertIn("# repeat: ", said.stdout)


@unittest.skipUnless(shutil.which("pkg-config"), "there is no pkg-config")
class Programs(Folder):
    def program(self, text):
        """The source that the run has written for its first failure."""
        path = pathlib.Path(re.search(r"^# program: (.*)$", text, re.M).group(1))
        self.assertEqual(path.parent, self.folder)
        return path

    def device_program(self, fault, case, verdict="bits"):
        """Fails with the fault, in the element and with the bits that the kit names; else not."""
        said = device(fault, "--case", case, "--repro", self.folder)
        why = failures(said.stdout)[0][3]
        self.assertIn(f"failure-1-cpu-{verdict}.c\n", said.stdout)
        path = self.program(said.stdout)
        good = run(build(path))
        self.assertEqual((good.returncode, good.stdout), (0, "nothing differs\n"))
        bad = run(build(path, DEVICE, *FAULTS), HEED_TEST_FAULT=fault)
        self.assertEqual(bad.returncode, 1, bad.stdout)
        wanted = re.search(r"wanted (\S+), got", bad.stdout)
        self.assertEqual(int(re.search(r"wanted 0x(\w+) ", why).group(1), 16),
                         self.bits(float.fromhex(wanted.group(1))))
        return path

    @staticmethod
    def bits(x):
        import struct
        return struct.unpack("<I", struct.pack("<f", x))[0]

    def test_devices(self):
        for fault, case in (("sinks groups mask", RICH), ("bias window", RICH),
                            ("pages groups", PAGES), ("bytes", PAGES)):
            with self.subTest(fault):
                text = self.device_program(fault, case).read_text(encoding="utf-8")
                self.assertNotIn("_load(\"", text)
                if "window" in fault:
                    self.assertIn("{ .kind = HEED_TERM_WINDOW", text)
                if "pages" in fault:
                    self.assertIn(".layout = HEED_LAYOUT_PAGED", text)

    def test_devices_in_another_layout_and_alone(self):
        self.device_program("natural", LARGE + " os=padded", "layout")
        text = self.device_program("single", LARGE + " batch=3", "alone").read_text(encoding="utf-8")
        self.assertIn(".o = { .dtype = HEED_F32, .ndim = 4, .shape = { 1, 1, 1, 1 }", text)

    def test_large_arrays_lie_beside_it(self):
        said = device("large", "--case", LARGE, "--repro", self.folder)
        path = self.program(said.stdout)
        self.assertEqual({file.name for file in self.folder.glob("*.bin")},
                         {f"{path.stem}.k0.bin"})
        program = build(path, DEVICE, *FAULTS)
        bad = subprocess.run([program], text=True, stdout=subprocess.PIPE, check=False,
                             cwd=self.folder, env={**os.environ, "HEED_TEST_FAULT": "large"})
        self.assertEqual(bad.returncode, 1, bad.stdout)
        self.assertIn("o[0]", bad.stdout)
        elsewhere = subprocess.run([program], text=True, stdout=subprocess.PIPE, check=False,
                                   cwd="/")
        self.assertEqual(elsewhere.returncode, 2)
        self.assertIn(".k0.bin is wanted", elsewhere.stdout)

    def test_plugins(self):
        # The kernel without a fault claims no exact bits and refuses constant data.
        for kernel, ends, good in (("head_wrong", 1, 0), ("writes_once", 1, 0),
                                   ("claims_exact", 1, 1), ("reads_beside", -11, 0),
                                   ("keeps_constant", -11, 2)):
            with self.subTest(kernel):
                said = plugin(kernel, "--repro", self.folder)
                program = build(self.program(said.stdout))
                bad = run(program, ZOO=kernel)
                self.assertEqual(bad.returncode, ends, bad.stdout)
                self.assertEqual(run(program, ZOO="none").returncode, good)

    def test_plugins_of_other_operations(self):
        for op, kernel, case in (("pool", "window_short", POOL), ("pool", "row_unwritten", POOL),
                                 ("select", "token_dropped", SELECT)):
            with self.subTest(kernel):
                zoo = ZOO.replace("heed-zoo.", f"heed-zoo-{op}.")
                said = run(FAULTY, "--plugin", zoo, "--case", case, "--repro", self.folder,
                           ZOO=kernel)
                self.assertEqual(said.returncode, 1, said.stdout)
                self.assertLess(len(failures(said.stdout)[0][2]), len(case))
                program = build(self.program(said.stdout))
                self.assertEqual(run(program, ZOO=kernel).returncode, 1)
                good = run(program, ZOO="none")
                self.assertEqual((good.returncode, good.stdout), (0, "nothing differs\n"))

    def test_devices_of_other_operations(self):
        path = self.device_program("copy", COPY)
        self.assertIn("static heed_copy_desc desc", path.read_text(encoding="utf-8"))


class Reasons(unittest.TestCase):
    def test_what_a_process_left_or_how_it_ended_is_said_in_a_sentence(self):
        for kernel, reason in (
                ("lowers_limits", "changed: run left limits of the process otherwise than before"),
                ("exits_at_load", "exit: the process ended in loading"),
                ("exits_at_entry", "exit: the process ended in heed_kernel_entry")):
            self.assertIn(f"\n# {reason}\n", plugin(kernel, "--shrink", "0").stdout)

    def test_the_axis_that_tells_is_named_and_no_other(self):
        said = plugin("head_wrong", "--cases", "100", "--shrink", "0", drawn=True).stdout
        self.assertRegex(said, r"(?m)^# wrong heads: [1-3]\b.*; right ones among such: \d+, others")
        self.assertNotRegex(said, r"(?m)^# wrong (rows|channels|last)")
        said = plugin("scale_forgotten", "--cases", "30", "--shrink", "0", drawn=True).stdout
        self.assertIn("\n# wrong rows, channels, heads, batch items, blocks of keys: any\n", said)

    def test_pages_that_are_absent_are_said(self):
        absent = "pages of -1 or beyond the last"
        said = device("pages", "--case", PAGES, "--shrink", "0").stdout
        self.assertRegex(said, f"(?m)^not ok .*\n# .*; its wrong rows have keys on {absent}")
        said = device("pages", "--case", PAGES.replace("hostile", "const").replace("nk=70", "nk=1"),
                      "--shrink", "0").stdout
        self.assertRegex(said, "(?m)^not ok ")
        self.assertNotIn(absent, said)

    def test_a_run_that_passes_says_what_matters(self):
        said = plugin("none", "--cases", "50", drawn=True).stdout
        comments = [line for line in said.splitlines() if line.startswith("#")]
        self.assertLess(len(comments), 12, said)
        self.assertRegex(said, r"(?m)^# pairs of levels: .*--verbose names them")
        found = re.search(r"(?m)^# results: (\d+) of drawn cases, (\d+) of cases written down",
                          said)
        plan = re.search(r"(?m)^1\.\.(\d+)$", said)
        self.assertEqual(int(found[1]), 50)
        self.assertEqual(int(found[1]) + int(found[2]), int(plan[1]))
        self.assertIn(": legal but not covered\n",
                      plugin("none", "--cases", "50", "--verbose", drawn=True).stdout)


class Files(Folder):
    def test_json(self):
        path = self.folder / "results.jsonl"
        said = plugin("head_wrong", "--cases", "30", "--shrink", "1", "--json", path, "--only",
                      "ns=1 q=f32 o=f32 s0.k=f32 s0.v=f32 d=16,64 dv=16,64 h=1,4 s0.hk=half,h "
                      "fill=normal", drawn=True)
        head, *cases, last = [json.loads(line)
                              for line in path.read_text(encoding="utf-8").splitlines()]
        self.assertEqual((head["type"], last["type"]), ("run", "summary"))
        self.assertEqual(head["options"][:2], ["--plugin", ZOO])
        self.assertTrue(head["version"] and head["build"] and head["processor"])
        self.assertEqual(said.stdout.splitlines()[-1],
                         "{passed} passed, {failed} failed, {skipped} skipped".format(**last))
        for status, count in (("pass", "passed"), ("fail", "failed"), ("skip", "skipped")):
            self.assertEqual(sum(case["status"] == status for case in cases), last[count])
        self.assertIn(f"\n# failed cases of attention: {last['failed']} with wrong elements of o, 0 ",
                      said.stdout)  # what is tried to make one smaller is no case
        for case in cases:
            self.assertEqual({"type", "status", "op", "device", "family", "case", "seconds"}
                             - set(case), set())
            self.assertEqual(case["op"], "attn")
            self.assertEqual("verdict" in case, case["status"] == "fail")
            self.assertEqual("reason" in case, case["status"] != "pass")
        failed = [case for case in cases if case["status"] == "fail"]
        self.assertGreater(failed[0]["error_over_bound"], 1)
        self.assertEqual(failed[0]["verdict"], failed[0]["reason"].split(":")[0])
        self.assertIn("shrunk", failed[0])
        self.assertNotIn("shrunk", failed[-1])
        self.assertTrue(all("--case" in case["repeat"] for case in failed))

    def test_junit(self):
        path = self.folder / "results.xml"
        device("copy", "--op", "copy", "--cases", "30", "--shrink", "1", "--junit", path)
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, "testsuites")
        suites = {suite.get("name"): suite for suite in root}
        self.assertEqual(set(suites), {"cpu copy"})
        for suite in suites.values():
            cases = suite.findall("testcase")
            self.assertEqual(int(suite.get("tests")), len(cases))
            self.assertEqual(int(suite.get("failures")), len(suite.findall("testcase/failure")))
            self.assertEqual(int(suite.get("skipped")), len(suite.findall("testcase/skipped")))
            self.assertEqual(suite.get("errors"), "0")
            self.assertRegex(suite.get("timestamp"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$")
            names = {p.get("name") for p in suite.findall("properties/property")}
            self.assertLessEqual({"device", "version", "build", "processor", "seed", "options"},
                                 names)
            for case in cases:
                self.assertEqual(case.get("classname"), "heed.cpu.copy.case")
                self.assertTrue(case.get("name").startswith("op=copy"))
                self.assertGreaterEqual(float(case.get("time")), 0)
        self.assertEqual(int(root.get("failures")),
                         sum(int(suite.get("failures")) for suite in suites.values()))
        failure = root.find("testsuite/testcase/failure")
        self.assertEqual(failure.get("type"), "bits")
        self.assertIn("against the reference", failure.get("message"))
        self.assertIn("shrunk: op=copy", failure.text)
        self.assertIn("repeat: ", failure.text)

    def test_standard_output(self):
        said = device("", "--op", "merge", "--cases", "10", "--json", "-")
        for line in said.stdout.splitlines():
            json.loads(line)
        self.assertEqual(said.returncode, 0)
        said = device("", "--case", RICH, "--junit", "-", "--json", self.folder / "json")
        self.assertEqual(xml.etree.ElementTree.fromstring(said.stdout).tag, "testsuites")

    def test_files_that_cannot_be(self):
        said = device("", "--case", RICH, "--json", self.folder / "none" / "file")
        self.assertEqual(said.returncode, 1)
        self.assertIn("cannot write to ", said.stderr)
        self.assertEqual(device("", "--json", "-", "--junit", "-").returncode, 2)
        if pathlib.Path("/dev/full").exists():
            said = device("", "--case", RICH, "--json", "/dev/full")
            self.assertEqual(said.returncode, 1)
            self.assertIn("not whole", said.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
