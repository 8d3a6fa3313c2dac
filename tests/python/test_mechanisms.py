# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Every mechanism of the headers, called by name, against a softmax in double over what its rows
see; and programs against the operations that they consist of, bit for bit."""

import unittest

import heed
import numpy as np
from heed import _abi, mechanisms

import oracle

RNG = np.random.default_rng(2)
N, HEADS, DIM = 64, 4, 16


def draw(*shape):
    return RNG.standard_normal(shape, dtype="float32")


def rows(n=N):
    return draw(HEADS, n, DIM)


def keys(n=N):
    return (rows(n), rows(n))


def mask(n=N):
    return RNG.random((1, n)) < 0.8


# Arguments of each builder. Those with biases are judged apart.
CALLS = {
    "longformer": lambda: dict(q=rows(), text=heed.Keys(*keys(), mask=mask()), window=4,
                               globals=[3, 9]),
    "global_rows": lambda: dict(q=rows(5), text=keys(), globals=keys(5)),
    "bigbird": lambda: dict(q=rows(), text=keys(), block=8,
                            random=RNG.integers(0, 8, (HEADS, 8, 2)).astype("int32")),
    "longt5": lambda: dict(q=rows(), text=keys(), side=keys(4), radius=5, scale=1.0),
    "lsg": lambda: dict(q=rows(), text=heed.Keys(*keys(), len=[60]), globals=keys(2),
                        sparsity="block_stride", block=16, factor=4),
    "hepos": lambda: dict(q=rows(7), text=keys()),
    "pegasus_x": lambda: dict(q=rows(), text=keys(), globals=keys(3), block=16, flags="staggered"),
    "salient": lambda: dict(q=rows(), text=keys(), prefix=keys(6)),
    "poolingformer_level1": lambda: dict(q=rows(), text=keys(), n_globals=2, window=3),
    "transformer_xl": lambda: dict(q=rows(), text=keys(), memory=keys(20)),
    "compressive": lambda: dict(q=rows(), text=keys(), memory=keys(20), compressed=keys(5)),
    "deberta": lambda: dict(q=rows(), text=keys(), window=5),
    "poolingformer_deberta": lambda: dict(q=rows(), text=keys(), globals=keys(3), window=5),
    "top_down": lambda: dict(q=rows(), top=keys(8)),
    "awesome": lambda: dict(q=rows(), text=keys(), compressed=keys(5), flags="causal",
                            memory=heed.Keys(*keys(20), len=[20]), memory_head=[7]),
    "retrieval": lambda: dict(q=rows(9), text=keys(), memory=keys(30), window=4,
                              list=RNG.integers(-1, 30, (HEADS, 9, 3)).astype("int32")),
}


class Builders(unittest.TestCase):
    def test_every_builder_has_a_function_and_a_case(self):
        names = {name[len("heed_"):] for name in _abi.BUILDERS}
        self.assertEqual(names, set(CALLS) | {"pagesum"})
        for name in names | {name[len("heed_"):-len("_plan")] for name in _abi.PROGRAMS}:
            self.assertTrue(callable(getattr(heed, name)))
            self.assertIn("A set of keys is a pair", getattr(heed, name).__doc__)

    def test_every_slot_is_known(self):
        for builder, struct in _abi.BUILDERS.items():
            for field, kind, _ in _abi.STRUCTS[struct]:
                if kind == "heed_slot":
                    self.assertIn(field, mechanisms.SLOTS, builder)
        for slot in mechanisms.SLOTS.values():
            self.assertIn("HEED_MECHANISM_" + slot, _abi.CONSTANTS)

    def test_tables_of_global_pairs_are_brought(self):
        q, text, front = rows(), keys(), keys(3)
        tables = [draw(HEADS, 9, DIM) for _ in range(4)]
        bias = dict(zip(("kr", "qr", "global_kr", "global_qr"), tables))
        plan = heed.poolingformer_deberta.plan(q, text, globals=front, window=5, zero=4,
                                               global_zero=4, **bias)
        o, i, j = plan(), *np.ogrid[:N, :N + 3]
        distance = np.clip(j - 3 - i + 4, 0, 8)
        seen = (j < 3) | (abs(j - 3 - i) <= 5)
        for h in range(HEADS):
            k, v = (np.concatenate([a[h], b[h]]).astype("d") for a, b in zip(front, text))
            wide = q[h].astype("d")
            added, size = 0, 0
            for far, near, rows_of, path in ((tables[2], tables[0], wide, "id,ijd->ij"),
                                             (tables[3], tables[1], k, "jd,ijd->ij")):
                table = np.where((j < 3)[..., None], far[h][distance], near[h][distance])
                added = added + np.einsum(path, rows_of, table.astype("d")) / 48 ** 0.5
                size = size + np.einsum(path, abs(rows_of), abs(table)) / 48 ** 0.5 * DIM
            wanted, bound = oracle.dense(wide, k, v, seen, 1 / 48 ** 0.5, added, size)
            self.assertLess(oracle.off_by(o[h], wanted, bound), 1)

    def test_rows_have_the_softmax_over_what_they_see(self):
        for name, arguments in CALLS.items():
            with self.subTest(name):
                self.judge(getattr(heed, name).plan(**arguments()), name)

    def judge(self, plan, name):
        o, source = plan(), range(plan.desc.n_sources)
        q = plan.arrays["q"].numpy()
        for head in range(HEADS):
            seen = heed.pairs(plan, head=head)
            k, v = (np.concatenate([plan.arrays[f"kv[{i}].{a}"].numpy()[head] for i in source])
                    for a in "kv")
            scale = 1.0 if name == "longt5" else None
            wanted, bound = oracle.dense(q[head], k, v, np.concatenate(seen, 1), scale)
            self.assertLess(oracle.off_by(o[head], wanted, bound), 1)

    def test_one_call_is_a_plan_that_runs(self):
        q, k, v = rows(), *keys()
        plan = heed.longformer.plan(q, (k, v), window=4, n_globals=1)
        np.testing.assert_array_equal(plan(), heed.longformer(q, (k, v), window=4, n_globals=1))

    def test_sets_of_keys_are_replaced_together(self):
        q, other = rows(), keys()
        plan = heed.lsg.plan(q, keys(), globals=keys(2), block=16)
        globals_ = (plan.arrays["kv[0].k"], plan.arrays["kv[0].v"])
        wanted = heed.lsg(q, other, globals=globals_, block=16)
        np.testing.assert_array_equal(plan(text=other), wanted)

    def test_retrieval_needs_no_text(self):
        q, (k, v) = rows(9), keys(30)
        chosen = heed.select(k, q, kind="topk", count=5)
        o = heed.retrieval(q, memory=(k, v), list=chosen)
        seen = np.zeros((HEADS, 9, 30), "uint8")
        np.put_along_axis(seen, chosen, 1, 2)
        wanted, bound = oracle.of_heads(q, k, v, seen)
        self.assertLess(oracle.off_by(o, wanted, bound), 1)

    def test_pagesum(self):
        pages, w = draw(3, 10, 8), draw(8)
        p = np.exp(pages.astype("d") @ w)
        wanted = (p[..., None] * pages).sum(0) / p.sum(0)[..., None]
        np.testing.assert_allclose(heed.pagesum(pages, w), wanted, rtol=1e-5, atol=1e-6)

    def test_relative_positions(self):
        q, (k, v), (mk, mv) = rows(), keys(), keys(20)
        r, shift = draw(HEADS, N + 20, DIM), draw(HEADS, N + 20)
        o = heed.transformer_xl(q, (k, v), memory=(mk, mv),
                                relative=heed.Relative(r, shift, N + 19))
        i, j = np.ogrid[:N, :N + 20]
        index = np.clip(j - 20 - i + N + 19, 0, N + 19)
        for h in range(HEADS):
            added = np.einsum("id,ijd->ij", q[h].astype("d"), r[h][index].astype("d")) / 4 \
                + shift[h][index]
            size = np.einsum("id,ijd->ij", abs(q[h].astype("d")), abs(r[h][index])) / 4 * DIM \
                + abs(shift[h][index])
            wanted, bound = oracle.dense(
                q[h], np.concatenate([mk[h], k[h]]), np.concatenate([mv[h], v[h]]),
                j <= i + 20, None, added, size)
            self.assertLess(oracle.off_by(o[h], wanted, bound), 1)


class Programs(unittest.TestCase):
    def test_pooling_has_the_bits_of_its_stages(self):
        q, k, v = rows(), *keys()
        b, f = 16, 4
        pooled = [heed.pool(x, kind="mean", tail="ceil", kernel=f, stride=f) for x in (k, v)]
        far = heed.Source(*pooled, [heed.window(b + b * f, -2 * b, block=b),
                                    heed.window(-2 * b, b + 1 + (b - 1) * f, block=b)], pos_step=f)
        near = heed.Source(k, v, [heed.window(b, block=b)])
        wanted = heed.attention(q, sources=[far, near], align="start")
        np.testing.assert_array_equal(
            heed.lsg_program(q, (k, v), sparsity="pooling", block=b, factor=f), wanted)

    def test_norm_has_the_bits_of_its_stages(self):
        q, k, v = rows(), *keys()
        b, f, nb = 16, 4, N // 16
        c, s = b // f, b
        chosen = heed.select(k, kind="norm", block=b, count=c, pad_front=c + s,
                             pad_back=(nb + 1) * c + s - nb * c)
        strides = (chosen.strides[0], c * 4, 4)
        left, right = (np.lib.stride_tricks.as_strided(chosen[:, at:], (HEADS, nb, s), strides)
                       for at in (0, 3 * c + s))
        sources = [heed.Source(k, v, layout="listed", slot=side, run=1, rows=b)
                   for side in (left, right)]
        near = heed.Source(k, v, [heed.window(b, block=b)])
        wanted = heed.attention(q, sources=[*sources, near])
        np.testing.assert_array_equal(
            heed.lsg_program(q, (k, v), sparsity="norm", block=b, factor=f), wanted)

    def test_lsh_and_bos_pooling_run(self):
        q, text = rows(), keys()
        rounds = [draw(1, DIM, 2)]
        for more in (dict(sparsity="lsh", rounds=rounds), dict(sparsity="bos_pooling")):
            o = heed.lsg_program(q, text, block=16, factor=4, **more)
            self.assertTrue(np.isfinite(o).all())
            self.assertLess(abs(o).max(), abs(text[1]).max())

    def test_level_2_has_the_bits_of_its_stages(self):
        q, k, v = rows(), *keys()
        w, x, z = 8, 5, 4
        m = -(-(1 + x) // 2) - 1
        pooled = [heed.pool(a, kind="max", tail="centre", kernel=x, stride=1, left=m)
                  for a in (k, v)]
        p = (2 * w + 1 - x) // z
        term = heed.window(w - m, z * p - w + m, step=z, phase=m - w, by_query=True)
        wanted = heed.attention(q, *pooled, terms=[term])
        np.testing.assert_array_equal(heed.poolingformer_level2(
            q, (k, v), window=w, kernel=x, stride=z, pooling="max"), wanted)


if __name__ == "__main__":
    unittest.main()
