#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-static on made-up kernels whose numbers are known: no compiler is needed."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import amd                      # noqa: E402
import flight                   # noqa: E402
import intel                    # noqa: E402
import limits                   # noqa: E402
import marks                    # noqa: E402
import nvidia                   # noqa: E402
from flow import Graph, Instruction         # noqa: E402
from steady import Steady       # noqa: E402

KERNELS = pathlib.Path(__file__).resolve().parent.parent.parent / "backends/kernels"
TEXT = """#define HK_THREADS 256
#define HK_ROWS 64
#define HK_SLICE 16

HK_FN void products(void)
{
    for (t = 0; t < HK_SLICE; t++) {
        HK_MARK(qk);
        fma();
    }
}

HK_FN void values(const int careful)
{
    HK_MARK(pv);
    fma();
}

HK_FN void step(void)
{
    if (first) {
        HK_MARK(cold);
        products();
    }
    for (t0 = 0; t0 < d; t0 += HK_SLICE)
        products();
    look();
}
"""
QK, PV, COLD, OUTER, LOOK = 9, 16, 23, 25, 27


def code(kind, *lines, targets=(), ends=False, **more):
    return Instruction(kind, kind, frames=tuple(("k.h", line) for line in lines), targets=targets,
                       ends=ends, fma=1.0 if kind == "fma" else 0.0, **more)


def kernel():
    """A step with a loop in a loop for qk, straight products for pv, and what does not count."""
    return [
        code("int", LOOK), "step",
        code("branch", LOOK, targets=("main",)),
        *[code("fma", QK, COLD)] * 40,              # the first time only
        "main", code("scalar", OUTER),
        "outer", code("int", OUTER), "inner",
        *[code("fma", QK, OUTER)] * 32, code("local_load", QK, OUTER, width=16),
        code("branch", 7, OUTER, targets=("inner",)),
        code("branch", OUTER, targets=("outer",)),
        code("branch", LOOK, targets=("else",)),
        *[code("float", LOOK)] * 5, code("branch", LOOK, targets=("values",), ends=True),
        "else", *[code("float", LOOK)] * 3,
        "values", *[code("fma", PV, LOOK)] * 1024,
        code("branch", LOOK, targets=("step",)),
        code("branch", LOOK, ends=True),
    ]


class Flow(unittest.TestCase):
    def setUp(self):
        # pylint: disable-next=consider-using-with
        self.place = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.place.name)
        (folder / "k.h").write_text(TEXT, encoding="ascii")
        self.texts = marks.Texts(folder, "k.h", ["-DHK_WIDTH=64", "-DHK_KV=1"])

    def tearDown(self):
        self.place.cleanup()

    def test_marks_cover_their_blocks(self):
        for lines, mark in (((QK, OUTER), "qk"), ((QK, COLD), "cold"), ((PV, LOOK), "pv"),
                            ((13,), "pv"), ((LOOK,), ""), ((6,), "")):
            self.assertEqual(self.texts.mark(tuple(("k.h", line) for line in lines)), mark, lines)

    def test_marks_have_known_names(self):
        bad = self.texts.folder / "bad.h"
        bad.write_text("HK_FN void f(void)\n{\n    HK_MARK(hot);\n}\n", encoding="ascii")
        with self.assertRaises(ValueError):
            self.texts.text("bad.h")
        for path in KERNELS.rglob("*.[hc]*"):
            marks.Text(path)

    def test_threads_of_every_unit(self):
        for unit, threads in ((1, 128), (2, 256), (3, 128), (4, 128), (5, 64), (6, 128)):
            texts = marks.Texts(KERNELS, "attn/attend_matrix.cl", [
                f"-DHK_MMA={unit}", "-DHK_GROUP_ROWS=64", "-DHK_WIDTH=64", "-DHK_KV=2",
                "-DHK_ONE_RANGE=1", "-DHK_LARGE=0", "-DHK_LEAST_LANES=0", "-DHK_PROCESSOR=0"])
            self.assertEqual(texts.number("HK_THREADS"), threads, unit)

    def test_parts_of_turns(self):
        (self.texts.folder / "part.h").write_text(
            "HK_FN void f(void)\n{\n    if (t % HK_ROWS == 0) {\n"
            "        HK_PART(HK_SLICE, HK_ROWS);\n        g();\n    }\n    h();\n}\n", encoding="ascii")
        self.assertEqual(self.texts.part((("k.h", QK), ("part.h", 5))), 0.25)
        self.assertEqual(self.texts.part((("k.h", QK), ("part.h", 7))), 1.0)

    def test_two_loops_of_one_text_turn_once(self):
        """A compiler makes two loops of a `for` that is left in its middle and entered again."""
        items = kernel()
        at = items.index("values")
        items[at:at] = ["more", code("int", LOOK), "again", code("float", OUTER),
                        code("branch", OUTER, targets=("again",)),
                        code("branch", OUTER, targets=("more",))]
        steady = Steady("nvidia", {"heed_kernel": items}, self.texts)
        first = {name: items[items.index(name) + 1] for name in ("more", "again")}
        runs = {name: loop.runs for loop in steady.inside(steady.loop) for name, one in first.items()
                if steady.graph.blocks[loop.header][0] is one}
        self.assertEqual(runs, {"more": 4, "again": 4})

    def test_texts_say_how_often_loops_turn(self):
        self.assertEqual(self.texts.turns("k.h", 7), 16)
        self.assertEqual(self.texts.turns("k.h", OUTER), 4)
        self.assertIsNone(self.texts.turns("k.h", LOOK))

    def test_loops_of_the_text(self):
        """Of every kind of statement, a word of its head or its tail is not a loop of its own."""
        (self.texts.folder / "loop.h").write_text(
            "HK_FN void f(void)\n{\n    for (a = 0; a < 2; a++)\n        for (b = 0; b < 4;\n"
            "             b++)\n            if (x)\n                g();\n    while (c) {\n"
            "        h();\n    }\n    do {\n        i();\n    } while (j());\n    k();\n}\n",
            encoding="ascii")
        for line, loops in ((5, {3, 4}), (7, {3, 4}), (9, {8}), (12, {11}), (14, set())):
            self.assertEqual(self.texts.loops((("loop.h", line),)),
                             {("loop.h", first) for first in loops}, line)

    def test_a_loop_of_code_has_the_text_it_is_most_like(self):
        """Its branches need not be of the line of the `for`."""
        items = kernel()
        for one in items:
            if not isinstance(one, str) and one.frames == (("k.h", OUTER),):
                one.frames = (("k.h", OUTER + 1),)
        steady = Steady("nvidia", {"heed_kernel": items}, self.texts)
        self.assertEqual(sorted(loop.runs for loop in steady.inside(steady.loop)), [4, 32])
        self.assertIn(f"k.h:{OUTER}", " ".join(loop.text for loop in steady.inside(steady.loop)))

    def test_loops_nest(self):
        graph = Graph(kernel())
        self.assertEqual(len(graph.loops), 3)
        outer, middle, inner = graph.loops
        self.assertIs(inner.parent, middle)
        self.assertIs(middle.parent, outer)
        self.assertIsNone(outer.parent)

    def test_a_step_counts_what_runs_in_it(self):
        found = Steady("amd", {"heed_kernel": kernel()}, self.texts).results()
        self.assertEqual(found["products"], {"qk": 1.0, "pv": 1.0})
        self.assertEqual(found["kinds"]["fma"], 2048)
        self.assertEqual(found["kinds"]["local_load"], 32)      # 1024 products, 32 a turn
        self.assertEqual(found["kinds"]["float"], 5)            # the longer of two ways
        self.assertEqual(found["kinds"]["int"], 4)              # d / HK_SLICE turns, by the text
        self.assertEqual(found["vector"], 2048 + 5 + 4)
        self.assertAlmostEqual(found["loads_per_fma"], 32 / 2048)
        self.assertAlmostEqual(found["fma_apart"], 2048 / (2048 + 5 + 4))

    def test_packed_products_are_counted_apart(self):
        items = kernel()
        for one in items:
            if not isinstance(one, str) and one.fma:
                one.fma = 2.0
        found = Steady("amd", {"heed_kernel": items}, self.texts).results()
        self.assertEqual(found["kinds"]["fma"], 512 + 1024)
        self.assertAlmostEqual(found["fma_apart"], 3072 / (3072 + 5 + 4))

    def test_a_step_may_have_several_blocks(self):
        """All numbers are of one of them."""
        (self.texts.folder / "k.h").write_text(TEXT.replace(
            "    look();", "    for (k = 0; k * 64 < step->keys; k += 2)\n        look();"),
            encoding="ascii")
        texts = marks.Texts(self.texts.folder, "k.h",
                            ["-DHK_WIDTH=64", "-DHK_KV=1", "-DHK_BLOCKS=(1 > 2 ? 1 : 4)"])
        self.assertEqual(texts.blocks(), 4)
        self.assertEqual(texts.turns("k.h", LOOK), 2)
        found = Steady("amd", {"heed_kernel": kernel()}, texts).results()
        self.assertEqual(found["kinds"]["fma"], 1024 + 1024 / 4)     # those of pv are straight
        self.assertEqual(found["vector"], 1024 + 1024 / 4 + 5 / 4 + 4 / 4)

    def test_loops_one_behind_the_other_share_products(self):
        items = kernel()
        at = items.index("values")
        items[at:] = ["values", "one", *[code("fma", PV, LOOK)] * 64,
                      code("branch", LOOK, targets=("one",)), "two", *[code("fma", PV, LOOK)] * 64,
                      code("branch", LOOK, targets=("two",)),
                      code("branch", LOOK, targets=("step",)), code("branch", LOOK, ends=True)]
        found = Steady("amd", {"heed_kernel": items}, self.texts).results()
        self.assertEqual(found["products"], {"qk": 1.0, "pv": 1.0})

    def test_calls_count_where_they_are(self):
        items = kernel()
        items.insert(-2, Instruction("call", "branch", frames=(("k.h", LOOK),), callee="other"))
        other = [code("int", LOOK), code("int", LOOK), code("branch", LOOK, ends=True)]
        found = Steady("amd", {"heed_kernel": items, "other": other}, self.texts).results()
        self.assertEqual(found["kinds"]["int"], 6)


class Parsers(unittest.TestCase):
    def test_amd(self):
        text = ("heed_kernel:   ; @heed_kernel\n\tv_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1]\n"
                ".LBB0_1:\n\tds_read2_b64 v[0:3], v4\n\tglobal_load_dwordx4 v[0:3], v[4:5], off\n"
                "\tbuffer_store_dword v0, off, s[0:3], 0 offset:4\n\tv_mad_u64_u32 v[0:1], s0, v2\n"
                "\tv_cvt_f32_f16_e32 v0, v1\n\tv_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3]\n"
                "\tv_dual_fmac_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v4\n"
                "\ts_cbranch_scc1 .LBB0_1\n\ts_endpgm\n.Lfunc_end0:\n")
        label, *items = amd.parse(text, 64)["heed_kernel"][1:]
        self.assertEqual(label, ".LBB0_1")
        self.assertEqual([(one.kind, one.width) for one in items],
                         [("local_load", 16), ("global_load", 16), ("private_store", 4),
                          ("int", 0), ("convert", 0), ("mma", 0), ("fma", 0), ("branch", 0),
                          ("branch", 0)])
        self.assertEqual(items[5].fma, 32 * 32 * 8 / 64)
        self.assertEqual(items[-2].targets, (".LBB0_1",))
        self.assertEqual([one.ends for one in items[-2:]], [False, True])

    def test_amd_addresses_skip_what_aligns_loops(self):
        ones = [Instruction(word, "int") for word in ("v_a", "v_b")]
        self.assertEqual(amd.align(ones, [("v_a", 0), ("s_nop", 4), ("v_b", 8)]), [0, 8])
        self.assertIsNone(amd.align(ones, [("v_a", 0), ("v_c", 4)]))

    def test_nvidia(self):
        text = ('heed_kernel:\n\t//## File "a.cl", line 3 inlined at "a.cl", line 9\n'
                '\t//## File "a.cl", line 9\n        /*0000*/  FFMA R0, R1, R2, R0 ;\n.L_x_1:\n'
                "        /*0010*/   @!P0 LDS.128 R4, [R8] ;\n"
                "        /*0020*/   LDG.E.U16 R4, [R8] ;\n"
                "        /*0030*/  HMMA.16816.F32.BF16 R4, R8, R12, R4 ;\n"
                "        /*0040*/  IMAD.MOV.U32 R1, RZ, RZ, R2 ;\n"
                "        /*0050*/  STL [R1], R2 ;\n"
                "        /*0060*/              @P0 BRA `(.L_x_1) ;\n        /*0070*/  EXIT ;\n"
                "        /*0080*/   CALL.REL.NOINC `(.L_x_1) ;\n")
        first, _, *items, jump = nvidia.parse(text)["heed_kernel"]
        self.assertEqual((jump.targets, jump.ends, jump.callee), ((".L_x_1",), True, ""))
        self.assertEqual((first.kind, first.frames), ("fma", (("a.cl", 3), ("a.cl", 9))))
        self.assertEqual([(one.kind, one.width) for one in items],
                         [("local_load", 16), ("global_load", 2), ("mma", 0), ("move", 0),
                          ("private_store", 4), ("branch", 0), ("branch", 0)])
        self.assertEqual(items[2].fma, 16 * 8 * 16 / 32)
        self.assertFalse(items[-2].ends)

    def test_nvidia_occupancy(self):
        self.assertEqual(nvidia.occupancy(90, 128, 40000, 256), 4)
        self.assertEqual(nvidia.occupancy(80, 32, 100000, 256), 2)

    def test_intel(self):
        text = ("// File: a.cl\n\n// Line 3:  x\n"
                "        mad (16|M0)              r1.0<1>:f  r2.0<1;0>:f  r3.0<1;0>:f  "
                "r4.0<1>:f {Compacted}\n"
                "_0_1:\n(W)     mov (1|M0)               r5.0<1>:d    r6.0<0;1,0>:d\n"
                "        mov (16|M0)              r5.0<1>:f    r6.0<8;8,1>:d\n"
                "        load.slm.d32x4.a32 (16|M0)  r7:8       [r74:2]            {$1} // x\n"
                "        send.dc1 (8|M0)          r7       r4      null:0  0x0            "
                "0x042405FF           {A@2,$8} // wr:2+0, rd:2; a64 dword gathering read // $2\n"
                "        dpas.8x8 (8|M0)  r1:f  null:f  r2:bf r3.0:bf\n"
                "(f0.0)  goto (16|M0)                         _0_1           _0_1\n")
        functions, places = intel.parse(text, 16, 32)
        first, label, *items = functions["heed_kernel"]
        self.assertEqual((first.kind, first.fma, first.frames), ("fma", 1.0, (("a.cl", 3),)))
        self.assertEqual(label, "_0_1")
        self.assertEqual([(one.kind, one.width) for one in items],
                         [("scalar", 0), ("convert", 0), ("local_load", 16), ("global_load", 4),
                          ("mma", 0), ("branch", 0)])
        self.assertEqual(places[:3], [0, 8, 24])
        self.assertEqual((items[-1].targets, items[-1].ends), (("_0_1", "_0_1"), False))


class Flight(unittest.TestCase):
    """Bytes on their way, of loops of machine code."""

    def most(self, functions):
        items = functions["heed_kernel"]
        for one in items:
            if not isinstance(one, str):
                one.mark = "stage_k"
        graph = Graph(items)
        return flight.most(graph, graph.loops[0])

    def nvidia(self, *lines):
        return self.most(nvidia.parse("heed_kernel:\n.L_x_1:\n" + "".join(
            f"        /*{16 * n:04x}*/   {line} ;\n" for n, line in enumerate(lines)) +
            "        /*1000*/   @P0 BRA `(.L_x_1) ;\n        /*1010*/   EXIT ;\n"))

    def test_nvidia(self):
        two = ("LDG.E.128 R4, desc[UR8][R2.64]", "LDG.E.64 R8, desc[UR8][R2.64+0x10]")
        self.assertEqual(self.nvidia(*two, "FADD R0, R7, R9"), 24)
        # One at a time: the first is waited for, by a store that names its first register alone,
        # or as an address.
        self.assertEqual(self.nvidia(two[0], "STS.128 [R1], R4", two[1], "FADD R0, R8, R9"), 16)
        self.assertEqual(self.nvidia(two[0], "LDS R0, [R6]", two[1], "FADD R0, R8, R9"), 16)
        # What the next turn waits for is on its way where this one ends.
        self.assertEqual(self.nvidia("FADD R0, R7, R7", two[0], "FADD R0, R8, R8", two[1]), 24)
        # Two ways to the same registers are one load.
        self.assertEqual(self.nvidia(two[0], "@P1 BRA `(.L_x_1)", two[0], "FADD R0, R4, R4"), 16)

    def test_amd(self):
        def most(*lines):
            return self.most(amd.parse("heed_kernel:   ; @heed_kernel\n.LBB0_1:\n" + "".join(
                f"\t{line}\n" for line in lines) + "\ts_cbranch_scc1 .LBB0_1\n\ts_endpgm\n"
                ".Lfunc_end0:\n", 64))

        two = ("global_load_dwordx4 v[0:3], v[4:5], off", "global_load_dwordx2 v[6:7], v[4:5], off")
        self.assertEqual(most(*two, "s_waitcnt vmcnt(0)"), 24)
        self.assertEqual(most(two[0], "s_waitcnt vmcnt(0) lgkmcnt(0)", two[1], "s_waitcnt vmcnt(0)"),
                         16)
        # The older one is waited for; the other stays until the next turn waits.
        self.assertEqual(most("s_waitcnt vmcnt(0)", *two, "s_waitcnt vmcnt(1)", two[0].replace(
            "v[0:3]", "v[8:11]")), 24)
        self.assertEqual(most(two[0], "s_wait_loadcnt 0x0", two[1], "s_wait_loadcnt 0x0"), 16)

    def test_intel(self):
        def most(*lines):
            return self.most(intel.parse("_0_1:\n" + "".join(f"        {line}\n" for line in lines) +
                                         "(f0.0)  jmpi  _0_1\n        send.gtwy (1|M0) {EOT}\n", 16, 64)[0])

        one = "load.ugm.d32x4.a64 (16|M0)  r12:4       [r2:2]             {A@1,$5} // x"
        two = "load.ugm.d32x2.a64 (16|M0)  r16:2       [r2:2]             {A@1,$15} // $5"
        wait = "mov (16|M0)  r1.0<1>:f   r12.0<1;1,0>:f   {Compacted,$5.dst} // $15"
        self.assertEqual(most(one, two, wait), 24)
        self.assertEqual(most(one, wait, two, wait.replace("$5.dst", "$15.dst")), 16)
        self.assertEqual(most(one, wait.replace("dst", "src"), two, wait), 24)


class Limits(unittest.TestCase):
    FOUND = {"row": "workgroup_64_f32", "target": "sm_90", "scratch": 0, "spills": 0,
             "code": 33 * 1024, "user": 1.0, "fma_share": 0.6, "loads_per_fma": 0.1, "barriers": 25,
             "in_flight": 20 << 10, "slots": 0.8, "fma_apart": 0.7}

    def check(self, line):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "limits.txt")
            path.write_text(line, encoding="ascii")
            return limits.check(limits.read(path), [self.FOUND])

    def test_held_limits_fail(self):
        lines, broken = self.check("workgroup_* sm_* held 0 0 32 5 0.7 0.125\n")
        self.assertEqual(broken, 1)
        self.assertIn("code 33 (limit 32)", lines[0])
        self.assertIn("fma 0.6 (limit 0.7)", lines[0])

    def test_kept_limits_pass(self):
        self.assertEqual(self.check("workgroup_* sm_* held 0 0 33 5 0.6 0.1\n")[1], 0)

    def test_aims_are_only_said(self):
        lines, broken = self.check("workgroup_* * aim 0 0 32 5 - -\n")
        self.assertEqual((lines[0].split(":")[0], broken), ("aim missed", 0))

    def test_more_columns(self):
        self.assertEqual(self.check("workgroup_* * held 0 0 33 5 - - - 25 20 0.8 0.7\n")[1], 0)
        lines, broken = self.check("workgroup_* * held 0 0 33 5 - - - 2 21 0.3 0.8\n")
        self.assertEqual(broken, 1)
        for said in ("barriers 25 (limit 2)", "flight 20 (limit 21)", "slots 0.8 (limit 0.3)",
                     "apart 0.7 (limit 0.8)"):
            self.assertIn(said, lines[0])

    def test_bad_lines_are_refused(self):
        with self.assertRaises(ValueError):
            self.check("workgroup_* * maybe 0 0 32 5 - -\n")


if __name__ == "__main__":
    unittest.main()
