#!/usr/bin/env python3
"""However a program ends, its report and its trace are there, and as a whole. usage: ending_test.py COMMAND PROGRAM"""

import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

COMMAND, PROGRAM = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
EVERY_FORM = {"TUTTI_SYNC": "report", "TUTTI_SYNC_REPORT": "json:report.json", "TUTTI_TRACE": "trace.json"}


class Ending(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, how, command=(), before=None, **settings):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")} | {"TUTTI_SIM_GPUS": "1"} | settings
        process = subprocess.Popen([*command, PROGRAM, how], env=environment, cwd=self.folder, text=True, preexec_fn=before,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def end(self, process, *signals):
        """Once it is ready; returns the exit status and what it wrote to stderr."""
        if signals:
            self.assertEqual(process.stdout.readline(), "ready\n")
        for each in signals:
            process.send_signal(each)
        _, told = process.communicate(timeout=60)
        return process.returncode, told

    def assert_report(self, told, syncs=1):
        self.assertEqual(told.count("Syncs of the host"), 1, told)
        self.assertRegex(told, r"\n    demand +\d sites? +%d " % syncs)

    def assert_files(self, syncs=1):
        self.assertEqual(json.loads((self.folder / "report.json").read_text())["demand"]["calls"], syncs)
        self.assertIn("traceEvents", json.loads((self.folder / "trace.json").read_text()))
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["report.json", "trace.json"])


class Exceptions(Ending):
    def test_that_nobody_catches_leave_a_report_and_abort_as_usual(self):
        for how in ("throw", "throw in a thread"):
            status, told = self.end(self.start(how, **EVERY_FORM))
            self.assertEqual(status, -signal.SIGABRT)
            self.assert_report(told)
            self.assert_files()
            self.assertRegex(told, r"terminate called after throwing[^\n]*\n +what\(\): +nobody catches this\n\Z")

    def test_of_a_forbidden_sync_leave_a_report_that_names_the_line_and_a_fix(self):
        status, told = self.end(self.start("throw", command=(COMMAND, "run", "--sync", "error", "--")))
        self.assertEqual(status, -signal.SIGABRT)
        self.assertIn("what():  a value read of what sum made would block the host here", told)
        self.assertRegex(told, r"tests/tools/ending.cc:\d+")
        self.assertIn("refused 1 time, never let through", told)
        self.assertIn("read_async()", told.split("terminate called")[0])

    def test_go_to_the_programs_own_handler_if_it_has_one(self):
        status, told = self.end(self.start("throw to a handler", **EVERY_FORM))
        self.assertEqual((status, told), (11, ""))


class Signals(Ending):
    def test_leave_a_report_and_end_the_program_as_usual(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            status, told = self.end(self.start("wait", **EVERY_FORM), number)
            self.assertEqual(status, -number, told)
            self.assert_report(told)
            self.assert_files()

    def test_are_what_a_shell_sees_through_the_command(self):
        process = self.start("wait", command=("sh", "-c", '"$@"; echo "status $?" >&2', "sh", COMMAND, "run", "--"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        (child,) = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGINT)
        _, told = process.communicate(timeout=60)
        self.assert_report(told)
        self.assertIn("status 130\n", told)

    def test_end_a_sync_that_would_wait_for_ever_and_the_report_says_that_it_waits(self):
        status, told = self.end(self.start("sync", **EVERY_FORM), signal.SIGINT)
        self.assertEqual(status, -signal.SIGINT, told)
        self.assert_report(told, syncs=2)
        self.assertRegex(told, r"\s1\s+still\s+waiting\n")
        (site,) = [site for site in json.loads((self.folder / "report.json").read_text())["sites"] if site["waiting"] > 0]
        self.assertEqual((site["reason"], site["calls"], site["blocked"], site["waiting"]), ("tensor sync", 1, 0, 1))

    def test_that_come_twice_at_once_are_one(self):
        status, told = self.end(self.start("wait", **EVERY_FORM), *[signal.SIGTERM, signal.SIGINT] * 3)
        self.assertIn(status, (-signal.SIGTERM, -signal.SIGINT))
        self.assert_report(told)
        self.assert_files()

    def test_end_a_program_that_they_interrupt_and_that_would_then_exit(self):
        status, told = self.end(self.start("go on when interrupted", **EVERY_FORM), signal.SIGINT)
        self.assertEqual(status, -signal.SIGINT, told)
        self.assert_report(told)
        self.assert_files()

    def test_are_the_programs_own_if_it_handles_them(self):
        status, told = self.end(self.start("handle", **EVERY_FORM), signal.SIGINT)
        self.assertEqual(status, 12, told)
        self.assert_report(told)
        self.assert_files()

    def test_that_were_ignored_from_the_start_stay_so(self):
        process = self.start("wait", before=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN), **EVERY_FORM)
        status, told = self.end(process, signal.SIGINT, signal.SIGTERM)
        self.assertEqual(status, -signal.SIGTERM)
        self.assert_report(told)

    def test_of_a_forked_child_end_the_child_alone(self):
        status, told = self.end(self.start("fork", **EVERY_FORM))
        self.assertEqual(status, 13, told)
        self.assert_report(told)
        self.assert_files()

    def test_end_a_program_without_a_report_as_ever(self):
        status, told = self.end(self.start("wait"), signal.SIGINT)
        self.assertEqual((status, told), (-signal.SIGINT, ""))


class Files(Ending):
    def test_of_a_process_that_is_killed_while_it_writes_are_the_old_ones(self):
        for variable, name in (("TUTTI_SYNC_REPORT", "html:page.html"), ("TUTTI_TRACE", "page.html")):
            (self.folder / "page.html").write_text("before")
            limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
            status, told = self.end(self.start("exit", before=limit, **{variable: name}))
            self.assertEqual(status, -signal.SIGXFSZ, told)
            self.assertEqual((self.folder / "page.html").read_text(), "before")

    def test_that_do_not_fit_leave_nothing_behind(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

        for variable, name in (("TUTTI_SYNC_REPORT", "html:page.html"), ("TUTTI_TRACE", "page.html")):
            status, told = self.end(self.start("exit", before=limit, **{variable: name}))
            self.assertEqual(status, 0)
            self.assertRegex(told, r"\Atutti: error: the (sync report|trace) cannot be written to '.*page.html': File too large; ")
            self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
