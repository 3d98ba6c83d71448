#!/usr/bin/env python3
"""The tutti command from outside. usage: command_test.py COMMAND VERSION"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

COMMAND, VERSION = os.path.abspath(sys.argv.pop(1)), sys.argv.pop(1)
CALLERS = ("TUTTI_", "CUDA_VISIBLE_DEVICES", "TF_FORCE_GPU_ALLOW_GROWTH")


def environment(**settings):
    return {k: v for k, v in os.environ.items() if not k.startswith(CALLERS)} | settings


def tutti(*words, cwd=None, **settings):
    return subprocess.run([COMMAND, *words], env=environment(**settings), cwd=cwd, text=True, capture_output=True, timeout=120)


class Usage(unittest.TestCase):
    def test_help_names_every_command_within_80_columns(self):
        for words in (["--help"], ["devices", "--help"], ["demo", "--help"], ["ops", "--help"], ["run", "--help"], ["lint", "--help"], []):
            done = tutti(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80, done.stdout)
        for name in ("devices", "demo", "ops", "run", "launch", "barrier", "coordinator", "lint", "--version"):
            self.assertIn(name, tutti("--help").stdout)
        for name in ("--trace", "--gpus", "--steps"):
            self.assertIn(name, tutti("demo", "--help").stdout)

    def test_version_is_the_projects(self):
        self.assertEqual(tutti("--version").stdout, f"tutti {VERSION}\n")

    def assert_refused(self, words, text):
        done = tutti(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), words)
        self.assertTrue(done.stderr.startswith("tutti: error: "), done.stderr)
        self.assertIn(text, done.stderr)

    def test_an_unknown_command_gets_the_nearest_one(self):
        self.assert_refused(["devcies"], "unknown command 'devcies'; did you mean 'devices'?")
        self.assert_refused(["dem"], "did you mean 'demo'?")
        self.assert_refused(["xylophone"], "unknown command 'xylophone'\n")
        self.assert_refused(["\x1b[31m"], "\\x1b")

    def test_an_unknown_option_gets_the_nearest_one(self):
        self.assert_refused(["devices", "--jsno"], "unknown option '--jsno'; did you mean '--json'?")
        self.assert_refused(["demo", "--step", "3"], "did you mean '--steps'?")
        self.assert_refused(["demo", "--step=3"], "did you mean '--steps'?")
        self.assert_refused(["demo", "--steps", "3"], "--guide")
        self.assert_refused(["demo", "--guide", "--with-syncs"], "--guide")
        self.assert_refused(["--verison"], "did you mean '--version'?")

    def test_bad_values_are_refused(self):
        for line in ("demo --steps 0", "demo --steps many", "demo --gpus 65", "demo --gpus", "devices GPU:0"):
            self.assert_refused(line.split(), "tutti: error: ")


class Devices(unittest.TestCase):
    def test_text_fits_80_columns_and_names_all(self):
        done = tutti("devices", TUTTI_SIM_GPUS="2", TUTTI_SIM_MEMORY="3GiB")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80, done.stdout)
        for text in ("CPU:0", "GPU:1   Simulated GPU", "sim", "3 GiB", "/device:GPU:1", "/device:CPU:0", "memory limit"):
            self.assertIn(text, done.stdout)

    def test_without_a_gpu_it_says_why_and_how_to_simulate_one(self):
        found = json.loads(tutti("devices", "--json").stdout)
        if any(device["type"] == "GPU" for device in found["physical"]):
            self.skipTest("there is a GPU")
        shown = tutti("devices").stdout
        self.assertLessEqual(max(map(len, shown.splitlines())), 80, shown)
        self.assertIn("TUTTI_SIM_GPUS", shown)
        self.assertIn("No GPU was found: " if found["missing"] else "No GPU was found.\n", shown)
        for why in found["missing"]:
            self.assertIn(why, " ".join(shown.split()))

    def test_a_real_gpu_is_shown_with_its_compute_capability_memory_and_driver(self):
        found = json.loads(tutti("devices", "--json").stdout)
        real = [device for device in found["physical"] if device["backend"] == "cuda"]
        if not real:
            self.skipTest("there is no GPU: " + "; ".join(found["missing"] or ["this build has no CUDA backend"]))
        self.assertEqual(found["missing"], [])
        shown = tutti("devices").stdout
        self.assertLessEqual(max(map(len, shown.splitlines())), 80, shown)
        for device in real:
            self.assertGreater(device["memory_bytes"], 1 << 30)
            self.assertIn(device["device_name"], shown)
            self.assertIn("cuda {}.{}".format(*device["compute_capability"]), shown)
            self.assertRegex(device["driver"], r"CUDA \d+\.\d+$")
            self.assertIn("driver " + device["driver"], shown)

    def test_json_holds_every_documented_field(self):
        done = tutti("devices", "--json", TUTTI_SIM_GPUS="2", TUTTI_SIM_MEMORY="3GiB")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(done.stdout)
        self.assertEqual(list(found), ["tutti", "physical", "logical", "missing"])
        self.assertEqual(found["missing"], [], "simulated GPUs were asked for: none is missed")
        self.assertEqual(found["tutti"], VERSION)
        simulated = [device for device in found["physical"] if device["backend"] == "sim"]
        self.assertEqual(len(simulated), 2)
        for each in found["physical"]:
            self.assertEqual(
                list(each),
                ["name", "type", "index", "device_name", "backend", "memory_bytes", "compute_capability", "driver", "visible"],
            )
        last = simulated[-1]
        self.assertEqual(
            (last["type"], last["device_name"], last["memory_bytes"], last["compute_capability"], last["driver"], last["visible"]),
            ("GPU", "Simulated GPU", 3 << 30, None, None, True),
        )
        for each in found["logical"]:
            self.assertEqual(list(each), ["name", "full_name", "type", "index", "physical", "memory_limit_bytes"])
            self.assertEqual(each["name"], f"/device:{each['type']}:{each['index']}")
            self.assertEqual(each["full_name"], "/job:localhost/replica:0/task:0" + each["name"])
            self.assertIn(each["physical"], [device["name"] for device in found["physical"]])
            self.assertGreater(each["memory_limit_bytes"], 0)
        self.assertEqual(len(found["logical"]), len(found["physical"]))


class Ops(unittest.TestCase):
    def test_lists_every_function_and_marks_those_that_wait(self):
        done = tutti("ops")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80, done.stdout)
        for text in ("Reductions\n", "matmul", "nonzero*", "item*", "where"):
            self.assertIn(text, done.stdout)
        self.assertNotIn("where*", done.stdout)

    def test_tells_about_one_function_or_those_behind_an_op(self):
        shown = tutti("ops", "exp").stdout
        for line in ("ops       Exp", "cpu       floating dtypes", "sim       floating dtypes", "syncs     no", "gradient  yes"):
            self.assertIn(line, shown)
        self.assertIn("syncs     yes: the host waits for the count", tutti("ops", "nonzero").stdout)
        self.assertTrue(tutti("ops", "AddV2").stdout.startswith("add, +\n"))

    def test_shows_how_a_function_is_called_as_the_headers_declare_it(self):
        shown = tutti("ops", "uniform").stdout
        self.assertLessEqual(max(map(len, shown.splitlines())), 80, shown)
        for line in (
            "  Values in [low, high).\n",
            "  Tensor uniform(const Shape& shape, const UniformOptions& options = {})\n",
            "  ShardedTensor uniform(const Shape& shape, const Layout& layout, const\n",
            "  struct UniformOptions\n",
            "    double high = 1\n",
            "    std::optional<uint64_t> key = {}  // with it: these numbers,",
        ):
            self.assertIn(line, shown)
        self.assertIn("  enum LossReduction\n    none\n", tutti("ops", "cross_entropy").stdout)

    def test_each_form_stands_below_its_own_comment(self):
        shown = re.sub(r"\n {8,}", " ", tutti("ops", "split").stdout)
        for block in (
            "  So many parts of equal size along the axis.\n    std::vector<Tensor> split(const Tensor& x, int64_t parts, int64_t axis = 0)\n\n",
            "  Cut before each of these indices, which count like those of a slice.\n    std::vector<Tensor> split(const Tensor& x, const std::vector",
            "  Along axes that are not sharded.\n    std::vector<ShardedTensor> split(const ShardedTensor& x, int64_t parts",
        ):
            self.assertIn(block, shown)
        shown = tutti("ops", "unique_values").stdout
        self.assertIn("  The distinct elements, sorted. Without a size the host waits for their count.\n    Tensor unique_values(", shown)
        self.assertIn("  The same, without a sync.\n    UniqueValues unique_values(", shown)
        described = json.loads(tutti("ops", "split", "--json").stdout)["functions"][0]["description"]
        self.assertTrue(described.startswith("So many parts of equal size along the axis. Cut before each"), described)
        # One comment above several forms is told once.
        self.assertEqual(tutti("ops", "constant").stdout.count("Host values"), 1)
        self.assertNotIn("no bytes", tutti("ops", "constant").stdout)

    def test_an_operator_finds_what_it_stands_for(self):
        self.assertTrue(tutti("ops", "+").stdout.startswith("add, +\n"))
        self.assertTrue(tutti("ops", "<=").stdout.startswith("less_equal, <=\n"))
        self.assertEqual(re.findall(r"^(\w+), -$", tutti("ops", "-").stdout, re.M), ["subtract", "negative"])
        self.assertEqual([each["name"] for each in json.loads(tutti("ops", "+", "--json").stdout)["functions"]], ["add"])
        self.assertIn("no function or op is named '=='", tutti("ops", "==").stderr)

    def test_tells_about_functions_of_meshes_and_settings(self):
        shown = tutti("ops", "barrier").stdout
        for line in ("void barrier(const Mesh& mesh, const BarrierOptions& options = {})", 'std::string name = "(barrier)"', "syncs     yes"):
            self.assertIn(line, shown)
        self.assertIn("ShardedTensor relayout(const ShardedTensor& x, const Layout& layout)", tutti("ops", "relayout").stdout)
        self.assertIn("void set_seed(uint64_t seed)", tutti("ops", "set_seed").stdout)
        self.assertIn("int64_t num_shards(size_t axis)", tutti("ops", "Layout::num_shards").stdout)

    def test_an_unknown_name_gets_the_nearest_ones(self):
        done = tutti("ops", "matmull")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no function or op is named 'matmull'; did you mean 'matmul'", done.stderr)
        self.assertIn("did you mean 'masked_select' or 'masked_scatter'?", tutti("ops", "masked").stderr)
        self.assertIn("'all_reduce'", tutti("ops", "allreduce").stderr)
        self.assertNotIn("did you mean", tutti("ops", "xylophones").stderr)

    def test_json_holds_every_documented_field(self):
        found = json.loads(tutti("ops", "--json").stdout)
        self.assertEqual(list(found), ["functions", "others", "ops"])
        declared = ["name", "description", "declarations", "operators", "types"]
        for each in found["functions"]:
            self.assertEqual(list(each), [*declared, "section", "takes_tensors", "ops", "dtypes", "syncs", "gradient"])
        for each in found["others"]:
            self.assertEqual(list(each), declared)
        for kind in (kind for each in found["functions"] for kind in each["types"]):
            self.assertEqual(list(kind), ["name", "is_enum", "description", "fields"])
            self.assertEqual([list(field) for field in kind["fields"]], [["declaration", "description"]] * len(kind["fields"]))
        for each in found["ops"]:
            self.assertEqual(list(each), ["name", "dtypes", "gradient"])
        (exp,) = json.loads(tutti("ops", "exp", "--json").stdout)["functions"]
        self.assertEqual((exp["ops"], exp["syncs"], exp["gradient"]), (["Exp"], None, "yes"))
        self.assertEqual(exp["dtypes"]["cpu"], ["float16", "bfloat16", "float32", "float64"])


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def interrupt(self, *words):
        running = subprocess.Popen([COMMAND, *words], env=environment(), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(running.kill)
        self.assertTrue(running.stdout.read(1))  # it is under way
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
        return running


class Demo(InAFolder):
    def test_trains_without_a_wait_and_writes_a_page(self):
        done = tutti("demo", "--epochs", "4", cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertLessEqual(max(map(len, lines)), 80, done.stdout)
        self.assertLessEqual(len(lines), 40, done.stdout)
        said = " ".join(done.stdout.split())
        self.assertIn("Using MirroredStrategy with devices (", said)
        self.assertIn("Epoch 4/4: loss ", said)
        self.assertRegex(said, r"right\. 160 steps of [\d.]+ .?s, 0 waits for values in them\. The host was held back for [\d.]+ .?s, being")
        self.assertGreater(float(re.search(r"([\d.]+) % of 1024 other points are right", said)[1]), 60)
        page = (self.folder / "tutti-demo.html").read_text()
        self.assertTrue(page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>"), page[:80])
        self.assertIn("GPU:0 stream", page)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["tutti-demo.html"])

    def test_shows_what_the_usual_waits_cost(self):
        done = tutti("demo", "--with-syncs", "--epochs", "1", "--gpus", "2", "--page", "a.html", cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80, done.stdout)
        counts = re.search(r"waits for values and devices +(\d+) +(\d+) +(\d+)", done.stdout).groups()
        self.assertEqual([int(each) for each in counts], [0, 0, 160])
        step, ratios = (re.search(rf"\n{what} +(.*)", done.stdout)[1].split() for what in ("a step", "a step, loop no waits = 1"))
        self.assertEqual(len(step), 6)
        self.assertEqual(ratios[1], "1.00")
        self.assertRegex(done.stdout, r"held back, being far ahead( +[\d.]+ .?s){3}\n")
        self.assertRegex(done.stdout, r"src/tools/demo\.cc:\d+")  # the ledger has them by line
        self.assertEqual([path.name for path in self.folder.iterdir()], ["a.html"])
        self.assertIn("GPU:0 stream", (self.folder / "a.html").read_text())

    def test_the_readme_shows_what_it_prints(self):
        def words(printed):  # numbers and their units differ from run to run
            return " ".join(re.sub(r"\d[\d.]*(\s+[num]?s\b)?", "#", printed).split())

        printed = words(tutti("demo", "--with-syncs", "--epochs", "2", cwd=self.folder).stdout)
        readme = (pathlib.Path(__file__).parents[2] / "README.md").read_text()
        shown = [block for block in re.findall(r"```text\n(.*?)```", readme, re.DOTALL) if "held back" in block]
        self.assertEqual(len(shown), 2)
        for block in shown:
            self.assertIn(words(block), printed)

    def test_an_error_is_one_line_and_exit_status_1(self):
        done = tutti("demo", "--epochs", "1", "--page", "no/such/folder/page.html", cwd=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Atutti: error: .*no/such/folder/.*\n\Z")

    def test_interrupt_ends_it(self):
        self.assertEqual(self.interrupt("demo", "--epochs", "10000").returncode, -signal.SIGINT)


class Guide(InAFolder):
    def test_shows_the_guides_steps_and_writes_a_trace(self):
        done = tutti("demo", "--guide", "--steps", "100", cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertLessEqual(max(map(len, lines)), 80, done.stdout)
        self.assertLessEqual(len(lines), 85, done.stdout)
        for text in (
            "Executing op MatMul in device /job:localhost/replica:0/task:0/device:GPU:0\ntutti.Tensor(\n[[22. 28.]\n [49. 64.]]",
            "Copying 24 bytes from /device:CPU:0 to /device:GPU:0 (input #0 of MatMul)",
            "Virtual devices cannot be modified after being initialized",
            "unknown device",
            "soft placement",
            "Executing op AddN in device /device:CPU:0",
            "one sync at the end",
            "a sync in every step",
            "ui.perfetto.dev",
        ):
            self.assertIn(text, done.stdout)
        # The ledger: one row for the loop that waits every time, one for the sync at the end of the other.
        calls = sorted(int(row) for row in re.findall(r"tensor sync +\w[\w ]* (\d+) +\d+ ", done.stdout))
        self.assertEqual(calls, [1, 100])

        # It says what it ran on.
        real = any(device["backend"] == "cuda" for device in json.loads(tutti("devices", "--json").stdout)["physical"])
        self.assertIn("What follows runs on" if real else "There is no GPU here", done.stdout)

        self.check_trace(self.folder / "tutti-demo.json")

    def check_trace(self, path):
        events = json.loads(path.read_text())["traceEvents"]
        processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        busy = {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}
        self.assertLessEqual(busy, set(lanes), "work outside of every named lane")
        used = {processes[pid]: set() for pid in processes}
        for pid, tid in busy:
            used[processes[pid]].add(lanes[pid, tid])
        self.assertIn("main", used["host"])
        # Two streams of the same GPU are two lanes.
        self.assertLessEqual({"GPU:0 stream 0", "GPU:0 stream 1"}, used["devices"])
        self.assertEqual(len(set(lanes)), len([e for e in events if e["name"] == "thread_name"]))

    def test_options_are_obeyed(self):
        done = tutti("demo", "--guide", "--steps", "10", "--gpus", "1", "--trace", "elsewhere.json", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["elsewhere.json"])
        if "There is no GPU here" in done.stdout:
            self.assertIn("1 Physical GPU", done.stdout)
        self.assertIn("10 steps of", done.stdout)
        self.check_trace(self.folder / "elsewhere.json")

    def test_an_error_is_one_line_and_exit_status_1(self):
        done = tutti("demo", "--guide", "--steps", "10", "--trace", "no/such/folder/trace.json", cwd=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Atutti: error: .*no/such/folder/trace\.json.*\n\Z")

    def test_interrupt_ends_it(self):
        self.assertEqual(self.interrupt("demo", "--guide", "--steps", "1000000").returncode, -signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
