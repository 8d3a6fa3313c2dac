# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""torch.ops.heed: its bits are those of heed.attention, torch's own checks of operators hold, and a
graph of torch.compile has it as one node. With the kernel in Python, and with the one in C++ where
a compiler and PyTorch's headers are there."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

import heed
import heed.torch
import torch
from heed import _torch_ops
from heed._torch_plans import MOST_PLANS, here

import oracle

warnings.simplefilter("ignore")
DRAWN = torch.Generator().manual_seed(1)
BUILT = "HEED_TORCH_OPS" in os.environ
COMPILER = shutil.which(os.environ.get("CXX", "c++"))
attend = heed.torch.attention


def draw(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=DRAWN).to(dtype)


def whole(*numbers, dtype=torch.int32):
    return torch.tensor(numbers, dtype=dtype)


class Bits(unittest.TestCase):
    """What heed.attention gives, from the same arguments."""

    def setUp(self):
        self.q, self.k, self.v = draw(2, 4, 50, 16), draw(2, 2, 70, 16), draw(2, 2, 70, 24)

    def judge(self, **more):
        more = {"q": self.q, "k": self.k, "v": self.v, **more}
        wanted, got = heed.attention(**more), attend(**more)
        self.assertEqual(wanted.shape, got.shape)
        self.assertTrue(torch.equal(wanted, got))
        self.assertTrue(got.transpose(-3, -2).is_contiguous())

    def test_terms(self):
        for terms in ([heed.window(5, 0)], [heed.window(3), heed.global_tokens(2, rows=True)],
                      [heed.window(8, block=8), heed.global_tokens([0, 9, 33])],
                      [heed.global_tokens(whole([1, 5, -1], [2, 3, 60]), rows=True)],
                      [heed.everything(step=3, by_head=True)],
                      [heed.segments(whole([0, 9], [3, 70], [5, 5], [60, 70]), block=16)]):
            self.judge(terms=terms, align="end")

    def test_causal_scale_softcap_and_sinks(self):
        self.judge(causal=True, align="end", scale=0.3, softcap=2.0, sinks=draw(4))
        self.judge(causal=True, align="start", scale=0.0)

    def test_biases(self):
        self.judge(biases=[heed.dense(draw(1, 4, 50, 70)), heed.dense(draw(70))], align="start")
        self.judge(biases=[heed.alibi(draw(4).abs())], align="end")
        self.judge(biases=[heed.table(draw(4, 9), zero=4, map=whole(0, 1, 2, 8, 4))], align="end")
        self.judge(biases=[heed.dot(draw(4, 9, 16), draw(1, 9, 16), zero=4)], align="end")

    def test_lengths_masks_and_positions(self):
        mask = draw(2, 1, 70) > 0
        self.judge(len=whole(70, 33), mask=mask, q_len=whole(50, 4, dtype=torch.int64))
        self.judge(causal=True, align="start", q_pos=whole(20, 7, dtype=torch.int64))

    def test_types_strides_and_batches(self):
        for dtype in (torch.float16, torch.bfloat16):
            self.judge(q=self.q.to(dtype), k=self.k.to(dtype), v=self.v)
        self.judge(q=self.q.transpose(1, 2).contiguous().transpose(1, 2), k=self.k[:, :, ::3],
                   v=self.v.flip(2)[:, :, :24].expand(2, 2, 24, 24))
        self.judge(q=draw(3, 1, 4, 5, 16), k=draw(2, 1, 7, 16), v=draw(2, 1, 7, 4))
        self.judge(q=draw(4, 5, 16), k=draw(1, 7, 16), v=draw(1, 7, 4))
        self.judge(q=draw(2, 4, 0, 16))
        self.judge(k=draw(2, 2, 0, 16), v=draw(2, 2, 0, 8))

    def test_lse(self):
        wanted = heed.attention(self.q, self.k, self.v, lse=True)
        got = attend(self.q, self.k, self.v, lse=True)
        self.assertTrue(all(map(torch.equal, wanted, got)))

    def layouts(self, source, q, k, v, align=None, more=(), **keywords):
        wanted = heed.attention(q, sources=[heed.Source(k, v, **source, **dict(more))],
                                align=align, **keywords)
        got = attend(q, k, v, align=align, **source, **dict(more), **keywords)
        self.assertTrue(torch.equal(wanted, got))

    def test_pages(self):
        pages = draw(6, 2, 8, 16), draw(6, 2, 8, 24)
        source = {"layout": "paged", "slot": whole([4, 0, 2], [1, 5, -1]), "len": whole(20, 11)}
        self.layouts(source, draw(2, 4, 1, 16), *pages, align="end", more={"causal": True})
        self.layouts(source, draw(2, 4, 3, 16), *pages, align="end",
                     more={"terms": [heed.window(6, 0)]})

    def test_rings_and_lists(self):
        self.layouts({"layout": "ring", "slot": whole(3, 60), "len": whole(70, 20)}, self.q,
                     self.k, self.v)
        self.layouts({"layout": "listed", "slot": whole([[[0, 3, 9]]], [[[6, -1, 1]]]), "run": 4,
                      "rows": 50}, self.q, self.k, self.v)

    def test_ragged(self):
        q, k, v = draw(1, 4, 30, 16), draw(1, 2, 40, 16), draw(1, 2, 40, 16)
        source = {"layout": "ragged", "slot": whole(0, 9, 21), "len": whole(9, 12, 19)}
        o = torch.zeros(1, 4, 30, 16)
        wanted = heed.attention(q, o=o, sources=[heed.Source(k, v, causal=True, **source)],
                                q_begins=whole(0, 7, 19), q_len=whole(7, 12, 11), align="end")
        got = attend(q, k, v, causal=True, q_begins=whole(0, 7, 19), q_len=whole(7, 12, 11),
                     align="end", **source)
        self.assertTrue(torch.equal(wanted, got))

    def test_rows_with_scales(self):
        k, v = (torch.randint(-127, 127, (2, 2, 70, 16), generator=DRAWN).to(torch.int8)
                for _ in range(2))
        scales = draw(2, 2, 70).abs(), draw(1, 1, 70).abs()
        self.layouts({"k_scale": scales[0], "v_scale": scales[1]}, self.q, k, v)


class Visible(unittest.TestCase):
    """Booleans of every pair."""

    def setUp(self):
        self.q, self.k, self.v = draw(2, 4, 20, 16), draw(2, 2, 33, 16), draw(2, 2, 33, 8)

    def judge(self, visible, **same):
        """The bits of the same rows told in another way, and the oracle's numbers."""
        got = attend(self.q, self.k, self.v, visible=visible)
        self.assertTrue(torch.equal(got, heed.attention(self.q, self.k, self.v, **same)))
        seen = visible.expand(2, 4, 20, 33).numpy().astype("uint8")
        for item in range(2):
            wanted, bound = oracle.of_heads(*(x[item].numpy() for x in (self.q, self.k, self.v)),
                                            seen[item])
            self.assertLess(oracle.off_by(got[item].numpy(), wanted, bound), 1)

    def test_ranges(self):
        begin = torch.randint(0, 33, (2, 20), generator=DRAWN)
        end = torch.randint(0, 34, (2, 20), generator=DRAWN)
        j = torch.arange(33)
        visible = ((j >= begin[..., None]) & (j < end[..., None]))[:, None]
        given = torch.stack((begin, torch.maximum(begin, end)), -1).to(torch.int32)
        for one in (visible, visible.transpose(2, 3).contiguous().transpose(2, 3)):
            self.judge(one, terms=[heed.segments(given)])
        self.judge(visible[:1], terms=[heed.segments(given[:1])])

    def test_what_is_no_range(self):
        for shape in ((2, 1, 20, 33), (1, 4, 20, 33), (2, 1, 1, 33)):
            visible = draw(*shape) > 0
            bias = torch.zeros(shape).masked_fill(~visible, -torch.inf)
            self.judge(visible, biases=[heed.dense(bias)])

    def test_beside_terms_it_is_their_intersection(self):
        visible = torch.ones(1, 1, 20, 33, dtype=torch.bool).tril(4)
        got = attend(self.q, self.k, self.v, visible=visible, terms=[heed.window(3)],
                     align="start")
        wanted = heed.attention(self.q, self.k, self.v, terms=[heed.window(3)], align="start",
                                biases=[heed.dense(torch.zeros(20, 33).masked_fill(
                                    ~visible[0, 0], -torch.inf))])
        self.assertTrue(torch.equal(got, wanted))

    def test_numbers_are_refused(self):
        with self.assertRaises((TypeError, heed.Error)):
            attend(self.q, self.k, self.v, visible=torch.zeros(20, 33))


def layer(q, k, v, sinks):
    """What a graph is made of: the operator between two others."""
    o, lse = attend(q * 2, k, v, terms=[heed.window(9, 0), heed.global_tokens([0, 4])],
                    align="end", sinks=sinks, lse=True)
    return o.transpose(1, 2).flatten(2) + 1, lse


def counted(made):
    """A backend that keeps the graphs that it is given, and runs them as aot_eager does."""
    run = torch._dynamo.lookup_backend("aot_eager")
    return lambda graph, inputs: made.append(graph) or run(graph, inputs)


class Graphs(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.q, self.k, self.v = draw(2, 4, 40, 16), draw(2, 2, 50, 16), draw(2, 2, 50, 8)
        self.sinks = draw(4)

    def test_torchs_checks_of_operators(self):
        mask = draw(2, 1, 40, 50) > 0
        for given in ({}, {"visible": mask}, {"causal": True, "align": 2, "softcap": 3.0},
                      {"terms": [1, 5, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1, 1], "align": 2,
                       "slots": [whole(0, 3)]}):
            for operator in (_torch_ops.attention, _torch_ops.attention_lse):
                found = torch.library.opcheck(operator, (self.q, self.k, self.v), given)
                self.assertEqual(set(found.values()), {"SUCCESS"})

    def test_one_graph_serves_all_lengths(self):
        made = []
        compiled = torch.compile(layer, backend=counted(made), fullgraph=True, dynamic=True)
        for rows, keys in ((40, 50), (7, 50), (30, 41)):
            given = draw(2, 4, rows, 16), draw(2, 2, keys, 16), draw(2, 2, keys, 8), self.sinks
            for got, wanted in zip(compiled(*given), layer(*given)):
                self.assertTrue(torch.equal(got, wanted))
                self.assertEqual(got.stride(), wanted.stride())
        found = [str(node.target) for graph in made for node in graph.graph.nodes
                 if "heed" in str(node.target)]
        self.assertEqual(found, ["heed.attention_lse.default"])

    @unittest.skipUnless(COMPILER, "there is no C++ compiler")
    def test_inductor(self):
        compiled = torch.compile(layer, fullgraph=True)
        given = self.q, self.k, self.v, self.sinks
        with torch.inference_mode():
            for got, wanted in zip(compiled(*given), layer(*given)):
                torch.testing.assert_close(got, wanted, rtol=0, atol=2 ** -20)

    def test_export(self):
        class Layer(torch.nn.Module):
            forward = staticmethod(layer)
        rows = torch.export.Dim("rows", min=2, max=100)
        given = self.q, self.k, self.v, self.sinks
        program = torch.export.export(Layer(), given, dynamic_shapes=({2: rows}, None, None, None))
        given = self.q[:, :, :11], *given[1:]
        for got, wanted in zip(program.module()(*given), layer(*given)):
            self.assertTrue(torch.equal(got, wanted))

    def test_meta_tensors(self):
        o = attend(*(x.to("meta") for x in (self.q, self.k, self.v)))
        self.assertEqual((o.shape, o.stride(), o.device.type),
                         ((2, 4, 40, 8), attend(self.q, self.k, self.v).stride(), "meta"))


class Refusals(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v = draw(1, 2, 3, 8), draw(1, 2, 4, 8), draw(1, 2, 4, 8)

    def test_gradients(self):
        torch._dynamo.reset()
        compiled = torch.compile(attend, backend="eager", fullgraph=True)
        for given in ({"q": self.q.requires_grad_()}, {"sinks": torch.nn.Parameter(draw(2))}):
            given = {"q": self.q.detach(), "k": self.k, "v": self.v, **given}
            for function in (attend, compiled):
                with self.assertRaisesRegex(Exception, "inference only"):
                    function(**given)
                with torch.no_grad():
                    self.assertFalse(function(**given).requires_grad)
        with self.assertRaises(NotImplementedError):
            attend(self.q, self.k, self.v)

    def test_failures_are_heeds(self):
        for error, field, given in (
                (heed.ArgumentError, "sources[0].k.shape[3]", {"k": self.k[..., :6]}),
                (heed.ArgumentError, "", {"terms": [heed.window(2)]}),
                (heed.ArgumentError, "q.dtype", {"q": self.q.to(torch.int8)})):
            with self.assertRaises(error) as caught:
                attend(**{"q": self.q, "k": self.k, "v": self.v, **given})
            if field:
                self.assertEqual(caught.exception.field, field)
        self.assertTrue(attend(self.q, self.k, self.v).isfinite().all())

    def test_what_is_no_tensor_of_the_call(self):
        with self.assertRaisesRegex(TypeError, "constant"):
            attend(self.q, self.k, self.v, terms=[heed.segments(heed.constant([[[0, 1]]]))])
        with self.assertRaisesRegex(TypeError, r"terms\[0\]"):
            attend(self.q, self.k, self.v, terms=[3])


class Plans(unittest.TestCase):
    @unittest.skipIf(BUILT, "the kernel in C++ keeps its own")
    def test_plans_are_few(self):
        k = v = draw(1, 1, 2 * MOST_PLANS, 8)
        for n in range(1, 2 * MOST_PLANS):
            attend(k[:, :, :1], k[:, :, :n], v[:, :, :n])
        self.assertEqual(len(here.plans), MOST_PLANS)

    def test_many_shapes_twice(self):
        k = draw(1, 1, 300, 8)
        for _ in range(2):
            for n in range(1, 300):
                o = attend(k[:, :, :1], k[:, :, :n], k[:, :, :n])
            self.assertTrue(torch.equal(o, heed.attention(k[:, :, :1], k[:, :, :n], k[:, :, :n])))

    def test_threads_of_torch_and_of_callers(self):
        q, k, v = draw(2, 4, 90, 16), draw(2, 4, 200, 16), draw(2, 4, 200, 16)
        wanted, before = attend(q, k, v), torch.get_num_threads()
        try:
            for threads in (1, 3, 2, 100):
                torch.set_num_threads(threads)
                self.assertTrue(torch.equal(attend(q, k, v), wanted))
        finally:
            torch.set_num_threads(before)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for o in pool.map(lambda _: attend(q, k, v), range(20)):
                self.assertTrue(torch.equal(o, wanted))


class Example(unittest.TestCase):
    def test_it_runs(self):
        path = pathlib.Path(__file__).parents[2] / "examples/python/torch_ops.py"
        told = subprocess.run([sys.executable, path], check=False, text=True, capture_output=True,
                              env={**os.environ, "PYTHONPATH": str(
                                  pathlib.Path(heed.__file__).parents[1])})
        self.assertIn("one graph", told.stdout, told.stderr)


class Compiled(unittest.TestCase):
    """All of this, with the kernel in C++."""

    @unittest.skipIf(BUILT, "this is it")
    @unittest.skipUnless(COMPILER, "there is no C++ compiler")
    def test_the_kernel_in_cpp(self):
        self.assertFalse(heed.torch.compiled())
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "torch_ops.so")
            package = pathlib.Path(heed.__file__).parents[1]
            more = {**os.environ, "HEED_TORCH_OPS": made, "PYTHONPATH": os.pathsep.join(
                [str(package), str(pathlib.Path(__file__).parent)])}
            include = pathlib.Path(__file__).parents[2] / "include"
            subprocess.run([sys.executable, "-m", "heed.torch", made, "--include", include],
                           check=True, stdout=subprocess.DEVNULL, env={**more, "HEED_TORCH_OPS": ""})
            told = subprocess.run([sys.executable, "-m", "unittest", "test_torch"], env=more,
                                  check=False, text=True, capture_output=True)
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertRegex(told.stderr, r"Ran \d\d tests")

    @unittest.skipUnless(BUILT, "for the kernel in C++")
    def test_it_is_the_kernel_in_cpp(self):
        self.assertTrue(heed.torch.compiled())


if __name__ == "__main__":
    unittest.main()
