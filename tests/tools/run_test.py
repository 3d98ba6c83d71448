#!/usr/bin/env python3
"""`tutti run` and the environment behind it, on a program that knows nothing of them. usage: run_test.py COMMAND PROGRAM"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

COMMAND, PROGRAM = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
RESULT = "total 192, largest 0.015625\n"  # of three steps


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def call(self, *words, **settings):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")} | {"TUTTI_SIM_GPUS": "1"} | settings
        return subprocess.run(words, env=environment, cwd=self.folder, text=True, capture_output=True, timeout=120)

    def run_program(self, *options, steps="3", status="0", **settings):
        return self.call(COMMAND, "run", *options, "--", PROGRAM, steps, status, **settings)

    def assert_text(self, text):
        self.assertTrue(text.startswith("Syncs of the host"), text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        self.assertRegex(text, r"value read +control flow +3 +\d ")
        self.assertIn("tests/tools/training.cc:", text)
        self.assertRegex(text, r"\n    demand +5 sites +11 ")

    def assert_json(self, path):
        report = json.loads(path.read_text())
        self.assertEqual(report["program"], "training")
        self.assertEqual(report["demand"]["calls"], 3 * 3 + 1 + 1)
        self.assertEqual(sum(site["calls"] for site in report["sites"] if site["demand"]), report["demand"]["calls"])
        return report


class Command(Run):
    def test_prints_the_text_to_stderr_and_leaves_the_programs_output_alone(self):
        done = self.run_program()
        self.assertEqual((done.returncode, done.stdout), (0, RESULT))
        self.assert_text(done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_writes_each_form_where_it_is_told(self):
        self.assertEqual(self.run_program("--output", "report.txt").stdout, RESULT)
        self.assert_text((self.folder / "report.txt").read_text())
        self.run_program("--sync-report", "json", "--output", "report.json")
        self.assertIsNone(self.assert_json(self.folder / "report.json")["timeline"])
        done = self.run_program("--sync-report=html", "--output=a:b.html")
        self.assertEqual(done.stderr, f"tutti: the sync report is in {self.folder}/a:b.html\n")
        self.assertIn("</html>", (self.folder / "a:b.html").read_text())

    def test_json_and_html_have_a_usual_place(self):
        self.run_program("--sync-report", "json")
        self.run_program("--sync-report", "html")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["tutti-sync.html", "tutti-sync.json"])

    def test_the_exit_status_is_the_programs(self):
        done = self.run_program(status="3")
        self.assertEqual((done.returncode, done.stdout), (3, RESULT))
        self.assert_text(done.stderr)

    def test_sync_error_and_warn_are_the_programs_modes(self):
        done = self.run_program("--sync", "error")
        self.assertEqual((done.returncode, done.stdout), (9, ""))
        self.assertIn("which TUTTI_SYNC=error forbids", done.stderr)
        self.assertIn("refused 1 time, never let through", done.stderr)
        done = self.run_program("--sync", "warn")
        self.assertEqual(done.returncode, 0)
        self.assertIn("a value read of what sum made blocks the host at", done.stderr)
        self.assertIn("Syncs of the host", done.stderr)

    def test_a_program_that_is_not_linked_with_tutti_runs_as_ever(self):
        done = self.call(COMMAND, "run", "--", "sh", "-c", 'echo "$0 $TUTTI_SYNC_REPORT"; exit 7', "--sync")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "--sync text\n", ""))

    def test_a_program_that_does_not_exist_is_named(self):
        done = self.call(COMMAND, "run", "--", "nowhere-to-be-found")
        self.assertEqual((done.returncode, done.stdout), (127, ""))
        self.assertIn("tutti: error: the program 'nowhere-to-be-found' was not found in PATH", done.stderr)
        self.assertEqual(self.call(COMMAND, "run", "--", "./nowhere").returncode, 127)
        done = self.call(COMMAND, "run", "--", str(self.folder))
        self.assertEqual(done.returncode, 126)
        self.assertIn("cannot be run: it is a folder", done.stderr)

    def test_no_program_prints_the_usage(self):
        for words in (["run"], ["run", "--"], ["run", "--sync", "error"]):
            done = self.call(COMMAND, *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("tutti: error: no program to run was given\n", done.stderr)
            self.assertIn("Usage: tutti run", done.stderr)
            self.assertIn("Example:\n  tutti run --sync-report html", done.stderr)

    def test_mistakes_are_refused_before_anything_runs(self):
        for words, told in (
            (["--sync-report", "xml"], "xml"),
            (["--sync", "perhaps"], "perhaps"),
            (["--sync-reprot", "json"], "did you mean '--sync-report'?"),
        ):
            done = self.call(COMMAND, "run", *words, "--", "sh", "-c", "echo ran")
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(told, done.stderr)


class Environment(Run):
    def test_sync_report_is_the_text_at_exit(self):
        done = self.call(PROGRAM, "3", TUTTI_SYNC="report")
        self.assertEqual(done.stdout, RESULT)
        self.assert_text(done.stderr)

    def test_two_forms_can_be_had_at_once(self):
        done = self.call(PROGRAM, "3", TUTTI_SYNC="report", TUTTI_SYNC_REPORT="json:report.json")
        self.assert_json(self.folder / "report.json")
        self.assertIn("Syncs of the host", done.stderr)
        done = self.call(PROGRAM, "3", TUTTI_SYNC="report", TUTTI_SYNC_REPORT="text")
        self.assertEqual(done.stderr.count("Syncs of the host"), 1)

    def test_a_trace_and_a_page_have_the_same_recording(self):
        self.call(PROGRAM, "3", TUTTI_TRACE="trace.json", TUTTI_SYNC_REPORT="json")
        timeline = self.assert_json(self.folder / "tutti-sync.json")["timeline"]
        trace = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        bars = sum(len(lane["bars"]["begin_ns"]) for lane in timeline["lanes"])
        drawn = [event for event in trace if event.get("cat") in ("run", "enqueue", "sync", "throttle", "scope")]
        self.assertEqual(bars, len(drawn))
        self.assertIn("main", [lane["name"] for lane in timeline["lanes"]])

    def test_a_file_that_cannot_be_written_is_reported_and_the_program_ends_as_it_would(self):
        for path in ("no/such/folder/page.html", "/dev/full"):
            done = self.call(PROGRAM, "3", "5", TUTTI_SYNC_REPORT=f"html:{path}")
            self.assertEqual((done.returncode, done.stdout), (5, RESULT))
            self.assertRegex(done.stderr, rf"\Atutti: error: the sync report cannot be written to '.*{path}': .*\n\Z")

    def test_what_the_process_has_open_is_written_to_as_it_is(self):
        done = self.call("sh", "-c", '"$0" 3 2>all.txt', PROGRAM, TUTTI_SYNC_REPORT="json:/dev/stderr", TUTTI_TRACE="/dev/stdout")
        self.assertIn('"sites":[', (self.folder / "all.txt").read_text())
        self.assertIn('"traceEvents":[', done.stdout)

    def test_stacks_name_who_called_and_are_left_out_unless_asked_for(self):
        def stacks(**settings):
            self.call(PROGRAM, "3", TUTTI_SYNC_REPORT="json:report.json", **settings)
            report = self.assert_json(self.folder / "report.json")
            return report, [site["stack"] for site in report["sites"] if "training.cc" in site["site"]]

        report, found = stacks(TUTTI_SYNC_STACKS="1")
        self.assertIsNone(report["about_stacks"], "libdw-dev was there when tutti was built")
        self.assertTrue(all(found), "a site without a stack")
        self.assertLessEqual(max(map(len, found)), 48)
        named = [[frame["function"] for frame in stack if frame["function"]] for stack in found]
        inside_main = [stack for stack in named if "main" in stack]
        self.assertTrue(inside_main, named)
        for stack in inside_main:
            self.assertTrue(any("tutti::" in name for name in stack), stack)
        lines = [(os.path.basename(frame["file"]), frame["line"]) for stack in found for frame in stack if frame["function"] == "main"]
        source = (pathlib.Path(__file__).parent / "training.cc").read_text().splitlines()
        self.assertEqual({source[line - 1].strip() for name, line in lines if name == "training.cc"},
                         {"train(argc > 1 ? std::atoi(argv[1]) : 10);"})
        self.assertFalse(any(stacks()[1]))

        text = self.call(PROGRAM, "3", TUTTI_SYNC="report", TUTTI_SYNC_STACKS="1").stderr
        self.assert_text(text)
        self.assertRegex(text, r"\n    (blocked longest, .*|called) from:\n      ")
        self.assertIn("\n      main", text)
        self.assertIn("TUTTI_SYNC_STACKS", self.call(PROGRAM, "3", TUTTI_SYNC_STACKS="perhaps").stderr)

    def test_a_name_that_tutti_does_not_know_is_told_once_with_the_nearest_one(self):
        told = self.call(COMMAND, "run", "--", PROGRAM, "3", TUTTI_SIM_GPU="4", TUTTI_TEST_ANYTHING="1", TUTTI_SYNC_STACKS="0",
                         TUTTI_CUDA="ON").stderr  # what was said to make stays in a shell
        self.assertEqual(
            [line for line in told.splitlines() if "TUTTI_" in line],
            ["tutti: warning: TUTTI_SIM_GPU is not a variable of tutti's and is ignored; the nearest one is TUTTI_SIM_GPUS"],
        )
        for typed, meant in (("TUTTI_TRACEE", "TUTTI_TRACE"), ("TUTTI_REPORT", "TUTTI_LEAK_REPORT"), ("TUTTI_SYNC_REPROT", "TUTTI_SYNC_REPORT")):
            told = self.call(COMMAND, "devices", **{typed: "x"}).stderr
            self.assertIn(f"{typed} is not a variable of tutti's and is ignored; the nearest one is {meant}\n", told)

    def test_a_form_that_does_not_exist_is_reported(self):
        done = self.call(PROGRAM, "3", TUTTI_SYNC_REPORT="pdf")
        self.assertEqual((done.returncode, done.stdout), (0, RESULT))
        self.assertIn("TUTTI_SYNC_REPORT='pdf' is ignored: text, json or html", done.stderr)


if __name__ == "__main__":
    unittest.main()
