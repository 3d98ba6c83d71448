#!/usr/bin/env python3
"""A NumPy array goes through tutti and back without a copy. usage: numpy_dlpack.py BRIDGE (libtutti_dlpack_bridge.so)"""

import pathlib
import sys
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cuda"))
from torch_dlpack import Bridge  # noqa: E402

BRIDGE = Bridge(sys.argv.pop(1))


class Handed:
    """A capsule as an object that numpy.from_dlpack accepts."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, stream=None):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def send(name, array):
    return numpy.from_dlpack(Handed(BRIDGE.call(name, array.__dlpack__())))


class Numpy(unittest.TestCase):
    def samples(self):
        whole = numpy.arange(-60, 60).reshape(4, 5, 6)
        for dtype in ("float32", "float64", "float16", "int64", "int32", "int16", "int8"):
            x = whole.astype(dtype)
            for view in (x, x.T, x[::-1, 1::2], x[2], x[1, 1, 1:2], x[:0]):
                yield view

    def test_passing_through_keeps_the_address_and_the_values(self):
        for x in self.samples():
            y = send("pass", x)
            self.assertEqual((y.shape, y.dtype), (x.shape, x.dtype))
            if x.size > 0:
                self.assertEqual(y.__array_interface__["data"][0], x.__array_interface__["data"][0])
            self.assertTrue((y == x).all())

    def test_values_are_those_of_numpy(self):
        for x in self.samples():
            self.assertTrue((send("affine", x) == x * 2 + 1).all())

    def test_the_array_lives_as_long_as_what_came_back_and_no_longer(self):
        x = numpy.arange(1000.0)
        before = sys.getrefcount(x)
        y = send("pass", x)
        self.assertEqual(sys.getrefcount(x), before + 1)
        del y
        self.assertEqual(sys.getrefcount(x), before)

    def test_dtypes_that_tutti_lacks_are_refused_and_still_numpys(self):
        x = numpy.ones(3, dtype="uint16")
        before = sys.getrefcount(x)
        with self.assertRaisesRegex(RuntimeError, "uint16"):
            send("pass", x)
        self.assertEqual(sys.getrefcount(x), before)


if __name__ == "__main__":
    unittest.main()
