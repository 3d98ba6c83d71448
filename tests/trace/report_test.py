#!/usr/bin/env python3
"""`tutti trace --read` on what was recorded on an H200 and on files that are no traces. usage: report_test.py COMMAND"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

COMMAND = os.path.abspath(sys.argv.pop(1))
HERE = pathlib.Path(__file__).resolve().parent


def expected_lines(victim):
    """{line: (times a step, class)} of a victim's comments."""
    found = {}
    for number, line in enumerate((HERE / "victims" / victim).read_text().splitlines(), 1):
        if match := re.search(r"waits: (\d+) ([\w -]+)$", line):
            found[number] = (int(match[1]), match[2])
    return found


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def read(self, *names):
        for name in names:
            shutil.copy(HERE / "recorded" / name, self.folder)
        return self.command("trace", "--read", self.folder)

    def command(self, *words):
        return subprocess.run([COMMAND, *words], text=True, capture_output=True, timeout=100)

    def report(self, *names):
        done = self.read(*names)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual(max(map(len, done.stderr.splitlines())), 80, done.stderr)
        self.text = done.stderr
        return json.loads((self.folder / "report.json").read_text())

    def test_every_wait_of_a_pytorch_program_is_at_its_line_with_its_class_and_nothing_else(self):
        report = self.report("torch_waits.tutti-trace")
        steps = report["steps"]["count"] + 1
        steady = {site["line"]: (site["waits"] / steps, site["class"]) for site in report["sites"] if site["waits"]}
        for line, (times, kind) in expected_lines("torch_waits.py").items():
            self.assertIn(line, steady)
            self.assertEqual(steady[line][1], kind, line)
            self.assertAlmostEqual(steady[line][0], times, delta=1.01 / steps, msg=line)
        self.assertEqual(set(steady), set(expected_lines("torch_waits.py")))

    def test_a_wait_names_the_rule_it_falls_under(self):
        if b"without lint" in subprocess.run([COMMAND, "lint", "--rules"], capture_output=True).stderr:
            self.skipTest("this tutti was built without lint")
        report = self.report("torch_waits.tutti-trace")
        rules = {site["line"]: site["rule"] for site in report["sites"] if site["waits"]}
        self.assertEqual(rules, {18: "item", 28: "blocking-copy", 32: "item", 35: "item", 36: "nonzero", 38: "synchronize",
                                 41: "item", 42: "item", 43: "to-cpu", 47: "synchronize", 50: "query-loop"})  # fmt: skip
        self.assertIn("rule: blocking-copy (tutti lint --explain blocking-copy)", self.text)

    def test_every_field_of_the_report_is_documented(self):
        report = self.report("training_before.tutti-trace")
        page = (HERE / "../../docs/trace.md").resolve().read_text()
        for name in [*report, *report["steps"], *report["gpu"], *report["processes"][0], *report["sites"][0]]:
            self.assertIn(name, page)

    def schema(self):
        """Of a report, and of a comparison; fields that it does not know are faults here."""
        whole = json.loads((HERE / "../../docs/trace-report.schema.json").resolve().read_text())

        def close(part):
            if isinstance(part, dict):
                if "properties" in part:
                    part["additionalProperties"] = False
                for each in part.values():
                    close(each)
            elif isinstance(part, list):
                for each in part:
                    close(each)

        close(whole)
        return whole, whole["$defs"]["comparison"] | {"$schema": whole["$schema"]}

    def test_reports_and_comparisons_are_as_their_schema_says(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not here")
        of_report, of_comparison = self.schema()
        for schema in (of_report, of_comparison):
            jsonschema.Draft202012Validator.check_schema(schema)
        for file in sorted((HERE / "recorded").glob("*.tutti-trace")):
            with self.subTest(trace=file.name):
                jsonschema.Draft202012Validator(of_report).validate(json.loads(self.page_and_report_of(file.name)[1]))
                done = self.command("trace", "--compare", self.folder, HERE / "recorded/training_after.tutti-trace", "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                jsonschema.Draft202012Validator(of_comparison).validate(json.loads(done.stdout))
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(of_report).validate({"tutti": "1"})

    def test_every_wait_of_a_cuda_program_is_found(self):
        report = self.report("cuda_waits.tutti-trace")
        steady = [site for site in report["sites"] if site["waits"]]
        by_api = {site["api"]: site for site in steady}
        for api in ("cuEventSynchronize", "cuCtxSynchronize_v2", "cuEventQuery", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2",
                    "cuMemcpyHtoDAsync_v2", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost"):  # fmt: skip
            self.assertEqual(round(by_api[api]["waits"] / (report["steps"]["count"] + 1)), 1, api)
        self.assertEqual(by_api["cuMemcpyHtoD_v2"]["class"], "pageable")
        self.assertEqual(by_api["cuMemAlloc_v2"]["class"], "flow control")

    def test_backward_threads_generators_and_compiled_code_have_their_lines(self):
        report = self.report("torch_threads.tutti-trace")
        lines = (HERE / "victims/torch_threads.py").read_text().splitlines()
        reads = {lines[site["line"] - 1].partition("# ")[2] for site in report["sites"] if "cuStreamSynchronize" in site["api"]}
        for comment in ("waits in backward", "waits in a generator", "waits in a thread", "waits in a comprehension",
                        "waits after compiled code", "native: the backward of a mask"):  # fmt: skip
            self.assertIn(comment, reads)
        self.assertTrue(any(site["on_other_thread"] for site in report["sites"]))

    def test_steps_of_a_jax_program_are_those_of_its_own_thread_and_compiling_is_warm_up(self):
        report = self.report("jax_waits.tutti-trace")
        steps = report["steps"]["count"] + 1
        self.assertEqual(steps + report["steps"]["warm_up"], 23)
        self.assertEqual(report["sites"][report["steps"]["site"]]["line"], min(expected_lines("jax_waits.py")))
        steady = {site["line"]: (site["waits"] / steps, site["class"]) for site in report["sites"]
                  if site["waits"] and site["file"].endswith("jax_waits.py")}  # fmt: skip
        self.assertEqual(steady, expected_lines("jax_waits.py"))
        of_workers = [site for site in report["sites"] if site["on_other_thread"]]
        self.assertGreater(sum(site["warm_up_waits"] for site in of_workers), 100)
        self.assertEqual([site for site in of_workers if site["waits"]], [])
        self.assertGreater(report["host_callbacks"], 0)

    def test_a_loop_and_its_repair_are_compared(self):
        for name in ("before", "after"):
            (self.folder / name).mkdir()
            shutil.copy(HERE / f"recorded/training_{name}.tutti-trace", self.folder / name)
        done = self.command("trace", "--compare", self.folder / "before", self.folder / "after")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80, done.stdout)
        self.assertRegex(done.stdout, r"A step took [\d.]+ ms \(.*\) and takes [\d.]+ (ms|us)")
        gone = [line for line in done.stdout.splitlines() if line.startswith("gone ")]
        self.assertEqual(len(gone), 5, done.stdout)
        told = " ".join(done.stdout.split())
        self.assertIn("The gain is 590.0 us; predicted was at least", told)
        self.assertIn("The host is the limit here (GPU busy 4 % of a step)", told)
        self.assertNotRegex(told, r"\d{3,} %")
        back = " ".join(self.command("trace", "--compare", self.folder / "after", self.folder / "before").stdout.split())
        self.assertIn("A step takes 590.0 us longer", back)

    def test_a_budget_and_a_baseline_are_kept_or_passed(self):
        (self.folder / "before").mkdir()
        shutil.copy(HERE / "recorded/training_before.tutti-trace", self.folder / "before")
        read = ("trace", "--read", self.folder / "before")
        self.assertEqual(self.command(*read, "--budget", "6").returncode, 0)
        done = self.command(*read, "--budget", "4")
        self.assertEqual(done.returncode, 3)
        self.assertIn("too many waits: 5.1 waits a step; the budget is 4", done.stderr)
        baseline = self.folder / "before/report.json"
        self.assertEqual(self.command(*read, "--baseline", baseline).returncode, 0)
        report = json.loads(baseline.read_text())
        kept = [site for site in report["sites"] if "isfinite" not in (site["source"] or "")]
        fewer = self.folder / "fewer.json"
        fewer.write_text(json.dumps(report | {"sites": kept}))
        done = self.command(*read, "--baseline", fewer)
        self.assertEqual(done.returncode, 3)
        self.assertIn("torch_training.py:35: 1 waits a step, in the baseline 0", done.stderr)
        fewer.write_text("[]")
        done = self.command(*read, "--baseline", fewer)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is no baseline", done.stderr)
        self.assertNotIn("json.exception", done.stderr)
        done = self.command(*read, "--baseline", self.folder / "before")
        self.assertEqual(done.returncode, 1)
        said = " ".join(done.stderr.split())
        self.assertTrue(said.startswith("tutti: error: the baseline"), "before the report, and instead of it")
        self.assertIn(f"is a folder; did you mean '{baseline}'?", said)
        self.assertEqual(self.command(*read, "--budget", "many").returncode, 2)

    def test_ranks_of_one_program_are_counted_by_their_own_steps(self):
        folder = self.folder / "ranks"
        folder.mkdir()
        for rank in range(2):
            shutil.copy(HERE / "recorded/training_before.tutti-trace", folder / f"{rank}.tutti-trace")
        one = self.report("training_before.tutti-trace")
        read = ("trace", "--read", folder)
        done = self.command(*read, "--budget", "6")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("in 2 of 2 processes", done.stderr)
        done = self.command(*read, "--budget", "4")
        self.assertIn("5.1 waits a step of process 530; the budget is 4", done.stderr)
        two = json.loads((folder / "report.json").read_text())
        for site, alone in zip(two["sites"], one["sites"], strict=True):
            self.assertEqual(site["per_step"], alone["per_step"])
            self.assertEqual(site["waits"], 2 * alone["waits"])
            for share in site["by_process"]:
                self.assertEqual([share[name] for name in ("waits", "idle_ns", "gain_ns")],
                                 [alone[name] for name in ("waits", "idle_ns", "gain_ns")])  # fmt: skip
        self.assertEqual(two["gpu"]["gain_ns"], 2 * one["gpu"]["gain_ns"])
        self.assertEqual([process["steps"]["count"] for process in two["processes"]], 2 * [one["steps"]["count"]])
        (self.folder / "out").mkdir()
        for whole, other in ((folder, self.folder), (self.folder, folder)):
            done = self.command("trace", "--compare", whole, other)
            self.assertEqual({line.split()[0] for line in done.stdout.splitlines() if "->" in line}, {"same"}, done.stdout)
        self.assertEqual(self.command(*read, "--baseline", self.folder / "report.json").returncode, 0)

    def test_what_waits_cost_the_gpu_is_told(self):
        report = self.report("training_before.tutti-trace")
        gpu = report["gpu"]
        self.assertLess(abs(gpu["simulated_ns"] - gpu["time_ns"]), 0.05 * gpu["time_ns"])
        self.assertGreater(gpu["gain_ns"], 0)
        self.assertLess(abs(gpu["simulated_ns"] - gpu["time_ns"]), 0.005 * gpu["time_ns"], "staging is the host's time")
        steady = sum(site["time_ns"] for site in report["sites"])
        self.assertGreater(gpu["gain_ns"], 0.7 * steady, "a host that is the limit gains what it does not wait")
        self.assertIn("The GPU was busy for", self.text)
        self.assertIn("The host is the limit here: GPU busy 4 % of a step", " ".join(self.text.split()))
        self.assertTrue(all(site["idle_ns"] <= site["time_ns"] for site in report["sites"]))
        self.assertLessEqual(sum(site["idle_ns"] for site in report["sites"]), gpu["time_ns"] - gpu["busy_ns"])

    def test_the_timeline_has_every_wait_on_the_track_of_its_thread(self):
        report = self.report("torch_waits.tutti-trace")
        events = json.loads((self.folder / "timeline.json").read_text())["traceEvents"]
        spans = [event for event in events if event["ph"] == "X" and "class" in event["args"]]
        self.assertEqual(len(spans), sum(site["waits"] + site["warm_up_waits"] for site in report["sites"]))
        self.assertTrue(any("loss.item()" in event["args"]["line"] for event in spans))
        by_track = {}
        for event in sorted(spans, key=lambda event: event["ts"]):
            self.assertEqual(event["args"]["thread"], event["tid"])
            self.assertGreaterEqual(event["ts"], by_track.get(event["tid"], 0))
            by_track[event["tid"]] = event["ts"] + event["dur"] - 0.001

    def test_the_page_has_every_site_and_ties_waits_to_the_work_they_waited_for(self):
        report = self.report("training_before.tutti-trace")
        page = (self.folder / "report.html").read_text()
        shown = json.loads(page.split('<script type="application/json" id="report">')[1].split("</script>")[0])
        for site, told in zip(shown["sites"], report["sites"], strict=True):
            self.assertIn(told["file"], site["site"])
        self.assertEqual([site["source"] for site in shown["sites"]], [site["source"] for site in report["sites"]])
        lanes = shown["timeline"]["lanes"]
        names = shown["timeline"]["names"]
        tied = 0
        for lane in lanes:
            for bar, other, work in lane["bars"]["waited_for"]:
                tied += 1
                self.assertEqual((lanes[other]["kind"], names[lanes[other]["bars"]["what"][work]]), ("stream", "run"))
                end = lane["bars"]["begin_ns"][bar] + lane["bars"]["length_ns"][bar]
                self.assertLessEqual(lanes[other]["bars"]["begin_ns"][work] + lanes[other]["bars"]["length_ns"][work], end)
        self.assertGreater(tied, 50)
        self.assertIsNone(json.loads(self.page_and_report_of("torch_waits.tutti-trace")[0])["demand"]["device_idle_ns"], "nothing was recorded of the GPU")

    def page_and_report_of(self, name):
        for old in self.folder.iterdir():
            old.unlink()
        self.report(name)
        page = (self.folder / "report.html").read_text().split('<script type="application/json" id="report">')[1].split("</script>")[0]
        return page, (self.folder / "report.json").read_text()

    def test_what_is_no_trace_is_refused_in_a_sentence(self):
        for name, content, expected in (
            ("a.tutti-trace", b"", "is no trace"),
            ("b.tutti-trace", os.urandom(5000), "is no trace"),
            ("c.tutti-trace", b"tuttitr\n\2\0\0\0\20\0\0\0", "is a trace of version 2; this tutti reads version 1"),
        ):
            for old in self.folder.iterdir():
                old.unlink()
            (self.folder / name).write_bytes(content)
            done = self.command("trace", "--read", self.folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn(expected, " ".join(done.stderr.split()))
        done = self.command("trace", "--read", "nope")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no trace in 'nope'", done.stderr)
        self.assertLessEqual(max(map(len, done.stderr.splitlines())), 80, done.stderr)
        huge = self.folder / "d.tutti-trace"
        with open(huge, "wb") as file:
            file.truncate(1 << 40)
        self.assertIn("no recorder writes 1 TiB", " ".join(self.command("trace", "--read", huge).stderr.split()))

    def test_a_trace_that_breaks_off_is_reported_up_to_there(self):
        whole = (HERE / "recorded/torch_waits.tutti-trace").read_bytes()
        (self.folder / "cut.tutti-trace").write_bytes(whole[: len(whole) * 2 // 3])
        done = self.command("trace", "--read", self.folder)
        self.assertEqual(done.returncode, 0)
        self.assertIn("it breaks off in the record at byte", " ".join(done.stderr.split()))
        self.assertIn("it was killed, or still runs", " ".join(done.stderr.split()))

    def test_a_file_that_is_no_trace_costs_the_others_nothing(self):
        alone = self.report("torch_waits.tutti-trace")
        self.assertEqual(alone["unread"], [])
        (self.folder / "1-0.tutti-trace").touch()
        (self.folder / "2-0.tutti-trace").write_bytes(b"tuttitr\n\2\0\0\0\20\0\0\0")
        (self.folder / "3-0.tutti-trace").mkdir()
        os.mkfifo(self.folder / "4-0.tutti-trace")
        report = self.report()
        self.assertEqual(report["sites"], alone["sites"])
        self.assertEqual(report["processes"], alone["processes"])
        said = " ".join(self.text.split())
        for number, why in enumerate(("is no trace", "is a trace of version 2", "cannot be read", "cannot be read")):
            self.assertIn(f"{number + 1}-0.tutti-trace' {why}", report["unread"][number])
            self.assertIn(f"{number + 1}-0.tutti-trace' {why}", said)
        done = self.command("trace", "--read", self.folder, "--budget", "1000")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--budget: nothing was judged: 4 files of the trace could not be read", " ".join(done.stderr.split()))

    def test_a_trace_that_is_cut_off_is_not_judged(self):
        file = self.folder / "a.tutti-trace"
        whole = (HERE / "recorded/training_before.tutti-trace").read_bytes()
        baseline = self.folder / "baseline.json"
        baseline.write_text('{"steps": null, "sites": []}')
        for length in (2000, len(whole) - 40):
            file.write_bytes(whole[:length])
            for gate in (("--budget", "0"), ("--budget", "1000"), ("--baseline", baseline)):
                with self.subTest(length=length, gate=gate):
                    done = self.command("trace", "--read", self.folder, *gate)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn(f"{gate[0]}: nothing was judged of process 530: its trace is incomplete", " ".join(done.stderr.split()))
                    self.assertNotIn("too many waits", done.stderr)

    def test_a_trace_of_a_program_that_was_killed_has_all_its_waits_and_is_judged(self):
        whole = (HERE / "recorded/training_before.tutti-trace").read_bytes()
        (self.folder / "a.tutti-trace").write_bytes(whole[:-36])  # without the record of its end
        for budget, status in (("4", 3), ("6", 0)):
            done = self.command("trace", "--read", self.folder, "--budget", budget)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn("it was killed", done.stderr)

    def test_a_baseline_of_totals_does_not_judge_waits_a_step(self):
        report = self.report("training_before.tutti-trace")
        totals = self.folder / "totals.json"
        totals.write_text(json.dumps(report | {"steps": None}))
        read = ("trace", "--read", self.folder)
        done = self.command(*read, "--baseline", totals)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("--baseline: nothing was judged by it: its run had no steps", " ".join(done.stderr.split()))
        self.assertEqual(self.command(*read, "--baseline", totals, "--budget", "4").returncode, 3)
        totals.write_text(json.dumps(report | {"steps": None, "sites": []}))
        self.assertEqual(self.command(*read, "--baseline", totals).returncode, 3, "no wait is none a step")

    def test_an_output_that_takes_nothing_is_a_failure(self):
        recorded = [HERE / f"recorded/training_{name}.tutti-trace" for name in ("before", "after")]
        for words in ((), ("--json",)):
            with open("/dev/full", "w") as full:
                done = subprocess.run([COMMAND, "trace", "--compare", *recorded, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=100)
            self.assertEqual(done.returncode, 1)
            self.assertIn("the output could not be written", done.stderr)

    def test_mistakes_on_the_command_line_are_told(self):
        done = self.command("trace")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no program to trace was given", done.stderr)
        done = self.command("trace", "--raed", "x", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean '--read'?", done.stderr)
        for words in (("--read", "x", "--", "true"), ("--read", "x", "-o", "y"), ("--read", "x", "--gpu"), ("--compare", "x", "y", "--gpu"),
                      ("--compare", "x", "y", "--budget", "3"), ("--read", "x", "--json"), ("--json", "--", "true"), ("--compare", "x", "y", "--baseline", "z"),
                      ("--compare", "x", "y", "--", "true")):  # fmt: skip
            done = self.command("trace", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("Try 'tutti trace --help'.", done.stderr)


if __name__ == "__main__":
    unittest.main()
