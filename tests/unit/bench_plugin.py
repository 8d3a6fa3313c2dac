#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed-bench --plugin: bench_plugin.py HEED-BENCH PLUGIN HEED-INFO [ZOO [OF_DEVICE]], the example, which
takes dense attention. ZOO: faulty kernels; OF_DEVICE: in memory of a device."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from terminal import drawn, screen, watch  # noqa: E402  pylint: disable=wrong-import-position

BENCH, PLUGIN, INFO, *ZOO = sys.argv[1:]


def run(*arguments, **environment):
    return subprocess.run([BENCH, "--quick", *arguments], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, **environment})


class Plugin(unittest.TestCase):
    def test_what_it_takes_is_measured_and_the_rest_is_listed(self):
        said = run("--plugin", PLUGIN, "--json", "dense:n=96", "window:n=96,w=7", "copy:n=16",
                   "--workload", "causal:n=64,h=4,hk=2")
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        dense, window, copy, causal = map(json.loads, said.stdout.splitlines())
        for line in (dense, causal):
            self.assertEqual((line["device"], line["vs"]), ("plug-in", "cpu"))
            self.assertLessEqual(line["ratio_min"], line["ratio"])
            self.assertGreater(line["ratio"], 0)
            self.assertGreater(line["share"], 0)
            self.assertNotEqual(line["isa"], "unknown")
        self.assertEqual(window["refused"], "sources[0].terms")
        self.assertTrue(window["reason"])
        self.assertIn("heed_copy_plan", copy["reason"])

    def test_a_table_says_the_same(self):
        said = run("--plugin", PLUGIN, "--threads", "2", "dense:n=64", "window:n=64,w=3")
        self.assertEqual(said.returncode, 0)
        # What a build without threads says.
        self.assertIn(said.stderr, ("", "heed-bench: device cpu has 1 worker, not 2\n"))
        self.assertIn("cpu / plug-in\n", said.stdout)
        self.assertIn("refused: sources[0].terms: ", said.stdout)
        self.assertIn("\nplug-in: ", said.stdout)

    def test_one_in_memory_of_a_device_is_not_measured(self):
        if len(ZOO) < 2:
            self.skipTest("none was built")
        said = run("--plugin", ZOO[1], "dense:n=64")
        self.assertEqual((said.returncode, said.stdout), (2, ""))
        self.assertIn("memory of a device, which is not measured", said.stderr)

    def test_beside_a_driver_only_wall_time_counts(self):
        names = subprocess.run([INFO, "--names"], text=True, check=True, stdout=subprocess.PIPE)
        if "opencl:0\n" not in names.stdout:
            self.skipTest("there is no OpenCL device")
        beside = ("--plugin", PLUGIN, "--device", "opencl:0", "dense:n=64")
        said = run(*beside, "--json")
        row = json.loads(said.stdout)
        self.assertEqual((row["clock"], row["vs"], row["threads"]), ("wall", "opencl:0", 1))
        self.assertIn("opencl:0 / plug-in\n", run(*beside).stdout)
        said = run(*beside, "--clock", "cpu")
        self.assertEqual((said.returncode, said.stdout), (2, ""))

    def test_a_claim_that_is_less_than_what_is_asked_for_is_refused(self):
        asked = ("--plugin", PLUGIN, "--json", "dense:n=64", "--numerics")
        said = run(*asked, "exact")
        row = json.loads(said.stdout)
        self.assertEqual((said.returncode, row["refused"]), (1, "numerics"))
        self.assertEqual(row["reason"], "the plug-in claims repeat only")
        for numerics in ("repeat", "fast", "best"):
            said = run(*asked, numerics)
            self.assertEqual((said.returncode, said.stderr), (0, ""))
            self.assertEqual(json.loads(said.stdout)["numerics"], "repeat")

    def test_nothing_measured_is_no_success(self):
        self.assertEqual(run("--plugin", PLUGIN, "window:n=64,w=3").returncode, 1)

    @unittest.skipUnless(ZOO, "there are no faulty kernels")
    def test_one_that_ends_the_process_has_failed(self):
        for kernel, how in (("exits", "exit status 0"), ("exits_quietly", "exit status 0"),
                            ("exits_at_entry", "exit status 0"),
                            ("exits_at_load", "exit status 0"), ("aborts", "signal 6")):
            for form in ([], ["--json"]):
                said = run("--plugin", ZOO[0], *form, "dense:n=64", ZOO=kernel)
                self.assertEqual((said.returncode, said.stderr),
                                 (1, f"heed-bench: --plugin {ZOO[0]}: the kernel ended the "
                                     f"process ({how})\n"))
                self.assertEqual(form and said.stdout, form and "")

    @unittest.skipUnless(ZOO, "there are no faulty kernels")
    def test_what_one_prints_is_no_result(self):
        said = run("--plugin", ZOO[0], "--json", "dense:n=64", "dense:n=32", ZOO="prints_tap")
        self.assertEqual([json.loads(row)["n"] for row in said.stdout.splitlines()], [64, 32])
        self.assertIn("not ok 1 - judged\n", said.stderr)
        said = run("--plugin", ZOO[0], "dense:n=64", ZOO="prints_tap")
        self.assertEqual((said.returncode, len(said.stdout.splitlines())), (0, 5), said.stdout)

    def test_an_interrupt_leaves_nothing_on_the_terminal(self):
        code, _, written, _ = watch([BENCH, "--plugin", PLUGIN, "--pairs", "1000", "dense:n=128"],
                                    stop=drawn)
        self.assertEqual((code, any(screen(written))), (-signal.SIGINT, False), written)

    def test_wrong_ones_are_one_line(self):
        for arguments in (("--plugin", "no such file"), ("--plugin", PLUGIN, "--vs", "reference"),
                          ("--plugin", PLUGIN, "nosuch"), ("--plugin", BENCH)):
            said = run(*arguments)
            self.assertEqual((said.returncode, said.stdout), (2, ""))
            self.assertEqual(len(said.stderr.splitlines()), 1, said.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
