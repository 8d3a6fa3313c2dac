# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Plans, runs, devices and failures."""

import importlib.util
import threading
import unittest

import heed
import numpy as np

RNG = np.random.default_rng(5)


def draw(*shape):
    return RNG.standard_normal(shape, dtype="float32")


class Plans(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v = draw(2, 70, 16), draw(2, 70, 16), draw(2, 70, 16)

    def test_a_plan_runs_on_other_arrays(self):
        plan = heed.attention.plan(self.q, self.k, self.v, terms=[heed.window(4)], mask=[1] * 70)
        other, o = draw(2, 70, 16), np.empty((2, 70, 16), "f")
        mask = np.array(RNG.random(70) < 0.5, "uint8")
        got = plan(q=other, o=o, mask=mask)
        self.assertIs(got, o)
        np.testing.assert_array_equal(got, heed.attention(
            other, self.k, self.v, terms=[heed.window(4)], mask=mask))

    def test_arrays_that_lie_otherwise_are_refused(self):
        plan = heed.attention.plan(self.q, self.k, self.v)
        for wrong in (self.q[:, :5], self.q.astype("float16"), self.q.transpose(0, 2, 1)):
            with self.assertRaises(ValueError):
                plan(q=wrong)
        with self.assertRaises(TypeError):
            plan(r=self.q)

    def test_strides_that_mean_nothing_are_not_compared(self):
        q = draw(1, 2, 70, 16)
        plan = heed.attention.plan(q, q, q)
        view = np.lib.stride_tricks.as_strided(q, q.shape, (12, *q.strides[1:]))
        np.testing.assert_array_equal(plan(q=view), plan())
        none = q[:, :, :0]
        plan = heed.attention.plan(none, q, q, o=none.copy())
        self.assertNotEqual(none.strides, none.copy().strides)
        self.assertEqual(plan(q=none.copy()).shape, none.shape)

    def test_constants_belong_to_the_plan(self):
        tokens = np.array([3], "int32")
        plan = heed.longformer.plan(self.q, (self.k, self.v), window=2,
                                    globals=heed.constant(tokens))
        before = plan().copy()
        tokens[0] = 9
        np.testing.assert_array_equal(plan(), before)
        with self.assertRaises(TypeError):
            plan(globals=tokens)
        with self.assertRaises(heed.ArgumentError) as caught:
            heed.longformer(self.q, (self.k, self.v), globals=heed.constant([99]))
        self.assertEqual(caught.exception.name, "HEED_E_INDEX")

    def test_a_bound_run_sees_what_its_arrays_hold_now(self):
        run = heed.attention.plan(self.q, self.k, self.v).bind()
        run()
        self.v[:] = 1
        np.testing.assert_allclose(run(), 1, rtol=1e-6)

    def test_failures_say_where_and_what(self):
        with self.assertRaises(heed.ArgumentError) as caught:
            heed.attention(self.q, self.k[:, :60], self.v)
        error = caught.exception
        self.assertEqual((error.status, error.name), (heed.E_SHAPE, "HEED_E_SHAPE"))
        self.assertEqual(error.field, "sources[0].v.shape[1]")
        self.assertEqual((error.wanted, error.got), (60, 70))
        self.assertIsInstance(error, ValueError)
        with self.assertRaises(heed.UnsupportedError):
            heed.attention(self.q, self.k, self.v, device="cpu:none")
        with self.assertRaises(TypeError):
            heed.longformer(self.q, (self.k, self.v), windows=3)
        with self.assertRaises(ValueError):
            heed.pool(self.q, kind="median", kernel=1, stride=1)

    def test_plans_say_what_they_need(self):
        plan = heed.attention.plan(self.q, self.k, self.v, numerics="exact")
        info = plan.info()
        self.assertEqual(info["numerics"], heed.NUMERICS_EXACT)
        self.assertEqual(info["flops"], 2 * 70 * 70 * 2 * 32)
        operands = plan.operands()
        self.assertEqual([x["name"] for x in operands],
                         ["q", "o", "lse", "sinks", "state_in", "kv[0].k", "kv[0].v"])
        o = operands[1]
        self.assertEqual((o["role"], o["low"], o["high"]), (heed.ROLE_OUT, 0, self.q.nbytes))
        self.assertEqual(operands[2]["dtype"], 0)           # no lse

    def test_devices_and_threads_have_the_same_bits(self):
        text, seen = (self.k, self.v), None
        met, runtime = [], heed.Runtime(threads=3)
        for name in runtime.devices():
            try:
                device = runtime.device(name)
            except heed.Error:
                continue        # this processor or machine has it not
            o, lse = heed.lsg(self.q, text, block=16, factor=4, sparsity="stride", lse=True,
                              device=device)
            pooled = heed.lsg_program(self.q, text, block=16, factor=4, sparsity="pooling",
                                      device=device)
            seen = seen or (o, lse, pooled)
            for got, first in zip((o, lse, pooled), seen):
                np.testing.assert_array_equal(got, first, err_msg=name)
            met.append(name)
        self.assertLessEqual({"cpu", "cpu:scalar", "reference"}, set(met))

    def test_states_on_every_device(self):
        runtime = heed.Runtime()
        for name in runtime.devices():
            try:
                device = runtime.device(name)
            except heed.Error:
                continue
            rows, head, length = np.full((1, 5, 2), 7, "f"), np.zeros(1, "i8"), np.zeros(1, "i8")
            heed.push(rows, head, length, np.ones((1, 3, 2), "f"), device=device)
            np.testing.assert_array_equal(rows[0, :, 0], [1, 1, 1, 7, 7], err_msg=name)
            self.assertEqual((head[0], length[0]), (0, 3))

    def test_threads_of_python_share_a_plan(self):
        plan = heed.attention.plan(self.q, self.k, self.v)
        wanted, wrong = plan().copy(), []

        def work():
            o = np.empty((2, 70, 16), "f")
            run = plan.bind(o=o)
            for _ in range(20):
                o[:] = 0
                run()
                wrong.append(not np.array_equal(o, wanted))

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual((len(wrong), sum(wrong)), (80, 0))


class Pictures(unittest.TestCase):
    def test_visible(self):
        q = draw(1, 6, 4)
        plan = heed.attention.plan(q, q, q, terms=[heed.window(1)])
        i, j = np.ogrid[:6, :6]
        np.testing.assert_array_equal(heed.visible(plan), abs(i - j) <= 1)
        np.testing.assert_array_equal(heed.visible(plan, rows=[5]), [[0, 0, 0, 0, 1, 1]])
        twice = heed.bigbird.plan(q, (q, q), block=1, random=[[[[0], [0], [0], [0], [0], [0]]]])
        self.assertEqual(sum(seen[3, 0] for seen in heed.pairs(twice)), 2)

    @unittest.skipIf(importlib.util.find_spec("matplotlib") is None, "no matplotlib")
    def test_show(self):
        import matplotlib
        matplotlib.use("Agg")
        q = draw(1, 6, 4)
        axes = heed.show(heed.salient.plan(q, (q, q), prefix=(q[:, :2], q[:, :2])))
        self.assertEqual(axes.images[0].get_array().shape, (6, 8))
        self.assertEqual(len(axes.lines), 1)


if __name__ == "__main__":
    unittest.main()
