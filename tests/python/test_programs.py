# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Several plans as one: the words, the memory, what is refused."""

import unittest

import heed
import numpy as np

RNG = np.random.default_rng(8)
N, D, WIDE, HEADS = 21, 24, 40, 3


def draw(*shape):
    return RNG.standard_normal(shape, dtype="float32")


class Layer:
    """The parts of a layer on memory of its own, the heads of q, k and v side by side in rows."""

    def __init__(self, device=None):
        self.x, self.rows = draw(1, 1, N, D), {name: np.zeros((1, 1, N, D), "f") for name in "qkvo"}
        self.weights, self.hidden = draw(7, 2 * WIDE * D), np.zeros((1, 1, N, WIDE), "f")
        made = heed.linear.plan(self.x, self.weight(0, D, D), y=self.rows["q"], device=device)
        self.plans, device = [made], made.device
        for i, name in enumerate("kv", 1):
            self.plans.append(heed.linear.plan(self.x, self.weight(i, D, D), y=self.rows[name],
                                               device=device))
        q, k, v, o = (self.rows[name].reshape(1, N, HEADS, D // HEADS).transpose(0, 2, 1, 3)
                      for name in "qkvo")
        self.plans.append(heed.attention.plan(q, k, v, o=o, terms=[heed.window(5)], device=device))
        for i, x, y, more in ((3, self.rows["o"], self.x, {"add": self.x}),
                              (4, self.x, self.hidden, {"act": "gelu"}),
                              (5, self.hidden, self.x, {"add": self.x})):
            self.plans.append(heed.linear.plan(
                x, self.weight(i, y.shape[-1], x.shape[-1]), y=y, device=device, **more))
        self.plans.append(heed.norm.plan(self.x, y=self.x, weight=self.weights[6, :D], kind="rms",
                                         device=device))

    def weight(self, i, out, d):
        return self.weights[i, :out * d].reshape(out, d)

    def program(self, **more):
        return heed.program(self.plans, [*self.rows.values(), self.hidden], x=self.x, **more)


class Programs(unittest.TestCase):
    def test_words_are_those_of_the_plans(self):
        runtime = heed.Runtime()
        for name in runtime.devices():
            try:
                layer = Layer(runtime.device(name))
            except heed.Error:
                continue        # this processor or machine has it not
            made, other, first = layer.program(), layer.x.copy(), layer.x.copy()
            self.assertIs(made(x=other), other)
            self.assertFalse(any(rows.any() for rows in layer.rows.values()))
            np.testing.assert_array_equal(layer.x, first)
            for plan in layer.plans:
                plan()
            np.testing.assert_array_equal(layer.x, other)
            layer.x[:] = first
            self.assertIs(made(), layer.x)
            np.testing.assert_array_equal(layer.x, other)

    def test_a_run_has_other_weights(self):
        layer = Layer()
        made, weights, x = layer.program(w=layer.weights), draw(7, 2 * WIDE * D), layer.x.copy()
        layer.weights[:], old = weights, layer.weights.copy()
        wanted = made(x=x.copy())
        layer.weights[:] = old
        np.testing.assert_array_equal(made(x=x, w=weights), wanted)

    def test_memory_of_the_temporaries_is_the_programs(self):
        layer = Layer()
        alone = heed.program(layer.plans, x=layer.x).info()["workspace_size"]
        made = layer.program()
        self.assertGreaterEqual(made.info()["workspace_size"], alone + 4 * N * (D + WIDE))
        self.assertLess(made.info()["workspace_size"], alone + 4 * N * (4 * D + WIDE) + 64 * 5)
        self.assertEqual({x["name"] for x in made.operands() if x["role"] == heed.ROLE_STATE},
                         {made.operation.paths["x"][0]})

    def test_refusals(self):
        layer = Layer()
        with self.assertRaises(ValueError):
            heed.program([])
        with self.assertRaises(ValueError):
            heed.program([layer.plans[0], Layer(heed.Runtime().device("reference")).plans[0]])
        with self.assertRaises(ValueError):
            layer.program(rows=layer.x[:, :, :5])
        with self.assertRaises(ValueError):
            heed.program(layer.plans, x=layer.x[:, :, :5])
        with self.assertRaises(heed.ArgumentError) as caught:
            heed.program(layer.plans[3:], [layer.rows["q"]])
        self.assertEqual(caught.exception.field, "steps[0].q")
        lsg = heed.lsg_program.plan(draw(1, 1, 64, 8), (draw(1, 1, 64, 8), draw(1, 1, 64, 8)),
                                    block=16, sparsity="pooling")
        with self.assertRaises(heed.ArgumentError) as caught:
            heed.program([lsg])
        self.assertEqual(caught.exception.field, "steps[0].op")
        with self.assertRaises(TypeError):
            layer.program()(y=layer.x)


if __name__ == "__main__":
    unittest.main()
