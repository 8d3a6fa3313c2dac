# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What no call should be given: it raises, names what is wrong, and never runs on."""

import importlib.util
import os
import subprocess
import sys
import threading
import unittest
from unittest import mock

import heed
import numpy as np

RNG = np.random.default_rng(17)
HUGE = 2**64 + 1


def draw(*shape):
    return RNG.standard_normal(shape, dtype="float32")


class Misuse(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v = draw(2, 10, 8), draw(2, 10, 8), draw(2, 10, 8)

    def refused(self, error, text, call, /, *arguments, **keywords):
        with self.assertRaisesRegex(error, text):
            call(*arguments, **keywords)

    def test_numbers_that_a_field_cannot_hold_are_refused(self):
        q, k, v = self.q, self.k, self.v
        self.refused(OverflowError, "left is 18446744073709551617", heed.attention, q, k, v,
                     terms=[heed.window(HUGE)])
        self.refused(OverflowError, "window", heed.longformer, q, (k, v), window=HUGE)
        self.refused(OverflowError, "flags", heed.pool, q, kind="mean", kernel=2, stride=2,
                     flags=2**32)
        self.refused(OverflowError, "kind", heed.attention, q, k, v, terms=[heed.Term(2**32 + 1)])
        self.refused(OverflowError, "width is -1", heed.Runtime, -1)
        self.refused(Exception, "18446744073709551617", heed.map_log, 10, HUGE, 4, 9)
        self.refused(Exception, "18446744073709551617", heed.pairs, heed.attention.plan(q, k, v),
                     batch=HUGE)

    def test_numbers_in_lists_are_held_as_they_are(self):
        q, k, v = self.q, self.k, self.v
        self.refused(ValueError, "len: a number does not fit int32", heed.attention, q, k, v,
                     len=[2**40])
        self.refused(ValueError, "mask: a number does not fit uint8", heed.attention, q, k, v,
                     mask=[256] * 10)
        self.refused(TypeError, "len: whole numbers", heed.attention, q, k, v, len=[2.5])
        self.refused(TypeError, "text.len: whole", heed.longformer, q, heed.Keys(k, v, len=[2.5]))

    def test_a_number_is_no_array(self):
        q, k, v = self.q, self.k, self.v
        self.refused(ValueError, "text.len", heed.longformer, q, heed.Keys(k, v, len=3))
        self.refused(ValueError, "text.len", heed.longformer, q,
                     heed.Keys(k, v, len=heed.constant(3)))
        self.refused(ValueError, "len", heed.attention, q, k, v, len=3)
        self.refused(ValueError, "sinks", heed.attention, q, k, v, sinks=0.5)
        self.refused(ValueError, "mask", heed.pool, q, kind="mean", kernel=2, stride=2,
                     mask=np.uint8(0))

    def test_what_is_no_array_has_the_name_of_its_argument(self):
        q, k, v = self.q, self.k, self.v
        self.refused(TypeError, "q: .* not NoneType", heed.attention, None, k, v)
        self.refused(TypeError, "q: .*float64", heed.attention, q.astype("d"), k, v)
        self.refused(TypeError, "lsg wants q", heed.lsg, None, (k, v))
        self.refused(TypeError, "rounds", heed.longformer, q, (k, v), rounds=[q])
        self.refused(ValueError, "rounds has 9 arrays", heed.select, k, kind="hash", block=2,
                     rounds=[k] * 9)

    def test_keys_are_given_once(self):
        q, k, v = self.q, self.k, self.v
        for given in ((), (None, v), (k,)):
            self.refused(TypeError, "k and v are wanted", heed.attention, q, *given)
        sources = [heed.Source(k, v)]
        for wrong in ({"k": k, "v": v}, {"terms": [heed.window(2)]}, {"causal": True},
                      {"len": [3]}):
            self.refused(TypeError, "beside sources", heed.attention, q, sources=sources, **wrong)
        self.refused(TypeError, r"terms wants a list", heed.attention, q, k, v,
                     terms=heed.window(2))
        self.refused(TypeError, r"terms\[0\] is no Term", heed.attention, q, k, v,
                     terms=[heed.alibi([1.0, 1.0])])

    def test_values_that_memory_does_not_hold_are_refused(self):
        self.refused(TypeError, "mask", heed.attention, np.ma.array(self.q, mask=True), self.k,
                     self.v)
        if importlib.util.find_spec("torch") is None:
            self.skipTest("without torch")
        import torch
        negative = torch.view_as_complex(torch.from_numpy(draw(2, 10, 8, 2))).conj().imag
        self.refused(TypeError, "resolve_neg", heed.attention, negative, self.k, self.v)

    def test_names_of_devices_are_whole(self):
        for name in ("", "cpu\0x"):
            self.refused((heed.UnsupportedError, ValueError), "", heed.attention, self.q, self.k,
                         self.v, device=name)

    def test_nothing_is_written_by_a_call_that_fails(self):
        o = np.full_like(self.q, 7)
        self.refused(heed.ArgumentError, "HEED_E_SHAPE", heed.attention, self.q, self.k[:, :9],
                     self.v, o)
        self.refused(heed.ArgumentError, "HEED_E_ALIAS", heed.attention, self.q, self.k, o, o)
        self.assertTrue((o == 7).all())


class Counts(unittest.TestCase):
    def test_keys_of_pages_are_counted_within_their_array(self):
        k, v, q = draw(4, 1, 16, 8), draw(4, 1, 16, 8), draw(1, 1, 5, 8)
        plan = heed.attention.plan(q, sources=[heed.Source(
            k, v, layout="paged", slot=[[3, 1, 2, 0]], len=[60])])
        made, zeros = [], np.zeros

        def guarded(shape, kind=None):
            """Zeros with rubbish behind them."""
            room = zeros((shape[0] + 100, *shape[1:]), kind)
            room[shape[0]:] = 77
            made.append(room[shape[0]:])
            return room[:shape[0]]

        with mock.patch.object(np, "zeros", guarded):
            found, = heed.pairs(plan)
        self.assertEqual(found.shape, (5, 64))
        np.testing.assert_array_equal(found.sum(1), 60)
        self.assertTrue((made[0] == 77).all())
        self.assertEqual(heed.visible(plan).shape, (5, 64))


class Neighbours(unittest.TestCase):
    """Arrays in one another's memory, on every device."""

    def setUp(self):
        self.q, self.k, self.v = draw(2, 40, 8), draw(2, 40, 8), draw(2, 40, 8)
        self.names, runtime = [], heed.Runtime()
        for name in ("cpu", "opencl:0"):
            try:
                runtime.device(name)
            except heed.Error:
                continue        # this machine has it not
            self.names.append(name)

    def test_outputs_may_lie_between_one_another(self):
        want, lse = heed.attention(self.q, self.k, self.v, lse=True)
        for name in self.names:
            both = np.zeros((2, 40, 9), "f")
            heed.attention(self.q, self.k, self.v, both[..., :8], lse=both[..., 8], device=name)
            np.testing.assert_array_equal(both[..., :8], want)
            np.testing.assert_array_equal(both[..., 8], lse)

    def test_inputs_may_share_memory(self):
        both = np.concatenate([self.k, self.v], axis=2)
        want = heed.attention(self.q, self.k, self.v)
        for name in self.names:
            np.testing.assert_array_equal(want, heed.attention(
                self.q, both[:, :, :8], both[:, :, 8:], device=name))
            np.testing.assert_array_equal(heed.attention(self.k, self.k, self.k, device=name),
                                          heed.attention(self.k, self.k, self.k))

    def test_an_output_shares_no_byte_with_an_input(self):
        for name in self.names:
            q = self.q.copy()
            with self.assertRaisesRegex(heed.ArgumentError, "HEED_E_ALIAS"):
                heed.attention(q, self.k, self.v, q, device=name)
            np.testing.assert_array_equal(q, self.q)


class Lives(unittest.TestCase):
    def test_queues_end_with_their_threads(self):
        plan = heed.attention.plan(draw(1, 4, 8), draw(1, 4, 8), draw(1, 4, 8))
        ended = []
        destroy = heed.library.heed_queue_destroy

        def count(handle):
            ended.append(handle)
            destroy(handle)

        with mock.patch.object(heed.library, "heed_queue_destroy", count):
            for _ in range(3):
                thread = threading.Thread(target=plan)
                thread.start()
                thread.join()
        self.assertEqual(len(ended), 3)

    def test_a_library_that_is_none_of_heed_is_an_import_error(self):
        for other in ("/nonexistent", os.path.dirname(heed.__file__), "libc.so.6"):
            done = subprocess.run(
                [sys.executable, "-c", "import heed"], text=True, capture_output=True, check=False,
                env={**os.environ, "HEED_LIBRARY": other,
                     "PYTHONPATH": os.path.dirname(os.path.dirname(heed.__file__))})
            self.assertIn("ImportError", done.stderr)
