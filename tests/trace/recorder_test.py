#!/usr/bin/env python3
"""The recorder in Python programs, without a GPU. usage: recorder_test.py COMMAND RECORDER CUPTI CUPTI_12"""

import functools
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

COMMAND, RECORDER, CUPTI, CUPTI_12 = (os.path.abspath(sys.argv.pop(1)) for _ in range(4))
PROGRAM = pathlib.Path(__file__).with_name("fake_program.py")
LINES = PROGRAM.read_text().splitlines()
CALL = next(number for number, line in enumerate(LINES, 1) if "cupti.fake_call(name" in line)


# Functions of the C library through which threads sleep and wake.
STANDS_BEFORE = ["syscall", "pthread_create", *(f"pthread_cond_{each}" for each in ("wait", "timedwait", "clockwait", "signal", "broadcast")),
                 *(f"sem_{each}" for each in ("wait", "timedwait", "clockwait", "post"))]  # fmt: skip


def line_of(comment):
    return next(number for number, line in enumerate(LINES, 1) if line.endswith("# " + comment))


@functools.cache
def pythons():
    """Every version that is here, the one that runs this first."""
    found = {sys.version_info[:2]: sys.executable}
    places = [shutil.which(f"python3.{minor}") for minor in range(9, 15)]
    places += sorted(map(str, pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3")))
    for path in filter(None, places):
        told = subprocess.run([path, "-c", "import sys, ctypes; print(*sys.version_info[:2])"], text=True, capture_output=True)
        if told.returncode == 0 and tuple(map(int, told.stdout.split())) >= (3, 9):
            found.setdefault(tuple(map(int, told.stdout.split())), path)
    return found


class Recorder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, what, python=sys.executable, cupti=CUPTI):
        return subprocess.run([COMMAND, "trace", "-o", self.folder / "out", "--", python, PROGRAM, cupti, RECORDER, what],
                              text=True, capture_output=True, timeout=100)  # fmt: skip

    def report(self, what, python=sys.executable):
        self.done = self.run_program(what, python)
        self.assertLessEqual(max(map(len, self.done.stderr.splitlines())), 80, self.done.stderr)
        return json.loads((self.folder / "out/report.json").read_text())

    def places(self, report):
        return {(site["line"], site["function"].split(".")[-1]): site["waits"] + site["warm_up_waits"] for site in report["sites"]}

    def test_stacks_of_every_python_are_read_at_the_right_lines(self):
        for version, python in sorted(pythons().items()):
            with self.subTest(version=version):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                report = self.report("stacks", python)
                self.assertEqual((self.done.returncode, self.done.stdout), (0, "done\n"))
                self.assertEqual(report["processes"][0]["calls"], 6)
                if version > (3, 13):
                    self.assertIn("stacks are native only", report["processes"][0]["notes"][0])
                    continue
                # The wait itself is in call(); what called it is in the stack.
                self.assertEqual(set(self.places(report)), {(CALL, "call")})
                text = json.dumps(json.loads((self.folder / "out/timeline.json").read_text()))
                self.assertIn(f"fake_program.py:{CALL}", text)
                stacks = self.raw_stacks()
                for comment, function in (("comprehension", None), ("generator", "generator"), ("thread", "in_thread"), ("eval", "stacks")):
                    lines = [frame for stack in stacks for frame in stack if frame[0] == line_of(comment)]
                    self.assertTrue(lines, (comment, stacks))
                    if function:
                        self.assertEqual(lines[0][1].split(".")[-1], function)
                    self.assertIn("# " + comment, lines[0][2])

    def test_of_an_interpreter_that_is_not_known_stacks_are_native_and_the_report_says_so(self):
        if platform.machine() != "x86_64":
            self.skipTest("its version is told by code of another machine")
        for what, python in (("newer_python", "3.14.2"), ("unlocked_python", "3.13.1 without its lock")):
            with self.subTest(what=what):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                report = self.report(what)
                self.assertEqual((self.done.returncode, self.done.stdout), (0, "done\n"))
                (process,) = report["processes"]
                self.assertEqual(process["calls"], 6)
                self.assertEqual(process["notes"], [f"this is Python {python}, whose frames are not known (3.9 to 3.13 are): stacks are native only"])
                self.assertEqual([stack for stack in self.raw_stacks() if stack], [])
                self.assertIn(f"this is Python {python}", " ".join(self.done.stderr.split()))

    def test_generated_code_at_an_address_used_before_is_told_apart(self):
        for version, python in sorted(pythons().items()):
            if version > (3, 13):
                continue
            with self.subTest(version=version):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                report = self.report("generated", python)
                self.assertEqual({site["file"] for site in report["sites"]}, {f"<generated {number}>" for number in range(400)})

    def raw_stacks(self):
        """[(line, function, source)] of each, from the file itself: a second reader of its format."""
        import struct

        data = next((self.folder / "out").glob("*.tutti-trace")).read_bytes()
        at, texts, frames, stacks = 16, {0: ""}, {}, []
        while at < len(data):
            size, kind, _, _ = struct.unpack_from("<IHHI", data, at)
            body = data[at + 12 : at + 12 + size]
            at += 12 + size
            if kind == 2:
                texts[struct.unpack_from("<I", body)[0]] = body[4:].decode()
            elif kind == 4:
                fields = struct.unpack("<8I", body)
                frames[fields[0]] = (fields[3], texts[fields[2]], texts[fields[7]])
            elif kind == 6:
                _, _, python, _, _ = struct.unpack_from("<IHHHH", body)
                stacks.append([frames[id] for id in struct.unpack_from(f"<{python}I", body, 12)])
        return stacks

    def test_steps_are_recognised_and_the_warm_up_is_apart(self):
        report = self.report("steps")
        steps = report["steps"]
        self.assertEqual(steps["count"] + steps["warm_up"], 29)
        self.assertGreaterEqual(steps["warm_up"], 1)  # more on a machine that is busy with something else
        self.assertLess(steps["median_ns"], 20_000_000)
        site = next(site for site in report["sites"] if site["api"] == "cuStreamSynchronize")
        self.assertEqual((site["waits"], site["warm_up_waits"]), (30 - steps["warm_up"], steps["warm_up"]))
        self.assertGreaterEqual(site["longest_ns"], 20_000_000)

    def test_a_loop_of_queries_is_one_wait(self):
        report = self.report("polls")
        by_api = {site["api"]: site for site in report["sites"]}
        self.assertEqual(sorted(by_api), ["cuStreamQuery", "cuStreamSynchronize"])  # and no launch
        self.assertEqual(by_api["cuStreamQuery"]["waits"] + by_api["cuStreamQuery"]["warm_up_waits"], 1)

    def test_a_forked_child_records_nothing(self):
        report = self.report("forks")
        self.assertEqual([process["calls"] for process in report["processes"]], [2])

    def test_a_program_that_is_killed_loses_no_wait(self):
        report = self.report("dies")
        self.assertEqual(self.done.returncode, 128 + 9)
        self.assertEqual([(process["calls"], process["has_ended"]) for process in report["processes"]], [(100, False)])
        self.assertIn("it was killed", self.done.stderr)

    def file_with(self, content):
        """The trace, once this is in it."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            for file in (self.folder / "out").glob("*.tutti-trace"):
                if content in file.read_bytes():
                    return file
        self.fail(f"no trace has {content}")

    def test_a_program_that_is_killed_keeps_what_the_gpu_did_a_period_before(self):
        command = [COMMAND, "trace", "--gpu", "-o", self.folder / "out", "--", sys.executable, PROGRAM, CUPTI, RECORDER, "works_on"]
        tracer = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(tracer.kill)
        self.assertEqual(tracer.stdout.readline(), "at work\n")
        file = self.file_with(b"a_kernel")
        os.kill(int(file.name.partition("-")[0]), signal.SIGKILL)
        tracer.communicate(timeout=100)
        self.assertEqual(tracer.returncode, 128 + 9)
        self.assertFalse(json.loads((self.folder / "out/report.json").read_text())["processes"][0]["has_ended"])
        events = json.loads((self.folder / "out/timeline.json").read_text())["traceEvents"]
        self.assertEqual([event["name"] for event in events if event["name"] in ("a_kernel", "copy", "memset")],
                         ["a_kernel", "copy", "memset"] * 3)  # fmt: skip

    def test_a_program_that_forks_while_the_gpus_records_are_written_goes_on(self):
        done = subprocess.run([COMMAND, "trace", "--gpu", "-o", self.folder / "out", "--", sys.executable, PROGRAM, CUPTI, RECORDER,
                               "works_and_forks"], text=True, capture_output=True, timeout=100)  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
        report = json.loads((self.folder / "out/report.json").read_text())
        self.assertEqual([process["calls"] for process in report["processes"]], [20])

    def test_a_child_that_executes_a_program_is_traced_by_itself(self):
        report = self.report("executes")
        self.assertEqual(sorted(process["calls"] for process in report["processes"]), [1, 2])
        self.assertEqual([process["has_ended"] for process in report["processes"]], [True, True])

    def test_a_program_that_crashes_or_leaves_at_once_loses_no_wait(self):
        for what, status in (("crashes", 128 + 6), ("leaves_at_once", 4)):
            with self.subTest(what=what):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                report = self.report(what)
                self.assertEqual(self.done.returncode, status)
                self.assertEqual([(process["calls"], process["has_ended"]) for process in report["processes"]], [(1, False)])

    def test_making_and_giving_back_resources_counts_where_it_takes_long(self):
        report = self.report("resources")
        found = {site["api"]: (site["waits"] + site["warm_up_waits"], site["wait"]) for site in report["sites"]}
        text = PROGRAM.read_text()
        names = re.findall(r'"(cu\w+)"', text[text.index("LONG_ONLY") : text.index("def resources")])
        self.assertEqual(len(names), 10)
        self.assertEqual(found, {name: (1, "loading code" if name == "cuGraphUpload" else "resource of the driver") for name in names})

    def test_many_threads_lose_no_wait(self):
        report = self.report("threads")
        self.assertEqual(report["processes"][0]["calls"], 8 * 500)
        self.assertEqual(report["processes"][0]["notes"], [])

    def test_a_sleep_that_a_host_callback_ends_is_a_wait_at_its_line(self):
        report = self.report("sleeps")
        slept = {site["line"]: site for site in report["sites"] if site["wait"] == "wait for a callback"}
        for comment in ("futex", "condition", "semaphore", "worker"):
            site = slept.pop(line_of(comment))
            self.assertEqual(site["waits"] + site["warm_up_waits"], 10, comment)
            self.assertGreaterEqual(site["longest_ns"], 1_900_000)
            self.assertEqual((site["api"], site["function"]), ("cuLaunchHostFunc", "sleeps"))
        for comment in ("in a thread", "python in a callback"):
            site = slept.pop(line_of(comment))
            self.assertEqual(site["waits"] + site["warm_up_waits"], 1, comment)
        self.assertEqual(slept, {}, "sleeps that no callback ended, or that wait for such a wait")

    def test_callbacks_that_ended_no_sleep_are_told_of(self):
        report = self.report("callbacks")
        self.assertEqual((report["host_callbacks"], report["sites"]), (1, []))
        self.assertIn("threads of the driver have woken others 0 times, and 0 sleeps ended by that", report["processes"][0]["notes"][0])
        self.assertIn("JAX ends its waits that way", " ".join(self.done.stderr.split()))

    def test_a_wait_for_pythons_lock_is_none_for_the_gpu(self):
        report = self.report("locks")
        self.assertEqual(report["sites"], [])

    def test_a_wait_tells_the_ranges_it_was_in(self):
        report = self.report("ranges")
        found = {site["api"]: site["range"] for site in report["sites"]}
        self.assertEqual(found, {"cuStreamSynchronize": "epoch 1 > forward", "cuEventSynchronize": "epoch 1 > loader: decode",
                                 "cuCtxSynchronize_v2": None})  # fmt: skip
        self.assertIn("in the NVTX range epoch 1 > forward", self.done.stderr)
        self.assertIn('"range":"epoch 1 > forward"', (self.folder / "out/timeline.json").read_text())
        self.assertIn("epoch 1 > loader: decode", (self.folder / "out/report.html").read_text())

    def test_what_the_gpu_did_is_read_as_each_cupti_lays_it_out(self):
        for version, told in ((19, ""), (28, ""), (130001, ""), (130200, "CUPTI 13.2 is newer than this recorder")):
            with self.subTest(version=version):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                subprocess.run([COMMAND, "trace", "--gpu", "-o", self.folder / "out", "--", sys.executable, PROGRAM, CUPTI, RECORDER, "work",
                                str(version)], check=True, capture_output=True, timeout=100)  # fmt: skip
                report = json.loads((self.folder / "out/report.json").read_text())
                self.assertIn(told, " ".join(report["processes"][0]["notes"]))
                self.assertEqual(len(report["processes"][0]["notes"]), 1 if told else 0)
                events = json.loads((self.folder / "out/timeline.json").read_text())["traceEvents"]
                work = [event for event in events if event["ph"] == "X" and event["name"] in ("a_kernel", "copy", "memset")]
                self.assertEqual([event["name"] for event in work], ["a_kernel", "copy", "memset"] * 3)
                self.assertEqual({round(event["dur"], 3) for event in work}, {1.0})
                self.assertEqual({event.get("args", {}).get("bytes") for event in work if event["name"] == "copy"}, {12})
                self.assertIn("GPU 1 stream 7", (self.folder / "out/report.html").read_text())

    def test_a_cupti_of_cuda_12_without_records_of_single_functions_will_do(self):
        for what, words in (("stacks", ()), ("work", ("--gpu",))):
            with self.subTest(what=what):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                done = subprocess.run([COMMAND, "trace", *words, "-o", self.folder / "out", "--", sys.executable, PROGRAM, CUPTI_12, RECORDER, what,
                                       "22"], text=True, capture_output=True, timeout=100)  # fmt: skip
                self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
                (process,) = json.loads((self.folder / "out/report.json").read_text())["processes"]
                self.assertEqual(process["calls"], 1 if words else 6)
                self.assertEqual([note for note in process["notes"] if "CUPTI before CUDA 12.5" not in note], [])
                self.assertEqual(len(process["notes"]), len(words))

    def bounded(self, what, *words):
        """The report of a program whose file may have 64 KiB."""
        out = self.folder / "out"
        out.mkdir()
        subprocess.run([sys.executable, PROGRAM, CUPTI, RECORDER, "fills_the_file", *words], check=True, capture_output=True, timeout=100,
                       env=os.environ | {"TUTTI_TRACE_RECORDER": f"{what},64:{out}"})  # fmt: skip
        (file,) = out.glob("*.tutti-trace")
        self.assertLessEqual(file.stat().st_size, 64 << 10)
        self.done = subprocess.run([COMMAND, "trace", "--read", out], text=True, capture_output=True, timeout=100)
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        return json.loads((out / "report.json").read_text())["processes"][0]

    def test_a_file_that_is_full_says_how_many_waits_it_had_no_room_for(self):
        process = self.bounded("waits")
        self.assertTrue(process["has_ended"])
        self.assertGreater(process["calls"], 50)
        missing = 400 - process["calls"]
        self.assertEqual(process["notes"], [f"{missing} of its 400 waits are missing: the file had reached its bound of 64 KiB"])
        self.assertIn(f"{missing} of its 400 waits are missing", " ".join(self.done.stderr.split()))

    def test_a_file_that_is_full_says_what_it_misses_of_the_gpu(self):
        notes = self.bounded("work", "130001")["notes"]
        self.assertIn("9 records of what the GPU did are missing: there was no room for them", notes)

    def test_what_the_user_has_preloaded_stays(self):
        done = subprocess.run([COMMAND, "trace", "--", "sh", "-c", "echo $LD_PRELOAD"], text=True, capture_output=True, cwd=self.folder,
                              env=os.environ | {"LD_PRELOAD": CUPTI})  # fmt: skip
        self.assertEqual(done.stdout, f"{RECORDER}:{CUPTI}\n")

    def test_where_another_profiler_holds_cupti_the_program_runs_untraced(self):
        done = self.run_program("taken")
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"))
        self.assertIn("runs untraced: 'CUPTI for another one' holds CUPTI", done.stderr)
        shutil.rmtree(self.folder / "out")
        done = self.run_program("taken", cupti=CUPTI_12)
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"))
        self.assertIn("runs untraced: another profiler, of which CUPTI before CUDA 13 tells no name, holds CUPTI", done.stderr)

    def test_another_injected_library_is_not_pushed_aside(self):
        done = subprocess.run([COMMAND, "trace", "--", "sh", "-c", "echo $CUDA_INJECTION64_PATH; exit 3"], text=True, capture_output=True,
                              cwd=self.folder, env=os.environ | {"CUDA_INJECTION64_PATH": "/opt/other.so"})  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (3, "/opt/other.so\n"))
        self.assertIn("runs untraced: CUDA_INJECTION64_PATH is set to /opt/other.so", " ".join(done.stderr.split()))
        self.assertEqual(list(self.folder.iterdir()), [])

    def gated(self, *words, **environment):
        """What a run says that is judged, and its exit status."""
        done = subprocess.run([COMMAND, "trace", *words], text=True, capture_output=True, cwd=self.folder, timeout=100, env=os.environ | environment)
        ours = [line for line in done.stderr.splitlines() if not line.startswith("tutti trace: process")]  # that the program writes
        self.assertLessEqual(max(map(len, ours), default=0), 80, done.stderr)
        return done.returncode, " ".join(done.stderr.split())

    def test_a_gate_does_not_pass_where_nothing_was_measured(self):
        baseline = self.folder / "kept.json"
        baseline.write_text('{"steps": null, "sites": []}')
        for gate in (("--budget", "1"), ("--baseline", baseline)):
            for environment in ({}, {"CUDA_INJECTION64_PATH": "/opt/other.so"}):
                with self.subTest(gate=gate, environment=environment):
                    status, said = self.gated(*gate, "--", "true", **environment)
                    self.assertEqual(status, 1, said)
                    self.assertIn(f"{gate[0]}: nothing was judged: no process was traced", said)
                    status, said = self.gated(*gate, "--", "sh", "-c", "exit 5", **environment)
                    self.assertEqual(status, 5, said)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["kept.json"])

    def test_a_gate_does_not_pass_where_another_profiler_held_cupti(self):
        status, said = self.gated("--budget", "1", "-o", "out", "--", sys.executable, PROGRAM, CUPTI, RECORDER, "taken")
        self.assertEqual(status, 1, said)
        self.assertIn("--budget: nothing was judged of process", said)
        self.assertIn("of which nothing was recorded", said)
        self.assertIn("Waits of the host: not known.", said)
        self.assertNotIn("it was killed", said)
        status, said = self.gated("--read", "out", "--budget", "1")
        self.assertEqual(status, 1, said)
        self.assertIn("nothing was judged of process", said)
        self.assertEqual(self.gated("--read", "out")[0], 0)

    def test_the_baseline_is_read_before_the_program_runs(self):
        (self.folder / "kept.json").write_text("nonsense")
        (self.folder / "empty.json").write_text("")
        (self.folder / "other.json").write_text('{"a": 1}')
        (self.folder / "before").mkdir()
        for baseline, expected in (("kept.json", "it is not JSON"), ("empty.json", "it is empty"), ("other.json", "it has not the fields of one"),
                                   ("before", "is a folder"), ("nowhere", "there is no file 'nowhere'")):  # fmt: skip
            for environment in ({}, {"CUDA_INJECTION64_PATH": "/opt/other.so"}):
                with self.subTest(baseline=baseline, environment=environment):
                    status, said = self.gated("--baseline", baseline, "--", "touch", "ran", **environment)
                    self.assertEqual(status, 1, said)
                    self.assertIn(expected, said)
                    self.assertIn("report.json", said)
                    self.assertNotIn("json.exception", said)
                    self.assertFalse((self.folder / "ran").exists())

    def test_a_folder_that_cannot_be_made_is_told(self):
        (self.folder / "file").write_text("")
        for folder in ("/proc/x", "file", "file/x"):
            with self.subTest(folder=folder):
                status, said = self.gated("-o", folder, "--", "touch", "ran")
                self.assertEqual(status, 1, said)
                self.assertRegex(said, f"the folder '{folder}' cannot be made: .*; name another with -o")
                self.assertNotIn("filesystem error", said)
                self.assertFalse((self.folder / "ran").exists())

    def test_a_command_without_its_recorder_says_so_and_reads_traces(self):
        alone = self.folder / "bin/tutti"
        alone.parent.mkdir()
        shutil.copy(COMMAND, alone)
        libraries = {"LD_LIBRARY_PATH": str(pathlib.Path(COMMAND).parent.parent / "lib")}
        done = subprocess.run([alone, "trace", "--", "true"], text=True, capture_output=True, cwd=self.folder, env=os.environ | libraries)
        self.assertEqual(done.returncode, 1)
        said = " ".join(done.stderr.split())
        self.assertIn("there is no recorder (libtutti_trace.so) beside this command", said)
        self.assertIn("tutti trace --read FOLDER", said)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["bin"])

    def test_without_cupti_the_program_runs_untraced_and_says_what_is_missing(self):
        toolkit = "/usr/local/cuda"
        hidden = []
        if os.path.exists(toolkit):
            hidden = ["unshare", "--mount", "--map-root-user", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', toolkit]
            if subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
                self.skipTest("the toolkit's folder cannot be hidden here")
        program = f"import ctypes; ctypes.CDLL({RECORDER!r}).InitializeInjection(); print('done')"
        done = subprocess.run([*hidden, COMMAND, "trace", "-o", self.folder / "out", "--", sys.executable, "-c", program], text=True,
                              capture_output=True)  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"))
        self.assertIn("runs untraced: CUPTI (libcupti.so.13 or .12) was not found", done.stderr)

    def test_a_cupti_that_is_too_old_is_named(self):
        old = self.folder / "libcupti.so.11"
        shutil.copy(RECORDER, old)  # any library that has none of its functions
        program = f"import ctypes; ctypes.CDLL({str(old)!r}); ctypes.CDLL({RECORDER!r}).InitializeInjection(); print('done')"
        done = subprocess.run([COMMAND, "trace", "-o", self.folder / "old", "--", sys.executable, "-c", program], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"))
        self.assertIn(f"runs untraced: {old} is too old: CUPTI of CUDA 12 or 13 is needed", done.stderr)

    def test_a_program_without_cuda_runs_as_ever_and_leaves_nothing(self):
        done = subprocess.run([COMMAND, "trace", "--", "sh", "-c", "echo hello; exit 3"], text=True, capture_output=True, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (3, "hello\n"))
        self.assertIn("nothing was recorded", done.stderr)
        self.assertLessEqual(max(map(len, done.stderr.splitlines())), 80, done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])
        done = subprocess.run([COMMAND, "trace", "--", "./no_such_program"], text=True, capture_output=True, cwd=self.folder)
        self.assertEqual(done.returncode, 127)
        self.assertNotIn("nothing was recorded", done.stderr)

    def test_a_signal_that_would_end_the_tracer_reaches_the_program(self):
        script = "trap 'echo asked to end; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
        tracer = subprocess.Popen([COMMAND, "trace", "--", "sh", "-c", script], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  cwd=self.folder)  # fmt: skip
        self.addCleanup(tracer.kill)
        self.assertEqual(tracer.stdout.readline(), "ready\n")
        tracer.terminate()
        said, _ = tracer.communicate(timeout=100)
        self.assertEqual((said, tracer.returncode), ("asked to end\n", 5))

    def test_the_exit_status_stays_the_programs_where_its_trace_cannot_be_read(self):
        for status, expected in ((5, 5), (0, 1)):
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            found, said = self.gated("-o", "out", "--", "sh", "-c", f": > out/1-0.tutti-trace; exit {status}")
            self.assertEqual(found, expected, said)
            self.assertIn("1-0.tutti-trace' is no trace", said)

    def test_where_not_even_the_head_of_a_file_can_be_written_none_is_left(self):
        status, said = self.gated("-o", "out", "--", "sh", "-c", 'ulimit -f 0; exec "$@"', "sh", sys.executable, PROGRAM, CUPTI, RECORDER, "stacks")
        self.assertEqual(status, 0, said)
        self.assertIn("runs untraced: no file can be made in", said)
        self.assertIn("nothing was recorded", said)
        self.assertFalse((self.folder / "out").exists())

    def record(self, what, asked="waits", **limits):
        """The file of a program that is started without the command."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        subprocess.run([sys.executable, PROGRAM, CUPTI, RECORDER, what], capture_output=True, timeout=100,
                       env=os.environ | {"TUTTI_TRACE_RECORDER": f"{asked}:{out}"}, **limits)  # fmt: skip
        (file,) = out.glob("*.tutti-trace")
        return file

    def test_a_disk_that_is_full_between_two_records_leaves_a_trace_that_is_not_judged(self):
        whole = self.record("steps").read_bytes()
        begins = [16]
        while begins[-1] < len(whole):
            begins.append(begins[-1] + 12 + int.from_bytes(whole[begins[-1] : begins[-1] + 4], "little"))
        for end, told in ((begins[0], ["is no trace"]), (begins[len(begins) * 3 // 4], ["it breaks off in the record at byte", "its trace is incomplete"])):
            with self.subTest(end=end):
                file = self.record("steps", preexec_fn=lambda end=end: resource.setrlimit(resource.RLIMIT_FSIZE, (end, end)))
                self.assertEqual(file.stat().st_size, end - 1)
                status, said = self.gated("--read", "out", "--budget", "1000")
                self.assertEqual(status, 1, said)
                for each in told:
                    self.assertIn(each, said)

    def test_a_program_whose_file_was_full_when_it_was_killed_is_not_judged(self):
        self.record("fills_the_file_and_dies", "waits,64")
        status, said = self.gated("--read", "out", "--budget", "1000000")
        self.assertEqual(status, 1, said)
        self.assertIn("its file has reached its bound: what came later is missing", said)
        self.assertIn("its trace is incomplete", said)

    def test_a_program_whose_file_was_full_is_not_judged(self):
        self.bounded("waits")
        status, said = self.gated("--read", "out", "--budget", "1000000")
        self.assertEqual(status, 1, said)
        self.assertIn("its trace is incomplete", said)

    def test_once_the_program_has_ended_a_signal_ends_the_command(self):
        recorded = pathlib.Path(__file__).with_name("recorded") / "torch_waits.tutti-trace"
        makes = 'cp "$0" out/1-0.tutti-trace; mkfifo out/report.html'  # nobody reads it: the page cannot be written
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(signal=each):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                tracer = subprocess.Popen([COMMAND, "trace", "-o", "out", "--", "sh", "-c", makes, recorded], stderr=subprocess.DEVNULL, cwd=self.folder,
                                          preexec_fn=lambda each=each: signal.signal(each, signal.SIG_DFL))  # fmt: skip
                self.addCleanup(tracer.wait)
                self.addCleanup(tracer.kill)
                until = time.monotonic() + 60
                while not (self.folder / "out/timeline.json").exists():
                    self.assertLess(time.monotonic(), until)
                    time.sleep(0.01)
                tracer.send_signal(each)
                self.assertEqual(tracer.wait(timeout=20), -each)

    def test_the_library_loads_anywhere(self):
        told = subprocess.run(["objdump", "-T", RECORDER], text=True, capture_output=True, check=True).stdout
        versions = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", told)}
        self.assertLessEqual(max(versions), (2, 34))
        exported = [line.split()[-1] for line in told.splitlines() if " g " in line and "*UND*" not in line]
        self.assertEqual(sorted(exported), sorted(["InitializeInjection", "InitializeInjectionNvtx2", *STANDS_BEFORE]))
        needed = re.findall(r"NEEDED +(\S+)", subprocess.run(["objdump", "-p", RECORDER], text=True, capture_output=True, check=True).stdout)
        self.assertFalse([name for name in needed if not re.match(r"lib(c|m|dl|pthread|gcc_s)\.|ld-linux", name)], needed)


if __name__ == "__main__":
    there = ", ".join(f"{major}.{minor}" for major, minor in sorted(pythons()))
    print(f"Pythons on this machine, whose stacks are read here: {there}", flush=True)
    unittest.main()
