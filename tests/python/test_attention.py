# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed.attention against a dense softmax in double, by what its rows see."""

import unittest

import heed
import numpy as np

import oracle

RNG = np.random.default_rng(1)


def draw(*shape):
    return RNG.standard_normal(shape, dtype="float32")


def seen_by_hand(n_q, n_k, rule):
    i, j = np.ogrid[:n_q, :n_k]
    return np.broadcast_to(rule(i, j), (n_q, n_k)).astype("uint8")


class Terms(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v = draw(3, 90, 16), draw(3, 90, 16), draw(3, 90, 24)

    def judge(self, rule, **keywords):
        plan = heed.attention.plan(self.q, self.k, self.v, **keywords)
        for head in range(3):
            seen = seen_by_hand(90, self.k.shape[1], lambda i, j: rule(i, j, head))
            np.testing.assert_array_equal(heed.visible(plan, head=head), seen > 0)
            wanted, bound = oracle.dense(self.q[head], self.k[head], self.v[head], seen,
                                         keywords.get("scale"))
            self.assertLess(oracle.off_by(plan()[head], wanted, bound), 1)

    def test_no_term_is_everything(self):
        self.judge(lambda i, j, h: j >= 0)

    def test_scale_is_taken_as_it_is(self):
        self.judge(lambda i, j, h: j >= 0, scale=0.01)
        self.judge(lambda i, j, h: j >= 0, scale=0.0)

    def test_causal(self):
        self.judge(lambda i, j, h: j <= i, causal=True)

    def test_windows_unite(self):
        self.judge(lambda i, j, h: (abs(i - j) <= 5) | (i - j == 9),
                   terms=[heed.window(5), heed.window(9, -9)])

    def test_blocks(self):
        self.judge(lambda i, j, h: abs(i // 16 - j // 16) <= 1, terms=[heed.window(16, block=16)])

    def test_strided_heads(self):
        self.judge(lambda i, j, h: j % 4 == h % 4, terms=[heed.everything(step=4, by_head=True)])

    def test_global_tokens(self):
        self.judge(lambda i, j, h: (abs(i - j) <= 2) | (j == 7) | (j == 40) | (i == 7) | (i == 40),
                   terms=[heed.window(2), heed.global_tokens([7, 40], rows=True)])
        self.judge(lambda i, j, h: (abs(i - j) <= 2) | (j < 3),
                   terms=[heed.window(2), heed.global_tokens(heed.constant([0, 1, 2]))])

    def test_segments(self):
        ranges = np.array([[0, 10], [5, 50], [60, 90]], "int32")
        self.judge(lambda i, j, h: (j >= ranges[i // 30, 0]) & (j < ranges[i // 30, 1]),
                   terms=[heed.segments(ranges, 30)])

    def test_lengths_and_masks(self):
        mask = RNG.random(90) < 0.7
        self.judge(lambda i, j, h: mask[j] & (j < 70), mask=mask, len=[70])

    def test_row_masks(self):
        keep = RNG.random((3, 90, 90)) < 0.6
        keep[:, :, 64:] = False
        self.judge(lambda i, j, h: keep[h, i, j], row_mask=keep)
        self.judge(lambda i, j, h: keep[0, i, j] & (j <= i), row_mask=heed.constant(keep[0]),
                   causal=True)
        words = np.packbits(keep, axis=-1, bitorder="little")
        words[..., -1] |= 0xfc                          # of keys that are not there
        self.judge(lambda i, j, h: keep[h, i, j], row_mask=words.view("<i4"))

    def test_dense_with_a_factor_a_head(self):
        t, u = draw(90, 90), np.array([0.5, 0, -2], "f")
        t[:, 3] = -np.inf
        o = heed.attention(self.q, self.k, self.v, biases=[heed.dense(t, u)])
        for head in range(3):
            alone = np.where(np.isinf(t), t, u[head] * np.where(np.isinf(t), 0, t)).astype("f")
            np.testing.assert_array_equal(o[head], heed.attention(
                self.q[head:head + 1], self.k[head:head + 1], self.v[head:head + 1],
                biases=[heed.dense(alone)])[0])

    def test_biases(self):
        slopes, table = np.array([0.5, 0.25, 1], "f"), draw(3, 9)
        i, j = np.ogrid[:90, :90]
        wide = draw(3, 90, 90)
        index = np.clip(j - i + 4, 0, 8)
        biases = [-slopes[h] * abs(i - j) + table[h][index] + wide[h] for h in range(3)]
        o = heed.attention(self.q, self.k, self.v, biases=[
            heed.alibi(slopes), heed.table(table, zero=4), heed.dense(wide)])
        for head in range(3):
            # The three addends are judged by their magnitudes, not by that of their sum.
            size = slopes[head] * abs(i - j) + abs(table[head][index]) + abs(wide[head])
            wanted, bound = oracle.dense(self.q[head], self.k[head], self.v[head],
                                         np.ones((90, 90)), None, biases[head], size)
            self.assertLess(oracle.off_by(o[head], wanted, bound), 1)

    def test_dot_biases(self):
        t, u = draw(3, 11, 16), draw(3, 11, 16)
        o = heed.attention(self.q, self.k, self.v, biases=[heed.dot(t, u, zero=5)])
        i, j = np.ogrid[:90, :90]
        index = np.clip(j - i + 5, 0, 10)
        for head in range(3):
            q, k = self.q[head].astype("d"), self.k[head].astype("d")
            added = (np.einsum("id,ijd->ij", q, t[head][index].astype("d"))
                     + np.einsum("jd,ijd->ij", k, u[head][index].astype("d"))) / 4
            size = (np.einsum("id,ijd->ij", abs(q), abs(t[head][index]))
                    + np.einsum("jd,ijd->ij", abs(k), abs(u[head][index]))) / 4
            wanted, bound = oracle.dense(q, k, self.v[head], np.ones((90, 90)), None, added,
                                         size * 16)
            self.assertLess(oracle.off_by(o[head], wanted, bound), 1)

    def test_lse_and_sinks(self):
        o, lse = heed.attention(self.q, self.k, self.v, lse=True)
        s = np.einsum("hid,hjd->hij", self.q.astype("d"), self.k.astype("d")) / 4
        np.testing.assert_allclose(lse, np.log(np.exp(s).sum(-1)), rtol=1e-5)
        sinks = np.array([0, 2, -np.inf], "f")
        with_sinks = heed.attention(self.q, self.k, self.v, sinks=sinks)
        share = np.exp(s).sum(-1) / (np.exp(s).sum(-1) + np.exp(sinks.astype("d"))[:, None])
        np.testing.assert_allclose(with_sinks, o * share[..., None], rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(with_sinks[2], o[2])

    def test_softcap(self):
        o = heed.attention(self.q * 8, self.k, self.v, softcap=3.0)
        s = np.einsum("hid,hjd->hij", self.q.astype("d") * 8, self.k.astype("d")) / 4
        p = np.exp(3 * np.tanh(s / 3))
        np.testing.assert_allclose(o, p @ self.v.astype("d") / p.sum(-1, keepdims=True), rtol=1e-4,
                                   atol=1e-5)

    def test_ends_are_aligned(self):
        with self.assertRaises(heed.ArgumentError) as caught:
            heed.attention(self.q[:, :4], self.k, self.v, causal=True)
        self.assertEqual(caught.exception.name, "HEED_E_AMBIGUOUS")
        o = heed.attention(self.q[:, :4], self.k, self.v, causal=True, align="end")
        seen = seen_by_hand(4, 90, lambda i, j: j <= i + 86)
        wanted, bound = oracle.of_heads(self.q[:, :4], self.k, self.v, np.stack([seen] * 3))
        self.assertLess(oracle.off_by(o, wanted, bound), 1)


class Sources(unittest.TestCase):
    def test_sources_are_concatenated(self):
        q = draw(2, 2, 33, 8)
        k, v, k2, v2 = draw(2, 1, 33, 8), draw(2, 1, 33, 8), draw(1, 1, 5, 8), draw(1, 1, 5, 8)
        o = heed.attention(q, sources=[heed.Source(k, v, [heed.window(3)]), heed.Source(k2, v2)])
        i, j = np.ogrid[:33, :38]
        seen = ((abs(i - j) <= 3) & (j < 33)) | (j >= 33)
        for b in range(2):
            wanted, bound = oracle.of_heads(
                q[b], np.concatenate([k[b], k2[0]], 1), np.concatenate([v[b], v2[0]], 1),
                np.stack([seen] * 2))
            self.assertLess(oracle.off_by(o[b], wanted, bound), 1)

    def test_layouts_have_the_bits_of_a_dense_copy(self):
        q, k, v = draw(2, 4, 3, 16), draw(2, 2, 64, 16), draw(2, 2, 64, 16)
        length = np.array([50, 64], "int32")
        wanted = heed.attention(q, k, v, len=length)
        pages = RNG.permutation(16).reshape(2, 8)
        heap_k, heap_v = np.empty((16, 2, 8, 16), "f"), np.empty((16, 2, 8, 16), "f")
        for b in range(2):
            heap_k[pages[b]] = k[b].reshape(2, 8, 8, 16).swapaxes(0, 1)
            heap_v[pages[b]] = v[b].reshape(2, 8, 8, 16).swapaxes(0, 1)
        source = heed.Source(heap_k, heap_v, layout="paged", slot=pages.astype("int32"),
                             len=length)
        np.testing.assert_array_equal(heed.attention(q, sources=[source]), wanted)
        ring = heed.Source(np.roll(k, 5, 2), np.roll(v, 5, 2), layout="ring",
                           slot=np.array([5, 5], "int32"), len=length)
        np.testing.assert_array_equal(heed.attention(q, sources=[ring]), wanted)

    def test_quantised_rows(self):
        q, k, v = draw(2, 3, 16), draw(2, 40, 16), draw(2, 40, 16)
        made = []
        for x in (k, v):
            y, scale = np.zeros(x.shape, "int8"), np.zeros(x.shape[:-1], "f")
            heed.copy(x, y, y_scale=scale)
            self.assertLess(np.max(abs(y * scale[..., None] - x) / scale[..., None]), 0.5001)
            made.append((y, scale))
        (qk, k_scale), (qv, v_scale) = made
        o = heed.attention(q, sources=[heed.Source(qk, qv, k_scale=k_scale, v_scale=v_scale)])
        wanted, bound = oracle.of_heads(q, qk * k_scale[..., None], qv * v_scale[..., None],
                                        np.ones((2, 3, 40)))
        self.assertLess(oracle.off_by(o, wanted, bound), 1)

    def test_groups_of_halves(self):
        q = RNG.standard_normal((2, 3, 64), "float32")
        made = []
        for _ in "kv":
            z = RNG.integers(-8, 8, (2, 40, 64))
            pairs = (z[..., ::2] & 15 | (z[..., 1::2] & 15) << 4).astype("uint8")
            scale = RNG.random((2, 40, 2, 2), "float32") / 8    # [group][scale, minimum]
            product = z.reshape(2, 40, 2, 32) * scale[..., :1].astype("float64")
            made.append((heed.blocks(pairs, "i4"), scale.reshape(2, 40, 4),
                         (product + scale[..., 1:]).reshape(2, 40, 64),
                         (abs(product) + scale[..., 1:]).reshape(2, 40, 64)))
        (k, k_scale, wide_k, size_k), (v, v_scale, wide_v, size_v) = made
        o = heed.attention(q, sources=[heed.Source(k, v, k_scale=k_scale, v_scale=v_scale,
                                                   k_groups=True, k_minima=True, v_minima=True)])
        for h in range(2):      # terms z * s + m may cancel: docs/numerics.md, section 4
            wanted, bound = oracle.dense(q[h], wide_k[h], wide_v[h], np.ones((3, 40)),
                                         made=((64 + 2) * size_k[h], 2 * (40 + 18) * size_v[h]))
            self.assertLess(oracle.off_by(o[h], wanted, bound), 1)

    def test_states_go_on(self):
        q, k, v = draw(2, 3, 16), draw(2, 2 * 1024 + 40, 16), draw(2, 2 * 1024 + 40, 24)
        wanted = heed.attention(q, k, v)
        state = heed.attention(q, k[:, :1024], v[:, :1024], state_out=True)
        self.assertEqual(state.shape, (2, 3, heed.STATE_SUMS + 24))
        again = heed.attention(q, k[:, 1024:2048], v[:, 1024:2048], state_in=state,
                               state_out=state)
        self.assertIs(again, state)
        np.testing.assert_array_equal(
            heed.attention(q, k[:, 2048:], v[:, 2048:], state_in=state), wanted)
        with self.assertRaises(TypeError):
            heed.attention(q, k, v, state_out=True, lse=True)


if __name__ == "__main__":
    unittest.main()
