#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed-conform --peer, --dump and --judge: good kernels pass, faults have names, files are hostile.

test.py HEED_CONFORM EXAMPLE_PEER. Plain Python, without NumPy.
"""

import array
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import peer

CONFORM, EXAMPLE = sys.argv[1:3]
USAGE = subprocess.run([CONFORM, "--help"], text=True, capture_output=True, check=True).stdout
OPERATIONS = re.findall(r"^  (\w+)$", USAGE.partition("\nOperations:\n  attn\n")[2], re.MULTILINE)
REASON = re.compile(r"^not ok .*\n# (\w+):", re.MULTILINE)
LAST = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped\n\Z")
SMALL = "d=8,16,1 dv=16,1 q=f32 o=f32 s0.k=f32 s0.v=f32 nq=1,2,7 s0.nk=3,16,33 ns=1"
# As many axes as faults need, so that peers are asked little.
FEW = SMALL + " s0.nt=0 s0.nb=0 s0.len=none qlen=none qpos=none sink=none cap=0 lse=none int=i32"
NO_PAGE = "op=attn s0.lay=paged s0.len=const s0.page=0 s0.nk=4 seed=1"
# What else may stand beside the verdict: the fault may hide, or show in another way.
FAULTS = {
    "rubbish": {}, "rubbish_long": {}, "rubbish_json": {}, "rubbish_twice": {}, "crash": {}, "exit": {}, "hang": {},
    "error": {}, "unwritten": {}, "input": {}, "shape": {}, "dtype": {}, "missing": {}, "file": {},
    "file_short": {}, "file_pipe": {}, "bound": {}, "nan": {"bound"},
    "repeat": {"claim": "repeat"}, "bits": {"claim": "exact"},
}


def conform(*arguments, **more):
    """The exit status, the last line's numbers, and how often which verdict was given."""
    done = subprocess.run([CONFORM, *arguments], text=True, capture_output=True, check=False,
                          timeout=120, **more)
    last = LAST.search(done.stdout)
    if not last:
        raise AssertionError(f"no last line: {done.stdout[-400:]}{done.stderr[-400:]}")
    return (done.returncode, *map(int, last.groups()),
            collections.Counter(REASON.findall(done.stdout)))


def command(fault):
    return shlex.join([sys.executable, peer.__file__, EXAMPLE, fault])


class Peers(unittest.TestCase):
    def test_a_good_peer_passes(self):
        for ask, only in ((["--ask"], SMALL), ([], FEW),
                          (["--ask"], SMALL + " fill=special s0.nb=1 s0.b0.fill=inf")):
            status, passed, failed, _, reasons = conform(
                "--peer", shlex.join([sys.executable, EXAMPLE]), *ask, "--cases", "40", "--only",
                only)
            self.assertEqual((status, failed), (0, 0), reasons)
            self.assertGreaterEqual(passed, 40)

    def test_every_fault_has_its_name(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for name, (said, wrong) in zip(FAULTS, pool.map(self.fault, FAULTS)):
                self.assertIsNone(wrong, f"{name}: {said}")

    @staticmethod
    def fault(name):
        more = FAULTS[name]
        claim = ["--claim", more["claim"]] if isinstance(more, dict) and more else []
        wanted = name.partition("_")[0]
        few = ["--cases", "1", "--timeout", "1"] if name == "hang" else ["--cases", "16"]
        said = conform("--peer", command(name), "--ask", "--shrink", "0", "--only", FEW, *few,
                       *claim)
        status, _, failed, _, reasons = said
        others = set(reasons) - {wanted} - (more if isinstance(more, set) else set())
        good = status == 1 and failed and not others and reasons[wanted]
        return said, None if good else "another verdict"

    def test_properties(self):
        """A good peer keeps them, one with a fault breaks that of its name."""
        for fault, wanted in (("none", {}), ("batch", {"batch"}), ("chunk", {"chunk"})):
            few = FEW + (" batch=1 nq=2,7" if fault == "chunk" else " batch=2 nq=2,7")
            status, passed, failed, _, reasons = conform(
                "--peer", command(fault), "--ask", "--family", "invariance", "--cases", "4",
                "--shrink", "0", "--only", few)
            self.assertEqual((status, set(reasons)), (1 if wanted else 0, set(wanted)), fault)
            self.assertGreater(failed if wanted else passed, 0)

    def test_a_peer_that_takes_nothing_has_not_passed(self):
        refuses = "import sys\nfor _ in sys.stdin: print('{\"status\": \"refused\", " \
                  "\"field\": \"all\"}', flush=True)"
        said = conform("--peer", shlex.join([sys.executable, "-c", refuses]), "--cases", "5",
                       "--ask", "--only", SMALL)
        self.assertEqual(said[:4], (3, 0, 0, 0))

    def test_a_peer_that_does_not_read_hangs(self):
        """Nobody reads the questions, of which the pipe is full."""
        answers, questions = os.pipe(), os.pipe()
        os.set_blocking(questions[1], False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(questions[1], b"x" * 4096)
        os.set_blocking(questions[1], True)
        said = conform("--peer", f"fd:{answers[0]},{questions[1]}", "--timeout", "1", "--shrink",
                       "0", "--case", "op=attn seed=1", pass_fds=(answers[0], questions[1]))
        for end in answers + questions:
            os.close(end)
        self.assertEqual((said[0], dict(said[4])), (1, {"hang": 1}))

    def test_a_kit_without_standard_input_gives_its_peer_one(self):
        call = [CONFORM, "--peer", shlex.join([sys.executable, EXAMPLE]), "--case",
                "op=attn seed=1"]
        done = subprocess.run(["sh", "-c", shlex.join(call) + " <&-"], text=True,
                              capture_output=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_peer_that_answers_nothing_has_failed(self):
        for peer, word in (("true", "exit"), ("yes", "rubbish"), ("cat", "rubbish"),
                           ("kill -9 $$", "crash"), ("sleep 100", "hang")):
            for ask in ([], ["--ask"])[:1 if word == "hang" else 2]:
                said = conform("--peer", peer, *ask, "--timeout", "1", "--only", FEW)
                self.assertEqual((said[0], set(said[4])), (1, {word}), peer)
                done = subprocess.run([CONFORM, "--peer", peer, *ask, "--timeout", "1", "--lines",
                                       "--only", FEW], text=True, capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(f"heed-conform: --peer: given up: {word}: ", done.stderr)

    def test_why_it_is_given_up_is_said(self):
        done = subprocess.run([CONFORM, "--peer", "exit 7", "--cases", "1", "--only", FEW],
                              text=True, capture_output=True, check=False, timeout=60)
        self.assertIn("exit: the peer ended with status 7", done.stdout)

    def test_a_peer_that_cannot_be_started_is_wrong_usage(self):
        with tempfile.TemporaryDirectory() as folder:
            plain = pathlib.Path(folder, "plain")
            plain.write_text("no program", encoding="utf-8")
            for peer, why in (("/no/such/peer", "No such file or directory"),
                              (shlex.quote(str(plain)), "Permission denied")):
                for more in ([], ["--ask"], ["--case", "op=attn seed=1"], ["--lines"]):
                    done = subprocess.run([CONFORM, "--peer", peer, *more], text=True,
                                          capture_output=True, check=False, timeout=60)
                    self.assertEqual(done.returncode, 2, done.stdout)
                    self.assertIn(f"heed-conform: --peer {peer}: cannot be started: {why}\n",
                                  done.stderr)
                    self.assertEqual(done.stdout, "")

    def test_arrays_are_in_the_folder_for_them_however_long_its_name(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder, 9 * ("a" * 120 + "/"))
            place.mkdir(parents=True)
            done = subprocess.run([CONFORM, "--peer", shlex.join([sys.executable, EXAMPLE]),
                                   "--cases", "2", "--only", FEW], text=True, check=False,
                                  capture_output=True, timeout=60,
                                  env=dict(os.environ, TMPDIR=str(place)))
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual(list(place.iterdir()), [])
            told = pathlib.Path(folder, "told")
            subprocess.run([CONFORM, "--peer", f"head -n 1 >{shlex.quote(str(told))}", "--case",
                            "op=attn seed=1", "--shrink", "0"], check=False, timeout=60,
                           stdout=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=str(place)))
            self.assertIn(str(place) + "/heed-", told.read_text("utf-8"))

    def test_wrong_options(self):
        for wrong in (["--json", "/dev/null"], ["--repro", "/dev/null/no"],
                      ["--peer", "cat"], ["--dump", "/dev/null/no"]):
            done = subprocess.run([CONFORM, "--judge", ".", *wrong], text=True,
                                  capture_output=True, check=False, timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)
        done = subprocess.run([CONFORM, "--judge", "/dev/null"], text=True, capture_output=True,
                              check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)

    def test_who_is_interrupted_leaves_no_files(self):
        with tempfile.TemporaryDirectory() as folder:
            child = subprocess.Popen([CONFORM, "--peer", command("hang"), "--ask", "--cases", "9",
                                      "--timeout", "50", "--only", FEW], stdout=subprocess.PIPE,
                                     env={**os.environ, "TMPDIR": folder}, text=True)
            child.stdout.readline()     # what it takes
            time.sleep(0.3)
            child.terminate()
            self.assertIn("given up", child.communicate(timeout=30)[0])
            self.assertEqual(os.listdir(folder), [])

    def test_what_is_wrong_usage(self):
        case = ["--case", "op=attn nq=many"]
        page = ["--case", NO_PAGE]
        for options, why in (
                *((way + page, "wrong case: s0.page: wanted a number from 1 to 65536, got 0")
                  for way in (["--peer", "true"], ["--plugin", CONFORM], ["--dump", os.devnull],
                              ["--device", "reference"])),
                (["--case", "op=pool kind=bucket block=0"], "block: wanted a number from 1 to 4096"),
                (["--case", "op=attn nq=65536 s0.nk=65536 d=65536"], "it is too large"),
                (["--peer", "true", *case], "wrong case: nq has no value 'many'"),
                (["--dump", os.devnull, *case], "wrong case: nq has no value 'many'"),
                (["--judge", "/dev/null/none"], 'wanted a folder that there is, got "/dev/null/'),
                (["--judge", ".", "--dump", "."], "wanted one of them, got several"),
                (["--ask", "--case", "op=attn seed=1"], "go with --peer: wanted one, got nothing"),
                (["--peer", "true", "--device", "cpu"], "do not go with --peer")):
            said = subprocess.run([CONFORM, *options], text=True, capture_output=True, check=False,
                                  timeout=30)
            self.assertEqual((said.returncode, said.stdout), (2, ""), options)
            self.assertIn(why, said.stderr)

    def test_a_failed_case_shrinks(self):
        done = subprocess.run([CONFORM, "--peer", command("bound"), "--ask", "--cases", "20",
                               "--shrink", "1", "--only", FEW], text=True, capture_output=True,
                              check=False, timeout=120)
        self.assertRegex(done.stdout, r"# shrunk, \d+ tries: op=attn .*nq=1 ")


class Operations(unittest.TestCase):
    """Peers and folders beside attention."""

    def test_a_good_peer_passes(self):
        status, passed, failed, _, reasons = conform(
            "--peer", shlex.join([sys.executable, EXAMPLE]), "--op", "pool", "--ask", "--cases",
            "40", "--claim", "repeat")
        self.assertEqual((status, failed), (0, 0), reasons)
        self.assertGreaterEqual(passed, 40)

    def test_folders_of_every_operation_say_what_is_wanted(self):
        for op in OPERATIONS:
            with tempfile.TemporaryDirectory() as top:
                subprocess.run([CONFORM, "--dump", top, "--op", op, "--cases", "3"], check=True,
                               stdout=subprocess.DEVNULL)
                folders = sorted(pathlib.Path(top).iterdir())
                for folder in folders:
                    case = load(folder)
                    self.assertEqual(case["op"], op)
                    for about in case["inputs"].values():
                        self.assertTrue((folder / about["file"]).exists())
                self.assertEqual(conform("--judge", top)[:4], (3, 0, 0, len(folders)))
                for folder in folders:      # what the arrays held at first is no answer
                    for name, about in load(folder)["outputs"].items():
                        code = {"f32": "<f4", "f16": "<f2", "bf16": "<u2", "i8": "|i1",
                                "i32": "<i4", "i64": "<i8"}.get(about["dtype"], "|u1")
                        size = int(code[2:])
                        count = size
                        for extent in about["shape"]:
                            count *= extent
                        peer.write(folder / about["file"],
                                   peer.header(code, about["shape"]) + b"\x5b" * count)
                status, passed, failed, _, reasons = conform("--judge", top)
                self.assertEqual(passed + failed, len(folders), (op, reasons))
                self.assertGreater(failed, 0, (op, reasons))
                self.assertLessEqual(set(reasons), {"exact", "bound"}, op)

    def test_a_wrong_element_is_caught(self):
        module = peer.example(EXAMPLE)
        with tempfile.TemporaryDirectory() as top:
            subprocess.run([CONFORM, "--dump", top, "--case",
                            "op=pool kind=max n=33 d=3 kernel=5 seed=4"], check=True,
                           stdout=subprocess.DEVNULL)
            folder = next(pathlib.Path(top).iterdir())
            fill(folder, module)
            self.assertEqual(conform("--judge", top)[:3], (0, 1, 0))
            peer.patch(folder / "y.npy", -4, b"\x01")
            status, _, failed, _, reasons = conform("--judge", top)
            self.assertEqual((status, failed, set(reasons)), (1, 1, {"exact"}))


def load(folder):
    return json.loads((folder / "case.json").read_text(encoding="utf-8"))


def fill(folder, module):
    """Writes the outputs of a dumped case."""
    case = load(folder)
    for group in ("inputs", "outputs"):
        for about in case[group].values():
            about["file"] = str(folder / about["file"])
    module.answer({**case, "ask": True})
    for about in case["outputs"].values():
        count = 1
        for extent in about["shape"]:
            count *= extent
        peer.write(about["file"], peer.header("<f4", about["shape"])
                   + array.array("f", [9.0] * count).tobytes())
    module.answer(case)


class Folders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = peer.example(EXAMPLE)
        cls.top = pathlib.Path(tempfile.mkdtemp())
        cls.made = cls.top / "made"
        subprocess.run([CONFORM, "--dump", str(cls.made), "--cases", "24", "--only", SMALL],
                       check=True, stdout=subprocess.DEVNULL)
        cls.filled = []
        for folder in sorted(cls.made.iterdir()):
            try:
                fill(folder, cls.module)
                cls.filled.append(folder.name)
            except cls.module.Refused:
                continue

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.top)

    def copy(self):
        """The folders that are filled, to be spoilt."""
        to = pathlib.Path(tempfile.mkdtemp(dir=self.top))
        for name in self.filled:
            shutil.copytree(self.made / name, to / name)
        return to

    def test_what_is_filled_passes_and_the_rest_is_counted(self):
        self.assertGreater(len(self.filled), 12)
        for claim in ("fast", "repeat"):
            status, passed, failed, skipped, reasons = conform("--judge", str(self.made), "--claim",
                                                               claim)
            self.assertEqual((status, failed), (0, 0), reasons)
            self.assertEqual((passed, skipped), (len(self.filled), 24 - len(self.filled)))

    def test_forms_lie_beside_their_case(self):
        top = pathlib.Path(tempfile.mkdtemp(dir=self.top))
        subprocess.run([CONFORM, "--dump", str(top), "--family", "invariance", "--cases", "2",
                        "--only", FEW + " batch=2 nq=2 d=8 dv=16 s0.nk=16"], check=True,
                       stdout=subprocess.DEVNULL)
        judge = ["--judge", str(top), "--family", "invariance"]
        self.assertEqual(conform(*judge)[0], 3)         # nothing is filled
        for folder in top.iterdir():
            self.assertEqual("." in folder.name, "form" in load(folder))
            fill(folder, self.module)
        names = {folder.name.partition(".")[2].partition("-")[0] for folder in top.iterdir()}
        self.assertEqual(names, {"", "repeat", "batch", "chunk"})
        self.assertEqual(conform(*judge)[:4], (0, 2, 0, 0))
        peer.patch(top / "000002.chunk-1" / "o.npy", -4, b"\x77")
        status, passed, failed, _, reasons = conform(*judge)
        self.assertEqual((status, passed, failed, dict(reasons)), (1, 1, 1, {"chunk": 1}))

    def test_nothing_filled_is_no_pass(self):
        empty = pathlib.Path(tempfile.mkdtemp(dir=self.top))
        self.assertEqual(conform("--judge", str(empty))[0], 3)

    def test_wrong_values_shapes_and_files_have_names(self):
        made = self.copy()
        wrongs = {"bound": lambda o, h: o.write_bytes(h + b"\x00\x00\x80\x41" * 1),
                  "shape": lambda o, h: o.write_bytes(peer.header("<f4", (3, 2))),
                  "dtype": lambda o, h: o.write_bytes(h.replace(b"<f4", b"<f8")),
                  "file": lambda o, h: o.write_bytes(h[:-3])}
        for name in self.filled:
            o = made / name / "o.npy"
            data, shape = o.read_bytes(), load(made / name)["outputs"]["o"]["shape"]
            if 0 in shape:
                continue
            begin = len(peer.header("<f4", shape))
            for verdict, spoil in wrongs.items():
                spoil(o, data[:begin])
                if verdict == "bound":
                    o.write_bytes(data[:begin] + b"\x00\x00\x80\x41" * ((len(data) - begin) // 4))
                reasons = conform("--judge", str(made))[4]
                self.assertGreaterEqual(reasons[verdict], 1, (name, verdict, reasons))
            return

    def test_hostile_headers_never_end_the_judge(self):
        made, draw = self.copy(), random.Random(5)
        for round_ in range(6):
            for name in self.filled:
                data = bytearray((self.made / name / "o.npy").read_bytes())
                for _ in range(draw.randrange(1, 4)):
                    data[draw.randrange(min(len(data), 128))] = draw.randrange(256)
                (made / name / "o.npy").write_bytes(data[:draw.randrange(8, len(data) + 1)]
                                                    if round_ % 2 else data)
            status, passed, failed, _, _ = conform("--judge", str(made))
            self.assertIn(status, (0, 1))
            self.assertEqual(passed + failed, len(self.filled))

    def test_hostile_folders_never_end_the_judge(self):
        made, case = self.copy(), None
        spoilt = [b"", b"{", b'{"line": 3}', b'{"line": "op=attn nq=9999999 seed=1"}',
                  b'{"line": "op=none seed=1"}', b'{"line": "%s"}' % NO_PAGE.encode(), b'{"line": "' + b"x" * 9000 + b'"}',
                  b'{"a":' * 5000, b'{"line": "op=attn seed=1"} and more', b"\x00" * 50,
                  b'{"line": "op=attn h=64 nq=65536 d=65536 s0.nk=65536 seed=1"}',
                  b'{"line": "op=attn\\u0000 seed=1", "line": "op=attn seed=1"}']
        for i, text in enumerate(spoilt):
            case = made / f"spoilt{i}"
            case.mkdir()
            (case / "case.json").write_bytes(text)
            (case / "o.npy").mkdir()
        (made / "a\nnot ok 1\n# rubbish: name").mkdir()
        (made / "pipe").mkdir()
        os.mkfifo(made / "pipe" / "case.json")
        (made / "loop").symlink_to(made / "loop")
        (made / "a file").write_text("no folder")
        status, passed, failed, _, reasons = conform("--judge", str(made))
        self.assertEqual((status, passed, failed), (1, len(self.filled), len(spoilt) + 2), reasons)
        self.assertEqual(set(reasons), {"file"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
