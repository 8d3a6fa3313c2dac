# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays go in and out without a copy: NumPy's, torch's, and what speaks DLPack."""

import gc
import importlib.util
import unittest

import heed
import numpy as np
from heed import _dlpack

RNG = np.random.default_rng(4)
torch = None
if importlib.util.find_spec("torch"):
    import torch


def draw(*shape):
    return RNG.standard_normal(shape, dtype="float32")


class Speaker:
    """Something that knows DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Arrays(unittest.TestCase):
    def test_numpy_is_taken_where_it_lies(self):
        x = draw(3, 4, 5)
        for view in (x, x[::-1, :, ::2], x.transpose(2, 0, 1), x[None, :, 1]):
            array = heed.as_array(view)
            self.assertEqual(array.address, view.ctypes.data)
            self.assertEqual(array.shape, view.shape)
            np.testing.assert_array_equal(array.numpy(), view)

    def test_views_have_the_bits_of_copies(self):
        q, k, v = draw(50, 2, 16), draw(50, 2, 16), draw(50, 2, 16)
        views = [x.swapaxes(0, 1)[:, ::-1] for x in (q, k, v)]
        o = np.empty((50, 2, 16), "f")
        got = heed.attention(*views, o.swapaxes(0, 1))
        np.testing.assert_array_equal(got, heed.attention(*(x.copy() for x in views)))
        self.assertIs(got.base, o)
        np.testing.assert_array_equal(got, o.swapaxes(0, 1))

    def test_lists_become_what_the_field_takes(self):
        q = draw(1, 4, 8)
        np.testing.assert_array_equal(heed.attention(q, q, q, len=[2]),
                                      heed.attention(q, q, q, len=np.array([2])))
        np.testing.assert_array_equal(heed.attention(q, q, q, mask=[1, 0, 1, 1]),
                                      heed.attention(q, q, q, mask=np.array([1, 0, 1, 1], bool)))

    def test_elements_that_heed_lacks_are_refused(self):
        q = draw(1, 4, 8)
        for wrong in (q.astype("float64"), q.astype(">f4"), q.astype("complex64")):
            with self.assertRaises(TypeError):
                heed.attention(wrong, q, q)
        with self.assertRaises(heed.ArgumentError) as caught:
            heed.attention(q.astype("int32"), q, q)
        self.assertEqual(caught.exception.name, "HEED_E_DTYPE")
        odd = np.frombuffer(bytes(100), "uint8")[:96].view("f")[::1]
        odd = np.lib.stride_tricks.as_strided(odd, (2, 3), (6, 4))
        with self.assertRaises(ValueError):
            heed.as_array(odd)

    def test_outputs_that_are_read_only_are_refused(self):
        q, o = draw(1, 4, 8), np.zeros((1, 4, 8), "f")
        o.flags.writeable = False
        with self.assertRaises(ValueError):
            heed.attention(q, q, q, o)
        self.assertFalse(o.any())

    def test_states_are_arrays_of_the_caller(self):
        rows, x = np.zeros((1, 5, 2), "f"), np.ones((1, 3, 2), "f")
        with self.assertRaises(TypeError):
            heed.copy(x, rows.tolist(), to=[4, 0, 1])
        with self.assertRaises(TypeError):
            heed.attention(x, x, x, o=[[[0.0] * 2] * 3])

    def test_half_precision(self):
        q, k, v = (draw(2, 30, 8).astype("float16") for _ in range(3))
        o = heed.attention(q, k, v)
        self.assertEqual(o.dtype, np.float16)
        wide = heed.attention(q, k, v, dtype="float32")
        np.testing.assert_array_equal(o, wide.astype("float16"))

    def test_dlpack_gives_and_takes_the_same_memory(self):
        for name in _dlpack.TYPES:
            array = heed.empty((2, 3), name)
            array = array if isinstance(array, heed.Array) else heed.as_array(array)
            again = heed.as_array(Speaker(array))
            self.assertEqual((again.address, again.dtype, again.shape, again.strides),
                             (array.address, array.dtype, array.shape, array.strides))
        x = draw(3, 4)
        taken = heed.as_array(Speaker(x.T))
        self.assertEqual((taken.address, taken.strides), (x.ctypes.data, (1, 4)))
        del again, taken
        gc.collect()
        self.assertFalse(_dlpack._given)

    def test_what_numpy_lacks(self):
        for name, bits in (("bf16", "uint16"), ("f8e4m3", "uint8"),
                           ("f8e5m2", "uint8")):
            array = heed.empty((2, 3), name)
            self.assertEqual(array.numpy().dtype.name, bits)
            self.assertEqual(array.numpy().itemsize, array.itemsize)

    def test_blocks(self):
        x = draw(2, 40, 64)
        packed = heed.copy(x, heed.empty(x.shape, "q8_0"))
        self.assertEqual((packed.shape, packed.strides), ((2, 40, 64), (80, 2, 1)))
        raw = packed.numpy()
        self.assertEqual((raw.shape, raw.dtype), ((2, 40, 68), np.uint8))
        scale = raw.reshape(2, 40, 2, 34)[..., :2].copy().view(np.float16).astype("float32")
        z = raw.reshape(2, 40, 2, 34)[..., 2:].view(np.int8)
        near = (z * scale).reshape(x.shape)
        self.assertTrue((abs(near - x) <= scale.repeat(32, -1).reshape(x.shape) * 0.5001).all())
        again = heed.blocks(raw, "q8_0")
        np.testing.assert_array_equal(heed.copy(again, heed.empty(x.shape)), near)
        q = draw(2, 5, 64)
        o = heed.attention(q, again, again)
        np.testing.assert_allclose(o, heed.attention(q, near, near), rtol=1e-4, atol=1e-5)
        for wrong in (raw[..., :40], raw[..., ::2], raw.view(np.int8)):
            self.assertRaises(ValueError, heed.blocks, wrong, "q8_0")
        self.assertRaises(TypeError, heed.blocks, raw, "float32")
        self.assertRaises(ValueError, heed.empty, (3, 40), "q4_0")
        self.assertRaises(BufferError, again.__dlpack__)

    def test_memory_lives_as_long_as_who_took_it(self):
        taken = heed.as_array(Speaker(heed.as_array(np.arange(1000, dtype="int32"))))
        gc.collect()
        np.testing.assert_array_equal(taken.numpy(), np.arange(1000))
        other = np.from_dlpack(heed.as_array(np.arange(7, dtype="int32")))
        gc.collect()
        np.testing.assert_array_equal(other, np.arange(7))

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_torch(self):
        q, k, v = (torch.from_numpy(draw(2, 30, 8)) for _ in range(3))
        o = heed.attention(q.requires_grad_(), k, v)
        self.assertIsInstance(o, torch.Tensor)
        np.testing.assert_array_equal(
            o, heed.attention(q.detach().numpy(), k.numpy(), v.numpy()))
        half = heed.attention(q.bfloat16(), k.bfloat16(), v.bfloat16())
        self.assertEqual(half.dtype, torch.bfloat16)
        wide = heed.attention(q.bfloat16(), k.bfloat16(), v.bfloat16(), dtype="f32")
        self.assertTrue(torch.equal(half, wide.bfloat16()))
        view = q.detach().transpose(1, 2)
        self.assertEqual(heed.as_array(view).address, view.data_ptr())
        self.assertEqual(torch.from_dlpack(heed.empty((2, 2), "bf16")).dtype, torch.bfloat16)
        with self.assertRaises(TypeError):
            heed.attention(q.to("meta"), k, v)


if __name__ == "__main__":
    unittest.main()
