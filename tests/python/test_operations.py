# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""copy, push, pool, select, merge and state by name; maps and windows."""

import math
import unittest

import heed
import numpy as np
from heed._abi import FUNCTIONS

RNG = np.random.default_rng(3)


def draw(*shape):
    return RNG.standard_normal(shape, dtype="float32")


class Operations(unittest.TestCase):
    def test_each_of_the_headers_has_a_function(self):
        plans, runs = ({name[len("heed_"):-len(end)] for name in FUNCTIONS if name.endswith(end)}
                       for end in ("_plan", "_run"))
        self.assertEqual(sorted(plans & runs - {"attn", "program"}), heed.operations.__all__)

    def test_copy_gathers_and_scatters(self):
        x = draw(2, 3, 10, 4)
        np.testing.assert_array_equal(heed.copy(x, from_=[7, 0, 7]), x[:, :, [7, 0, 7]])
        absent = heed.copy(x, from_=[7, -1])
        np.testing.assert_array_equal(absent[:, :, 1], 0)
        y = np.ones((2, 3, 5, 4), "f")
        heed.copy(x[:, :, :2], y, to=[4, 0])
        np.testing.assert_array_equal(y[:, :, [4, 0]], x[:, :, :2])
        np.testing.assert_array_equal(y[:, :, 1:4], 1)
        with self.assertRaises(TypeError):
            heed.copy(x, to=[1])

    def test_copy_appends_to_pages(self):
        x, heap = draw(2, 3, 4), np.zeros((4, 2, 2, 4), "f")
        heed.copy(x, heap, at=[1], table=[[3, 1]])
        np.testing.assert_array_equal(heap[3, :, 1], x[:, 0])
        np.testing.assert_array_equal(heap[1], x[:, 1:])

    def test_push_is_a_queue(self):
        rows, head, length = np.zeros((1, 5, 2), "f"), np.zeros(1, "i8"), np.zeros(1, "i8")
        out, fell, seen = np.empty((1, 3, 2), "f"), np.zeros(1, "i8"), []
        for step in range(4):
            x = draw(1, 3, 2)
            seen.append(x[0])
            heed.push(rows, head, length, x, out=out, out_len=fell)
            order = (head[0] + np.arange(length[0])) % 5
            np.testing.assert_array_equal(rows[0][order], np.concatenate(seen)[-5:])
        self.assertEqual(fell[0], 3)

    def test_pools(self):
        x, w = draw(2, 11, 4), draw(2, 11)
        np.testing.assert_allclose(heed.pool(x, kind="mean", kernel=3, stride=2)[:, 4],
                                   x[:, 8:11].mean(1), rtol=1e-5, atol=1e-6)
        for tail, rows in dict(floor=3, ceil=4, centre=4, join=3, end=4).items():
            y = heed.pool(x, kind="sum", kernel=3, stride=3, tail=tail)
            self.assertEqual(y.shape, (2, rows, 4))
        p = np.exp(w.astype("d"))
        got = heed.pool(x, kind="weighted", ranges=[[0, 11]], weights=w)
        np.testing.assert_allclose(got[:, 0], (p[..., None] * x).sum(1) / p.sum(1)[:, None],
                                   rtol=1e-5, atol=1e-6)
        there = np.empty((1, 4), "uint8")
        y, mask = heed.pool(x, kind="max", kernel=3, stride=3, tail="ceil", len=[6], y_mask=there)
        self.assertIs(mask, there)
        np.testing.assert_array_equal(mask, [[1, 1, 0, 0]])
        np.testing.assert_array_equal(y[:, 1], x[:, 3:6].max(1))
        ids = RNG.integers(0, 3, (2, 11)).astype("int32")
        y = heed.pool(x, kind="bucket", block=6, buckets=3, ids=ids)
        self.assertEqual(y.shape, (2, 6, 4))
        in_it = ids[1, 6:] == 2
        if in_it.any():
            np.testing.assert_allclose(y[1, 5], x[1, 6:][in_it].mean(0), rtol=1e-5, atol=1e-6)

    def test_selections(self):
        x, q = draw(2, 12, 4), draw(4, 3, 4)
        got = heed.select(x, kind="norm", block=4, count=2)
        norms = (x.astype("d") ** 2).sum(-1).reshape(2, 3, 4)
        wanted = np.sort(np.argsort(-norms, -1)[..., :2], -1) + np.arange(3)[:, None] * 4
        np.testing.assert_array_equal(got, wanted.reshape(2, 6))
        got = heed.select(x, q, kind="topk", count=5)
        scores = q.astype("d") @ x[[0, 0, 1, 1]].swapaxes(1, 2)
        np.testing.assert_array_equal(got, np.sort(np.argsort(-scores, -1)[..., :5], -1))
        matrix = draw(1, 4, 3)
        s = x.astype("d") @ matrix[0]
        np.testing.assert_array_equal(heed.select(x, kind="hash", block=12, rounds=[matrix]),
                                      np.argmax(np.concatenate([s, -s], -1), -1))

    def test_merge_joins_parts(self):
        q, k, v = draw(2, 5, 8), draw(2, 40, 8), draw(2, 40, 8)
        parts = [heed.attention(q, k[:, a:b], v[:, a:b], lse=True) for a, b in ((0, 15), (15, 40))]
        o, lse = heed.merge(np.stack([p[0] for p in parts]), np.stack([p[1] for p in parts]),
                            lse=True)
        wanted, wanted_lse = heed.attention(q, k, v, lse=True)
        np.testing.assert_allclose(o, wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(lse, wanted_lse, rtol=1e-5)

    def test_states_are_joined_and_read(self):
        states = draw(3, 2, 5, 18 + 4)
        states[..., 0], states[..., 17] = RNG.integers(-3, 4, (3, 2, 5)), 1
        states[..., 1:17] = abs(states[..., 1:17]) + 1
        states[1, 0, 2, 17], states[1, 0, 2, :17] = 0, np.nan       # it holds nothing
        there = states[..., 17:18] != 0
        terms = np.where(there, states * np.exp2(states[..., :1]), 0).astype("d")
        l, o = terms[..., 1:17].sum((0, -1)), terms[..., 18:].sum(0)
        got, lse, joined = heed.state(states, lse=True, state=True)
        np.testing.assert_allclose(got, o / l[..., None], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(lse, np.log(l), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(joined[..., 0],
                                      np.where(there, states, -np.inf)[..., 0].max(0))
        np.testing.assert_array_equal(heed.state(joined[None]), got)
        half = np.empty((2, 5, 4), "float16")
        self.assertIs(heed.state(states, half), half)
        np.testing.assert_array_equal(half, got.astype("float16"))
        np.testing.assert_array_equal(heed.state(states, False, state=True), joined)
        with self.assertRaises(heed.ArgumentError):
            heed.state(states, False, state=True, sinks=[0.0, 0.0])
        with self.assertRaises(heed.ArgumentError):
            heed.state(states, False)

    def test_norms(self):
        x, stream, weight, bias = draw(3, 5, 40), draw(3, 5, 40), draw(40), draw(40)
        s = (x + stream).astype("d")
        centred = s - s.mean(-1, keepdims=True)
        layer = centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * weight + bias
        got, total = heed.norm(x, residual=stream, weight=weight, bias=bias, sum=True)
        np.testing.assert_allclose(got, layer, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(total, x + stream)
        rms = x / np.sqrt((x.astype("d") ** 2).mean(-1, keepdims=True) + 1e-6)
        np.testing.assert_allclose(heed.norm(x, kind="rms", eps=1e-6), rms, rtol=1e-5, atol=1e-6)
        half = np.empty((3, 5, 40), "float16")
        self.assertIs(heed.norm(x, half), half)
        with self.assertRaises(heed.ArgumentError):
            heed.norm(x, kind="rms", bias=bias)

    def test_rotary_positions(self):
        x = draw(2, 6, 10)
        cos, sin = heed.rope_tables(9, 4)
        angle = np.arange(9)[:, None] * 10000.0 ** (-np.arange(4) / 4)
        np.testing.assert_allclose(cos, np.cos(angle), atol=1e-7)
        np.testing.assert_allclose(sin, np.sin(angle), atol=1e-7)
        c, s = cos[3:9], sin[3:9]
        a, b = x[..., :4], x[..., 4:8]
        np.testing.assert_allclose(
            heed.rope(x, cos, sin, pos0=3),
            np.concatenate([a * c - b * s, b * c + a * s, x[..., 8:]], -1), rtol=1e-5, atol=1e-6)
        even, odd, want = x[..., 0:8:2], x[..., 1:8:2], x.copy()
        want[..., 0:8:2], want[..., 1:8:2] = even * c - odd * s, odd * c + even * s
        pos = np.arange(3, 9, dtype="int32")[None, None]
        np.testing.assert_allclose(heed.rope(x, cos, sin, kind="adjacent", pos=pos), want,
                                   rtol=1e-5, atol=1e-6)
        self.assertTrue(np.isnan(heed.rope(x, cos, sin, pos0=4)[:, -1, :8]).all())
        slow = heed.rope_tables(2, 4, kind="linear", factor=2)[0]
        np.testing.assert_allclose(slow[1], np.cos(angle[1] / 2), atol=1e-7)
        with self.assertRaises(heed.ArgumentError):
            heed.rope_tables(3, 1, kind="ntk")
        with self.assertRaises((ValueError, TypeError)):
            heed.rope(x, cos, sin, kind="linear")
        with self.assertRaises(ValueError):
            heed.rope(x, cos, sin, kind="scaling_linear")

    def test_activations(self):
        x, up = draw(2, 6, 10), draw(2, 6, 10)
        wide = x.astype("d")
        np.testing.assert_allclose(heed.act(x, kind="silu", factor=up, add=x),
                                   wide / (1 + np.exp(-wide)) * up + wide, rtol=1e-5, atol=1e-6)
        gelu = [[[v * math.erfc(-v / math.sqrt(2)) / 2 for v in row] for row in item]
                for item in wide]
        np.testing.assert_allclose(heed.act(x, kind="gelu"), gelu, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(heed.act(x, factor=up), x * up)
        with self.assertRaises(ValueError):
            heed.act(x, kind="swish")

    def test_recurrences(self):
        k, v, q = draw(2, 5, 3) / 2, draw(4, 5, 6), draw(2, 5, 3)
        decay, beta = abs(draw(4, 5)) / 3, abs(draw(4, 5)) / 3
        state = draw(4, 3, 6)
        want, s = np.empty((4, 5, 6)), state.astype("d")
        for t in range(5):
            s *= decay[:, t, None, None]
            key, query = k.repeat(2, 0)[:, t], q.repeat(2, 0)[:, t]
            u = v[:, t] - np.einsum("hk,hkv->hv", key, s)
            s += np.einsum("hk,hv->hkv", key, beta[:, t, None] * u)
            want[:, t] = 0.5 * np.einsum("hk,hkv->hv", query, s)
        started = state.copy()
        o, left = heed.recur(q, k, v, state, decay=decay, beta=beta, scale=0.5, flags="delta")
        self.assertIs(left, state)
        np.testing.assert_allclose(o, want, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(state, s, rtol=1e-4, atol=1e-5)
        cut, o2 = started.copy(), np.empty((4, 5, 6), "f")
        for a, b in ((0, 2), (2, 5)):
            heed.recur(q[:, a:b], k[:, a:b], v[:, a:b], cut, o2[:, a:b], decay=decay[:, a:b],
                       beta=beta[:, a:b], scale=0.5, flags="delta")
        np.testing.assert_array_equal(o2, o)
        np.testing.assert_array_equal(cut, state)
        alone = started.copy()
        self.assertIs(heed.recur(None, k, v, alone, decay=decay, beta=beta, flags="delta"), alone)
        np.testing.assert_array_equal(alone, state)

    def test_embeddings(self):
        table, positions, types = draw(9, 6), draw(7, 6), draw(2, 6)
        ids = np.array([[1, 8, 0], [3, 3, 9]], "int32")
        y = heed.embed(table, ids)
        np.testing.assert_array_equal(y[0], table[ids[0]])
        np.testing.assert_array_equal(y[1, :2], table[[3, 3]])
        self.assertTrue(np.isnan(y[1, 2]).all())
        kinds = np.array([[0, 1, 1]], "int64")
        np.testing.assert_allclose(
            heed.embed(table, ids[:1], positions=positions, pos0=4, types=types, type_ids=kinds,
                       scale=6 ** 0.5),
            table[ids[:1]] * 6 ** 0.5 + positions[4:7] + types[kinds], rtol=1e-5, atol=1e-6)
        with self.assertRaises(heed.ArgumentError):
            heed.embed(table, ids, pos=ids)

    def test_order(self):
        ids = np.array([[2, 0, -1, 2, 1, 0, 7]], "int32")
        order, place, starts = heed.order(ids, 3, place=True, starts=True)
        np.testing.assert_array_equal(order, [[1, 5, 4, 0, 3, 2, 6]])
        np.testing.assert_array_equal(place, [[3, 0, 5, 4, 2, 1, 6]])
        np.testing.assert_array_equal(starts, [[0, 2, 3, 5]])
        x = draw(1, 7, 3)
        rows = heed.copy(x, np.empty_like(x), from_=order)
        np.testing.assert_array_equal(rows[0], x[0, order[0]])
        np.testing.assert_array_equal(
            heed.order(ids[None], 3, len=np.array([4])), [[[1, 0, 3, 2, -1, -1, -1]]])
        with self.assertRaises(heed.ArgumentError):
            heed.order(ids, 3, order=False)

    def test_linear_maps(self):
        x, w, bias = draw(2, 6, 10), draw(7, 10), draw(7)
        np.testing.assert_allclose(heed.linear(x, w, bias=bias), x @ w.T + bias, rtol=1e-5,
                                   atol=1e-5)
        add = draw(2, 6, 7)
        np.testing.assert_allclose(heed.linear(x, w, add=add), x @ w.T + add, rtol=1e-5, atol=1e-5)
        taps = draw(7, 10, 3)               # as torch.nn.Conv1d has them
        padded = np.pad(x, ((0, 0), (1, 1), (0, 0)))
        want = sum(padded[:, t:t + 6] @ taps[:, :, t].T for t in range(3))
        np.testing.assert_allclose(
            heed.linear(x[:, None], taps.transpose(0, 2, 1), kernel=3, left=1, tail="centre")[:, 0],
            want[:, 0:6], rtol=1e-4, atol=1e-5)
        self.assertEqual(heed.linear(x, draw(7, 2, 10), kernel=2, stride=2, tail="end").shape,
                         (2, 3, 7))
        with self.assertRaises(heed.ArgumentError):
            heed.linear(x, draw(7, 9))

    def test_gates(self):
        m, u, z = draw(2, 6, 10), draw(2, 6, 10), draw(2, 6, 10)
        g = 1 / (1 + np.exp(-z.astype("d")))
        np.testing.assert_allclose(heed.gate(m, u, z), g * np.tanh(u) + (1 - g) * m, rtol=1e-5,
                                   atol=1e-6)
        kept = m.copy()
        heed.gate(kept, u, z, kept, flags="keeps")
        np.testing.assert_allclose(kept, g * m + (1 - g) * np.tanh(u), rtol=1e-5, atol=1e-6)

    def test_maps_and_windows(self):
        np.testing.assert_array_equal(heed.map_even(5, 2, 2, 2), [0, 0, 2, 3, 3])
        t5 = heed.map_t5(257, 128)
        self.assertEqual((t5[128], t5[129], t5[127], t5[0], t5[256]), (0, 17, 1, 15, 31))
        self.assertEqual(len(set(heed.map_log(101, 50, 8, 40, reverse=True))), 16)
        windows = heed.window_plan(25, 10, 4)
        self.assertEqual((windows[0, 0], windows[-1, 1]), (0, 25))
        np.testing.assert_array_equal(windows[1:, 2], windows[:-1, 3])
        with self.assertRaises(heed.ArgumentError):
            heed.map_t5(5, 2, buckets=3)


if __name__ == "__main__":
    unittest.main()
