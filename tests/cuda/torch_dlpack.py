#!/usr/bin/env python3
"""A PyTorch tensor on a GPU goes through tutti and back, without a copy and without a host sync.
usage: torch_dlpack.py BRIDGE (libtutti_dlpack_bridge.so; exit status 77: skipped)"""

import ctypes
import os
import pathlib
import sys
import unittest

NAME, USED = b"dltensor", b"used_dltensor"  # capsules point to these: they live as long as the module
LEGACY_STREAM = 1  # cudaStreamLegacy: how DLPack names the default stream

capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype, capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
capsule_rename = ctypes.pythonapi.PyCapsule_SetName
capsule_rename.restype, capsule_rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype, capsule_new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Bridge:
    """The functions of the bridge, from capsule to capsule."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(pathlib.Path(path).resolve()))
        for name in ("pass", "affine"):
            function = getattr(self.library, f"tutti_bridge_{name}")
            function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p] * 3
        self.library.tutti_bridge_sum.restype = ctypes.c_double
        self.library.tutti_bridge_sum.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int)]
        self.library.tutti_bridge_pins.restype, self.library.tutti_bridge_pins.argtypes = ctypes.c_bool, [ctypes.c_int64]
        self.library.tutti_bridge_error.restype = ctypes.c_char_p
        self.library.tutti_bridge_demand_syncs.restype = ctypes.c_uint64

    def call(self, name, capsule, producer=None, consumer=None):
        out = getattr(self.library, f"tutti_bridge_{name}")(capsule_pointer(capsule, NAME), producer, consumer)
        if not out:
            raise RuntimeError(self.error())
        capsule_rename(capsule, USED)  # it was taken over: its capsule no longer deletes it
        return capsule_new(out, NAME, None)

    def error(self):
        return self.library.tutti_bridge_error().decode()

    def demand_syncs(self):
        return self.library.tutti_bridge_demand_syncs()

    def sync_devices(self):
        self.library.tutti_bridge_sync_devices()


def handle(stream):
    return (stream or torch.cuda.current_stream()).cuda_stream or LEGACY_STREAM


class Torch(unittest.TestCase):
    def send(self, name, tensor, producer=None, consumer=None):
        """`producer` made the tensor, `consumer` will use what comes back; the current stream if not given."""
        capsule = torch.utils.dlpack.to_dlpack(tensor)
        return torch.utils.dlpack.from_dlpack(BRIDGE.call(name, capsule, handle(producer), handle(consumer or producer)))

    def samples(self):
        generator = torch.Generator(device="cuda").manual_seed(torch.seed() % 2**31)
        print("seed", generator.initial_seed())
        whole = torch.randint(-50, 50, (33, 40), device="cuda", generator=generator)
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8):
            x = whole.to(dtype)
            yield f"{dtype}, dense", x
            yield f"{dtype}, transposed", x.t()
            yield f"{dtype}, every third column from the second", x[:, 1::3]
            yield f"{dtype}, expanded", x[3:4].expand(7, 40)
            yield f"{dtype}, one row", x[5]
            yield f"{dtype}, one element", x[5, 5]
            yield f"{dtype}, empty", x[:0]

    def streams(self):
        yield "default stream", torch.cuda.default_stream()
        yield "side stream", torch.cuda.Stream()

    def test_passing_through_keeps_the_address_and_the_values(self):
        for stream_name, stream in self.streams():
            with torch.cuda.stream(stream):
                for name, x in self.samples():
                    with self.subTest(f"{name}, {stream_name}"):
                        y = self.send("pass", x)
                        self.assertEqual((y.shape, y.dtype, y.device), (x.shape, x.dtype, x.device))
                        if x.numel() > 0:
                            self.assertEqual(y.data_ptr(), x.data_ptr())
                        if x.numel() > 1:
                            self.assertEqual(y.stride(), x.stride())
                        self.assertTrue(torch.equal(y, x))
                stream.synchronize()

    def test_values_are_those_of_torch(self):
        for stream_name, stream in self.streams():
            with torch.cuda.stream(stream):
                for name, x in self.samples():
                    with self.subTest(f"{name}, {stream_name}"):
                        y = self.send("affine", x)
                        self.assertEqual((y.shape, y.dtype, y.device), (x.shape, x.dtype, x.device))
                        self.assertTrue(torch.equal(y, x * 2 + 1))  # small whole numbers: exact in every dtype
                stream.synchronize()

    def test_without_a_stream_data_that_is_there_comes_back_ready(self):
        x = torch.arange(1000, device="cuda", dtype=torch.float32)
        torch.cuda.synchronize()
        side = torch.cuda.Stream()
        y = torch.utils.dlpack.from_dlpack(BRIDGE.call("affine", torch.utils.dlpack.to_dlpack(x)))
        with torch.cuda.stream(side):  # ordered after nothing: the bridge has synced
            z = y.clone()
        side.synchronize()
        self.assertTrue(torch.equal(z, x * 2 + 1))

    def test_the_data_may_still_be_on_its_way(self):
        def enqueue(x, value, cycles):
            torch.cuda._sleep(cycles)
            x.fill_(value)
            return self.send("affine", x) + 1

        for stream_name, stream in self.streams():
            with self.subTest(stream_name), torch.cuda.stream(stream):
                x = torch.zeros(1 << 20, device="cuda")
                enqueue(x, 1, 1000)  # what happens once only (contexts, modules, memory) is behind us
                stream.synchronize()
                before = BRIDGE.demand_syncs()
                z = enqueue(x, 20, 400_000_000)  # a fifth of a second
                self.assertFalse(stream.query(), "the host waited, or took very long")
                self.assertEqual(BRIDGE.demand_syncs(), before)
                stream.synchronize()
                self.assertTrue(bool((z == 42).all()))

    def test_memory_that_comes_back_is_reused_after_the_consumer(self):
        producer, consumer = torch.cuda.Stream(), torch.cuda.Stream()
        inputs = [torch.full((1 << 16,), float(i), device="cuda") for i in range(50)]
        torch.cuda.synchronize()
        results = []
        for x in inputs:
            y = self.send("affine", x, producer, consumer)
            with torch.cuda.stream(consumer):
                torch.cuda._sleep(1_000_000)  # the read comes well after y's memory is given back
                results.append(y + 0)
            del y
        torch.cuda.synchronize()
        for i, result in enumerate(results):
            self.assertTrue(bool((result == 2 * i + 1).all()), i)

    def test_torch_gets_its_memory_back(self):
        torch.cuda.synchronize()
        BRIDGE.sync_devices()  # what earlier tests gave away is back
        before = torch.cuda.memory_allocated()
        x = torch.ones(1 << 20, device="cuda")
        y = self.send("pass", x)
        del x
        self.assertGreater(torch.cuda.memory_allocated(), before, "the tensor that came back owns it")
        del y
        torch.cuda.synchronize()
        BRIDGE.sync_devices()  # what was given away is given back by the CPU's stream
        self.assertEqual(torch.cuda.memory_allocated(), before)

    def test_dtypes_that_tutti_lacks_are_refused_and_still_torchs(self):
        x = torch.ones(4, device="cuda", dtype=torch.complex64)
        with self.assertRaisesRegex(RuntimeError, "complex64"):
            self.send("pass", x)
        self.assertEqual(x.sum().item(), 4)

    def test_a_pointer_of_torchs_is_used_in_place(self):
        x = torch.arange(1000, device="cuda", dtype=torch.float32)
        torch.cuda.synchronize()
        given_back = ctypes.c_int(0)
        found = BRIDGE.library.tutti_bridge_sum(x.data_ptr(), x.numel(), ctypes.byref(given_back))
        self.assertEqual(found, 499500, BRIDGE.error())
        BRIDGE.sync_devices()
        self.assertEqual(given_back.value, 1)

    def test_pinned_copies_are_pinned_and_right(self):
        for count in (1, 1000, 3_000_001):
            self.assertTrue(BRIDGE.library.tutti_bridge_pins(count), f"{count} numbers: {BRIDGE.error()}")


def skip(why):
    print(f"SKIPPED torch_dlpack: {why}")
    sys.exit(77)


if __name__ == "__main__":
    try:
        import torch
        import torch.utils.dlpack
    except (ImportError, OSError) as error:
        skip(f"PyTorch cannot be loaded ({error})")
    if not torch.cuda.is_available():
        skip("PyTorch finds no CUDA GPU")
    BRIDGE = Bridge(sys.argv.pop(1))
    unittest.main()
