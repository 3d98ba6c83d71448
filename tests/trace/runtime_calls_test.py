#!/usr/bin/env python3
"""`tutti trace` against a count made without CUPTI: of a program's calls into libcudart.so, by a library that is preloaded.
usage: runtime_calls_test.py COMMAND COUNTER [RECORDER CUPTI CUDART]   The last three: stand-ins, for the part that needs no GPU. The rest
needs PyTorch (TORCH_PYTHON: a python3 that has it) and a GPU, and is skipped without."""

import collections
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

COMMAND, COUNTER, *STAND_INS = map(os.path.abspath, sys.argv[1:])
PYTHON = os.environ.get("TORCH_PYTHON", sys.executable)
HAS_GPU = subprocess.run([PYTHON, "-c", "import torch; assert torch.cuda.is_available()"], capture_output=True).returncode == 0
VICTIMS = pathlib.Path(__file__).resolve().parent / "victims"
# What each function of the runtime calls of the driver.
DRIVER = {"cudaStreamSynchronize": "cuStreamSynchronize", "cudaEventSynchronize": "cuEventSynchronize",
          "cudaDeviceSynchronize": "cuCtxSynchronize", "cudaStreamQuery": "cuStreamQuery", "cudaEventQuery": "cuEventQuery",
          "cudaMemcpy": "cuMemcpy", "cudaMemcpyAsync": "cuMemcpy", "cudaMalloc": "cuMemAlloc", "cudaFree": "cuMemFree",
          "cudaHostAlloc": "cuMemHostAlloc", "cudaMallocHost": "cuMem", "cudaFreeHost": "cuMemFreeHost",
          "cudaHostRegister": "cuMemHostRegister", "cudaHostUnregister": "cuMemHostUnregister"}  # fmt: skip
# No matter how quick the GPU and the host are.
SAME_IN_EVERY_RUN = ("cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize", "cudaMemcpy", "cudaMemcpyAsync")
PROGRAM = """
import ctypes, sys
cupti, cudart, recorder = (ctypes.CDLL(library, ctypes.RTLD_GLOBAL) for library in sys.argv[1:4])
recorder.InitializeInjection()
cuda, pointer, size = ctypes.CDLL(None), ctypes.c_void_p, ctypes.c_size_t
for _ in range(20):
    cuda.cudaStreamSynchronize(pointer(16))
for _ in range(3):
    cuda.cudaDeviceSynchronize()
for times in (10, 4):  # the last of them is ready
    left = ctypes.c_int(times)
    for _ in range(times):
        cuda.cudaStreamQuery(ctypes.byref(left))
cuda.cudaMalloc(None, size(9))
for memory in (4096, 0):
    cuda.cudaFree(pointer(memory))
cupti.fake_call(b"cuStreamSynchronize", (ctypes.c_uint64 * 8)(7), ctypes.c_uint64(0), 0)
if "misses" in sys.argv:
    cuda.cudaEventSynchronize(None)
    for source in (8192, 4096):  # pageable, of the device
        cuda.cudaMemcpyAsync(pointer(64), pointer(source), size(9), 4, None)
"""


class Trace:
    """Calls that a trace's files have a record of: through libcudart.so by its function, others by API and module; and in the report."""

    def __init__(self, folder):
        self.runtime, self.elsewhere, self.records, self.reported = (collections.Counter() for _ in range(4))
        for file in folder.glob("*.tutti-trace"):
            self.read(file.read_bytes())
        for site in json.loads((folder / "report.json").read_text())["sites"]:
            for api in site["api"].split(", "):
                self.reported[api] += site["waits"] + site["warm_up_waits"]

    def read(self, data):
        at, texts, modules, frames, stacks = struct.unpack_from("<I", data, 12)[0], {0: ""}, {0: ""}, {}, {0: []}
        while at + 12 <= len(data):
            size, kind = struct.unpack_from("<IH", data, at)
            body = data[at + 12 : at + 12 + size]
            at += 12 + size
            if kind == 2:
                texts[struct.unpack_from("<I", body)[0]] = body[4:].decode()
            elif kind == 3:
                number, path = struct.unpack_from("<II", body)
                modules[number] = texts[path].rpartition("/")[2]
            elif kind == 5:
                number, module, _, symbol = struct.unpack_from("<IIQI", body)
                frames[number] = (modules[module], texts[symbol])
            elif kind == 6:
                number, _, python, native = struct.unpack_from("<IHHH", body)
                stacks[number] = [frames[id] for id in struct.unpack_from(f"<{native}I", body, 12 + 4 * python)]
            elif kind == 8:
                api, _, stack, _, calls, _, wait = struct.unpack_from("<5IiB", body, 32)
                if wait != 12:  # a host callback is none
                    self.add(texts[api], stacks[stack], calls)

    def add(self, api, stack, calls):
        self.records[api] += 1
        functions = [symbol for module, symbol in stack if module.startswith("libcudart") and symbol]
        if functions and api.startswith(DRIVER.get(functions[-1], "none of these")):
            self.runtime[functions[-1]] += calls
        else:
            callers = [module for module, _ in stack if not module.startswith(("libtutti_trace", "libcupti", "libcuda.so"))]
            self.elsewhere[api, callers[0] if callers else "the interpreter"] += calls


class Counts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def count(self, *command):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        preload = ":".join(filter(None, (COUNTER, os.environ.get("LD_PRELOAD"))))
        done = subprocess.run([*map(str, command)], env=os.environ | {"LD_PRELOAD": preload, "TUTTI_TEST_RUNTIME_CALLS": str(folder)},
                              text=True, capture_output=True, timeout=200)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        calls = collections.Counter()
        for file in folder.glob("*.calls"):
            for name, number in struct.iter_unpack("<56sQ", file.read_bytes()):
                calls[name.rstrip(b"\0").decode()] += number
        return +calls

    def both(self, program, *words):
        """What was counted, and what the trace of the same run tells otherwise: (counted, traced), or (records, in the report)."""
        calls = self.count(COMMAND, "trace", "-o", self.folder / "trace", "--", PYTHON, program, *words)
        trace = Trace(self.folder / "trace")
        rows = [f"\n{program.name}: calls of libcudart.so (then others of the driver's), counted and traced"]
        rows += [f"    {name:<26} {calls[name]:>7} {trace.runtime[name]:>7}" for name in sorted(calls | trace.runtime)]
        rows += [f"    {api:<26} {'':>7} {times:>7} from {module}" for (api, module), times in sorted(trace.elsewhere.items())]
        print("\n".join(rows), flush=True)
        wrong = {name: (calls[name], trace.runtime[name]) for name in calls | trace.runtime if calls[name] != trace.runtime[name]}
        wrong |= {api: (times, trace.reported[api]) for api, times in trace.records.items() if times != trace.reported[api]}
        return calls, wrong


@unittest.skipUnless(STAND_INS, "no stand-ins were given")
class WithoutGpu(Counts):
    def program(self):
        program = self.folder / "program.py"
        program.write_text(PROGRAM)
        return program, *STAND_INS[1:], STAND_INS[0]

    def test_calls_are_counted_by_function_and_the_trace_tells_as_many(self):
        calls, wrong = self.both(*self.program())
        self.assertEqual(calls, {"cudaStreamSynchronize": 20, "cudaDeviceSynchronize": 3, "cudaStreamQuery": 10, "cudaMalloc": 1, "cudaFree": 1})
        self.assertEqual(wrong, {})

    def test_calls_that_the_trace_misses_are_named(self):
        self.assertEqual(self.both(*self.program(), "misses")[1], {"cudaEventSynchronize": (1, 0), "cudaMemcpyAsync": (1, 0)})


@unittest.skipUnless(HAS_GPU, "no PyTorch with a GPU here")
class OnGpu(Counts):
    def check(self, victim, fewest, *words):
        calls, wrong = self.both(VICTIMS / victim, *words)
        self.assertEqual(wrong, {})
        self.assertEqual({name: calls[name] for name, times in fewest.items() if calls[name] < times}, {}, f"at least {fewest}")
        return calls

    def test_one_wait_of_each_kind(self):
        traced = self.check("torch_waits.py", {"cudaStreamSynchronize": 160, "cudaEventSynchronize": 20, "cudaDeviceSynchronize": 20,
                                               "cudaMemcpyAsync": 40, "cudaEventQuery": 80, "cudaMalloc": 1, "cudaHostAlloc": 1}, 20)  # fmt: skip
        alone = self.count(PYTHON, VICTIMS / "torch_waits.py", 20)
        self.assertEqual({name: alone[name] for name in SAME_IN_EVERY_RUN}, {name: traced[name] for name in SAME_IN_EVERY_RUN})

    def test_threads_and_children(self):
        self.check("torch_threads.py", {"cudaStreamSynchronize": 30})

    def test_a_training_loop(self):
        self.check("torch_training.py", {"cudaStreamSynchronize": 200}, 100)


if __name__ == "__main__":
    if not os.path.exists(COUNTER):
        sys.exit(f"there is no {COUNTER}")
    if not STAND_INS and not HAS_GPU:
        print("no PyTorch with a GPU here")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
