# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed.conform(): good kernels pass, faults have names, and what is not taken is refused."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import heed
import numpy as np

TOP = pathlib.Path(__file__).parents[2]
SMALL = "nq=1,7,2 s0.nk=3,33,16 d=8,16,1 dv=16,8 ns=1"
F32 = SMALL + " q=f32 o=f32 s0.k=f32 s0.v=f32"
# As many axes as faults need, so that kernels are asked little.
FEW = F32 + " s0.nt=0 s0.nb=0 s0.len=none qlen=none qpos=none cap=0 sink=none qstep=1 int=i32"


def example():
    spec = importlib.util.spec_from_file_location(
        "example", TOP / "examples/python/conform_numpy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.attention


ATTENTION = example()


def plain(q, k, v):
    return ATTENTION(q, k, v, scale=q.shape[-1] ** -0.5 if q.shape[-1] else 0, softcap=0,
                     mask=None, bias=None, sinks=None)


class Conform(unittest.TestCase):
    def test_a_good_kernel_passes(self):
        for claim in ("fast", "repeat"):
            result = heed.conform(ATTENTION, 40, only=SMALL, claim=claim)
            self.assertTrue(result, result)
            self.assertEqual((result.passed, result.failed), (40, 0))
            self.assertLess(result.worst, 1)
            self.assertIs(result.check(), result)
        result = heed.conform(ATTENTION, 20, only=SMALL + " fill=special s0.nb=1 s0.b0.fill=inf")
        self.assertTrue(result, result)

    def test_a_kernel_without_parameters_gets_plain_cases_only(self):
        result = heed.conform(plain, 30, only=F32)
        self.assertTrue(result, result)
        self.assertFalse({"scale", "softcap", "mask", "bias", "causal"} & set(result.needs))
        self.assertIn("softcap", result.refused)

    def test_causal_and_window_come_in_their_own_form(self):
        forms = set()

        def kernel(q, k, v, *, scale, causal=None, window=None, mask=None):
            self.assertLessEqual((causal is not None) + (window is not None) + (mask is not None),
                                 1)
            forms.add("causal" if causal else "window" if window else "mask" if mask is not None
                      else "none")
            i, j = np.arange(q.shape[2])[:, None], np.arange(k.shape[2])
            if causal:
                mask = j <= i + (k.shape[2] - q.shape[2] if causal == "end" else 0)
            if window:
                left, right = window
                mask = (left is None) | (j >= i - (left or 0))
                mask = mask & ((right is None) | (j <= i + (right or 0)))
            if mask is not None:
                mask = np.broadcast_to(mask, (*q.shape[:3], k.shape[2]))
            return ATTENTION(q, k, v, scale=scale, softcap=0, mask=mask, bias=None, sinks=None)
        result = heed.conform(kernel, 150, only=F32)
        self.assertTrue(result, result)
        self.assertEqual(forms, {"causal", "window", "mask", "none"})

    def test_the_case_has_everything(self):
        looked = []

        def kernel(q, k, v, case):
            case.takes("scale", "softcap", "causal", "causal_end", "band", "mask", "bias", "sinks",
                       "grouped", "d_v", "empty", "blank", "nonfinite")
            self.assertEqual(q.shape, (case.items, case.h_q, case.rows, case.d))
            self.assertEqual(k.shape, (case.items, case.h_kv, case.keys, case.d))
            self.assertEqual(v.shape, (case.items, case.h_kv, case.keys, case.d_v))
            self.assertEqual(case.mask().shape, (case.items, case.heads, case.rows, case.keys))
            looked.append(case)
            return ATTENTION(q, k, v, scale=case.scale, softcap=case.softcap, mask=case.mask(),
                             bias=case.bias(), sinks=case.sinks).astype(case.o_dtype)
        result = heed.conform(kernel, 60, only=SMALL)
        self.assertTrue(result, result)
        self.assertTrue(any(c.causal for c in looked) and any(c.window for c in looked))
        self.assertIn("needs", repr(looked[0]))
        self.assertGreater(result.refused.get("lse", 0) + result.refused.get("joined", 0), 0)

    def test_lse_is_judged(self):
        def kernel(q, k, v, *, lse):
            y = q.astype("f8") @ k.astype("f8").swapaxes(-1, -2) * (q.shape[-1] ** -0.5)
            wrong = 0.5 if kernel.wrong else 0
            return plain(q, k, v), np.log(np.exp(y).sum(-1)).astype("f4") + np.float32(wrong)
        only = FEW + " fill=normal,ties,exact lse=plain h=1 s0.hk=h"
        kernel.wrong = False
        self.assertTrue(heed.conform(kernel, 20, only=only))
        kernel.wrong = True
        result = heed.conform(kernel, 20, only=only, shrink=0)
        self.assertEqual(result.failed, 20)
        self.assertIn("lse", result.failures[0].reason)

    def test_properties_are_judged_where_they_are_wanted(self):
        def split(q, k, v):
            """Right within the bound, and otherwise where there are several items."""
            o = plain(q, k, v)
            return np.nextafter(o, np.float32(9)) if q.shape[0] > 1 else o
        only = FEW + " fill=normal lse=none batch=2 nq=2,7 s0.hk=h"
        self.assertTrue(heed.conform(split, 6, only=only))
        result = heed.conform(split, 6, only=only, properties=["batch", "chunk"], shrink=0)
        self.assertEqual(set(result.by_verdict()), {"batch"}, result)
        self.assertEqual(result.failed, 6)
        by_rows = heed.conform(split, 6, only=only, properties=["chunk"], shrink=0)
        self.assertTrue(by_rows, by_rows)

    def test_lines_come_again(self):
        lines = heed.cases(ATTENTION, 6, only=FEW)
        self.assertEqual(len(lines), 6)
        for line in lines:
            result = heed.conform(ATTENTION, line=line)
            self.assertEqual((result.passed, result.lines), (1, [line]))
        self.assertEqual(len(heed.cases(number=7)), 7)


class Faults(unittest.TestCase):
    def found(self, kernel, verdict, cases=30, **options):
        result = heed.conform(kernel, cases, **{"only": FEW, "shrink": 0, **options})
        self.assertFalse(result)
        self.assertIn(verdict, result.by_verdict(), result)
        self.assertIn(verdict, str(result))
        self.assertIn(verdict, result._repr_html_())
        with self.assertRaises(AssertionError):
            result.check()
        return result

    def test_wrong_numbers_and_masks(self):
        result = self.found(lambda q, k, v: plain(q, k, v) * np.float32(1.0001), "bound", shrink=1)
        self.assertGreater(result.worst, 1)
        failure = min(result.failures, key=lambda f: not f.shrunk)
        self.assertIn(" nq=1", failure.shrunk)
        arrays = failure.arrays()
        self.assertEqual(arrays["q"].shape[2], 1)
        self.assertEqual(set(arrays), {"q", "k0", "v0", "visible0"})
        result = self.found(lambda q, k, v, *, scale, mask:
                            ATTENTION(q, k, v, scale=scale, softcap=0, mask=None, bias=None,
                                      sinks=None), "bound", 60)
        self.assertIn("mask", " ".join(result.suspects()))

    def test_wrong_shapes_types_and_exceptions(self):
        self.found(lambda q, k, v: plain(q, k, v)[None], "shape")
        self.found(lambda q, k, v: plain(q, k, v).astype("float64"), "dtype")
        result = self.found(lambda q, k, v: plain(q, k, v[:, :, 1:]), "error")
        self.assertIn("ValueError", result.failures[0].reason)
        self.assertIn("Traceback", result.failures[0].traceback)
        result = self.found(lambda q, k, v: None, "error")
        self.assertIn("returns None for o", result.failures[0].reason)

    def test_inputs_must_stay(self):
        def kernel(q, k, v):
            o = plain(q, k, v)
            k += 1
            return o
        self.assertIn("input k0", self.found(kernel, "error", 10).failures[0].reason)

    def test_what_does_not_repeat(self):
        draw = np.random.default_rng(1)
        self.found(lambda q, k, v: plain(q, k, v) + np.float32(1e-7) * draw.random(dtype="f4"),
                   "repeat", claim="repeat", only=FEW + " fill=normal")

    def test_zeros_and_nan_are_judged_to_the_bit_where_that_is_wanted(self):
        def kernel(q, k, v):
            o = plain(q, k, v)
            return np.where(o == 0, np.float32(-0.0), o)
        only = FEW.replace("dv=16,8", "dv=1,2") + " fill=ties,exact"
        self.assertTrue(heed.conform(kernel, 30, only=only))
        self.assertFalse(heed.conform(kernel, 300, only=only, strict=True, shrink=0))

    def test_who_refuses_everything_has_not_passed(self):
        def none(q, k, v):
            raise NotImplementedError("not today")
        result = heed.conform(none, 5, only=FEW)
        self.assertFalse(result)
        self.assertEqual(result.passed + result.failed, 0)
        self.assertIn("not implemented", result.refused)
        self.assertIn("no pass: no case was accepted", str(result))

    def test_nothing_but_empty_arrays_is_no_pass(self):
        def empty(q, k, v):
            if q.size and v.size:
                raise heed.Refused("size")
            return plain(q, k, v)
        result = heed.conform(empty, 5, only=FEW.replace("dv=16,8", "dv=16,0"))
        self.assertEqual((bool(result), result.failed), (False, 0), result)

    def test_misuse_raises(self):
        with self.assertRaisesRegex(TypeError, "dropout"):
            heed.conform(lambda q, k, v, dropout: q)
        with self.assertRaisesRegex(TypeError, "fewer"):
            heed.conform(lambda q: q)
        with self.assertRaisesRegex(ValueError, "arrays"):
            heed.conform(plain, arrays="lists")
        with self.assertRaisesRegex(ValueError, "no axis 'rows'"):
            heed.conform(plain, only="rows=3")
        with self.assertRaisesRegex(ValueError, "no need is called 'nonfinit'"):
            heed.conform(plain, refuse=["blank", "nonfinit"])
        with self.assertRaisesRegex(TypeError, "not the text 'blank'"):
            heed.conform(plain, refuse="blank")
        with self.assertRaisesRegex(ValueError, "wrong case: nq has no value 'many'"):
            heed.conform(plain, line="op=attn nq=many")
        with self.assertRaisesRegex(TypeError, "got the text 'batch'"):
            heed.conform(plain, properties="batch")
        with self.assertRaisesRegex(ValueError, "no workers"):
            heed.conform(plain, properties=["threads"])
        with self.assertRaisesRegex(ValueError, "wanted a case of op=attn"):
            heed.conform(plain, line="op=pool seed=1")
        with self.assertRaisesRegex(KeyboardInterrupt, ""):
            def stop(q, k, v):
                raise KeyboardInterrupt
            heed.conform(stop, 5)


@unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not installed")
class Pytest(unittest.TestCase):
    TEXT = """
import heed, pytest
from example import attention
def wrong(q, k, v, *, scale):
    return attention(q, k, v, scale=scale * 1.01, softcap=0, mask=None, bias=None, sinks=None)
@pytest.mark.heed_conform(attention, cases=3, only={only!r})
def test_good(heed_case):
    heed_case.check()
@pytest.mark.heed_conform(wrong, cases=3, only={only!r})
def test_wrong(heed_case):
    heed_case.check()
"""

    def test_cases_are_items(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            source = (TOP / "examples/python/conform_numpy.py").read_text()
            (path / "example.py").write_text(source)
            only = FEW + " fill=normal nq=7 scale=default"
            (path / "test_it.py").write_text(self.TEXT.format(only=only))
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-p", "heed_pytest", "-p", "no:cacheprovider",
                 "-rA", "test_it.py"], cwd=folder, text=True, capture_output=True, check=False,
                env={**os.environ, "PYTHONPATH": str(pathlib.Path(heed.__file__).parents[1])})
        self.assertRegex(done.stdout, r"3 failed, 3 passed", done.stderr)
        self.assertRegex(done.stdout, r"PASSED test_it.py::test_good\[op=attn ")
        self.assertIn("bound: o at b=", done.stdout)


@unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
class Torch(unittest.TestCase):
    def test_tensors_of_every_type(self):
        import torch
        types = set()

        def kernel(q, k, v, *, scale, mask):
            types.add(str(q.dtype))
            k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
            return torch.nn.functional.scaled_dot_product_attention(
                q.double(), k.double(), v.double(), attn_mask=mask, scale=scale).to(q.dtype)
        result = heed.conform(kernel, 60, only=FEW.replace("=f32", "=f32,f16,bf16"),
                              arrays="torch", refuse=["nonfinite"])
        self.assertTrue(result, result)
        self.assertEqual(types, {"torch.float32", "torch.float16", "torch.bfloat16"})
