#!/usr/bin/env python3
"""Programs with known waits, traced on a GPU: each is found at its line with its class, and nothing else.
usage: victims_test.py COMMAND [CUDA_PROGRAM]   Skipped (77) without a GPU. TORCH_PYTHON: a python3 with PyTorch, if not this one."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

COMMAND = os.path.abspath(sys.argv[1])
CUDA_PROGRAM = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
PYTHON = os.environ.get("TORCH_PYTHON", sys.executable)
VICTIMS = pathlib.Path(__file__).resolve().parent / "victims"


def comments(victim):
    """{line: what its comment says of its waits}"""
    lines = (VICTIMS / victim).read_text().splitlines()
    return {number: match[1] for number, line in enumerate(lines, 1) if (match := re.search(r"waits: ([\w -]+)$", line))}


class Victims(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("KEEP_TRACES_IN"))
        if "KEEP_TRACES_IN" not in os.environ:
            self.addCleanup(folder.cleanup)
        else:
            folder._finalizer.detach()
        self.folder = pathlib.Path(folder.name)

    def trace(self, name, *command, options=()):
        done = subprocess.run([COMMAND, "trace", "-o", self.folder / name, *options, "--", *map(str, command)], text=True,
                              capture_output=True, timeout=120)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.text, self.output = done.stderr, done.stdout
        report = json.loads((self.folder / name / "report.json").read_text())
        self.steps = report["steps"]["count"] + 1 if report["steps"] else 1
        return report

    def test_pytorch(self):
        report = self.trace("torch", PYTHON, VICTIMS / "torch_waits.py", 20)
        steady = {site["line"]: site for site in report["sites"] if site["waits"]}
        expected = comments("torch_waits.py")
        self.assertEqual({line: site["class"] for line, site in steady.items()},
                         {line: comment.partition(" ")[2] for line, comment in expected.items()})  # fmt: skip
        for line, comment in expected.items():
            self.assertAlmostEqual(steady[line]["waits"] / self.steps, int(comment.split()[0]), delta=0.11, msg=line)

    def test_jax(self):
        if subprocess.run([PYTHON, "-c", "import jax; assert jax.devices()[0].platform == 'gpu'"], capture_output=True).returncode != 0:
            self.skipTest("no JAX with a GPU here")
        report = self.trace("jax", PYTHON, VICTIMS / "jax_waits.py", 20)
        table = self.table(report)
        print(table)
        steady = {site["line"]: site for site in report["sites"] if site["waits"] and site["file"].endswith("jax_waits.py")}
        expected = comments("jax_waits.py")
        self.assertEqual({line: site["class"] for line, site in steady.items()},
                         {line: comment.partition(" ")[2] for line, comment in expected.items()}, table)  # fmt: skip
        for line, comment in expected.items():
            self.assertAlmostEqual(steady[line]["waits"] / self.steps, int(comment.split()[0]), delta=0.11, msg=table)
            self.assertEqual(steady[line]["on_other_thread"], 0, table)
            self.assertGreater(steady[line]["time_ns"] / steady[line]["waits"], 20_000, table)
        self.assertEqual([steady[line]["rule"] for line in sorted(steady)], ["jax-read", "jax-branch", "jax-block", "jax-read"], table)

    def table(self, report):
        rows = [f"\n{self.steps} steps, {report['host_callbacks']} callbacks"]
        for site in report["sites"]:
            rows.append(f"{pathlib.Path(site['file']).name}:{site['line']} {site['wait']} [{site['api']}] {site['class']} rule {site['rule']}"
                        f" {site['waits']}+{site['warm_up_waits']} waits, {site['time_ns'] / 1e3:.0f} us, bytes {site['bytes']},"
                        f" on another thread {site['on_other_thread']}")  # fmt: skip
        return "\n".join(rows)

    def test_a_range_of_nvtx_is_told(self):
        program = self.folder / "ranges.py"
        program.write_text("import torch\nx = torch.ones(9, device='cuda')\nwith torch.cuda.nvtx.range('evaluation'):\n    x.sum().item()\n")
        report = self.trace("ranges", PYTHON, program)
        self.assertEqual({site["range"] for site in report["sites"] if site["line"] == 4 and "Synchronize" in site["api"]}, {"evaluation"},
                         self.table(report))  # fmt: skip

    def test_cuda(self):
        if CUDA_PROGRAM is None:
            self.skipTest("no CUDA program was given")
        report = self.trace("cuda", CUDA_PROGRAM, 20)
        kinds = {"stream": "cuStreamSynchronize", "event": "cuEventSynchronize", "context": "cuCtxSynchronize_v2", "poll": "cuEventQuery",
                 "copy": "cuMemcpy", "staging": "cuMemcpyHtoDAsync_v2", "allocation": "cuMemAlloc_v2", "release": "cuMemFree_v2",
                 "host memory": "cuMem"}  # fmt: skip
        found = {site["line"]: site["api"] for site in report["sites"] if site["waits"]}
        for line, kind in comments("waits.cu").items():
            self.assertIn(line, found, found)
            self.assertTrue(found[line].startswith(kinds[kind]), (line, kind, found[line]))
        lines = (VICTIMS / "waits.cu").read_text().splitlines()
        last = next(number for number, line in enumerate(lines, 1) if "nothing is left to wait for" in line)
        self.assertEqual(set(found) - set(comments("waits.cu")), {last})
        self.assertEqual([site["class"] for site in report["sites"] if site["line"] == last], ["no-op"])

    def test_threads_and_children(self):
        report = self.trace("threads", PYTHON, VICTIMS / "torch_threads.py")
        lines = (VICTIMS / "torch_threads.py").read_text().splitlines()
        reads = {lines[site["line"] - 1].partition("# ")[2] for site in report["sites"] if "cuStreamSynchronize" in site["api"]}
        for comment in ("waits in backward", "waits in a generator", "waits in a thread", "waits in a comprehension",
                        "waits in a child", "native: the backward of a mask"):  # fmt: skip
            self.assertIn(comment, reads)
        self.assertGreaterEqual(len(report["processes"]), 2)

    def test_a_training_loop_and_its_repair(self):
        before = self.trace("before", PYTHON, VICTIMS / "torch_training.py", 200, options=["--gpu"])
        self.assertGreater(before["gpu"]["busy_ns"], 0)
        self.trace("after", PYTHON, VICTIMS / "torch_training.py", 200, "repaired", options=["--gpu"])
        done = subprocess.run([COMMAND, "trace", "--compare", self.folder / "before", self.folder / "after"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("gone", done.stdout)
        done = subprocess.run([COMMAND, "trace", "--read", self.folder / "before", "--budget", "1"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 3)


if __name__ == "__main__":
    probe = subprocess.run([PYTHON, "-c", "import torch; assert torch.cuda.is_available()"], capture_output=True)
    if probe.returncode != 0:
        print("no PyTorch with a GPU here")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
