#!/usr/bin/env python3
"""`tutti barrier` in scripts, under every launcher. usage: barrier_test.py COMMAND MESH_MATMUL WHO_IS_MISSING"""

import json
import os
import re
import signal
import socket
import sys
import time
import unittest

import captured_launchers
from rank_scripts import PATIENCE, InFolder, wait_until

COMMAND = os.path.abspath(sys.argv.pop(1))
PROGRAM = os.path.abspath(sys.argv.pop(1))
WHO_IS_MISSING = os.path.abspath(sys.argv.pop(1))
SECRET = "7b1f60c29ad8e354"
FILES = {"TUTTI_TRACE": "trace.json", "TUTTI_SYNC_REPORT": "json:sync.json"}


def free_ports():
    """Two neighbours that nobody listens at: torchrun's own and the one after it."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


class Barrier(InFolder):
    def launch(self, ranks, script, **settings):
        return self.call(COMMAND, "launch", "-n", ranks, "--", "sh", "-c", script, **({"TUTTI": COMMAND} | settings))

    def start_ranks(self, script, environments, **settings):
        return [self.start("sh", "-c", script, **({"TUTTI": COMMAND} | e | settings)) for e in environments]

    def results(self, processes):
        done = [process.communicate(timeout=PATIENCE) for process in processes]
        return [(process.returncode, *texts) for process, texts in zip(processes, done)]


    def assert_files_of_two_ranks(self, name):
        lanes = set()
        for rank in range(2):
            trace = json.loads((self.folder / f"trace.rank{rank}.json").read_text())["traceEvents"]
            named = {entry["args"]["name"]: entry["pid"] for entry in trace if entry["name"] == "process_name"}
            self.assertEqual(set(named), {f"rank {rank} host", f"rank {rank} devices"}, name)
            lanes |= set(named.values())
            self.assertTrue(any(entry["name"].startswith("roll call") for entry in trace), name)
            report = json.loads((self.folder / f"sync.rank{rank}.json").read_text())
            self.assertIn("joining the job", {site["reason"] for site in report["sites"]}, name)
        self.assertEqual(len(lanes), 4, f"{name}: lanes of one rank are not another's")
        written = list(self.folder.glob("*.json"))
        self.assertEqual(len(written), 4, (name, written))
        for path in written:
            path.unlink()


class UnderLaunch(Barrier):
    def test_nobody_goes_on_before_the_last_has_come(self):
        script = (
            'for turn in 1 2 3; do : > "came-$turn-$TUTTI_RANK"; "$TUTTI" barrier --name "turn $turn" --timeout 60s || exit 9; '
            "set -- came-$turn-*; echo $turn $#; done"
        )
        status, output, errors = self.launch(4, script)
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(sorted(output.splitlines()), sorted(f"[{r}] {turn} 4" for r in range(4) for turn in (1, 2, 3)))

    def test_who_did_not_come_is_in_the_report_of_everyone_who_did(self):
        script = 'test $TUTTI_RANK = 1 || { "$TUTTI" barrier --name prepared --timeout 300ms; echo "status $?"; }'
        began = time.monotonic()
        status, output, errors = self.launch(3, script)
        self.assertEqual((status, sorted(output.splitlines())), (0, ["[0] status 1", "[2] status 1"]))
        self.assertGreater(time.monotonic() - began, 0.3)
        for rank in "02":
            report = "\n".join(line[4:] for line in errors.splitlines() if line.startswith(f"[{rank}]"))
            self.assertIn("tutti: error: ", report)
            self.assertIn("barrier 'prepared'", report)
            self.assertIn("rank 1", report)
            self.assertNotRegex(report, r"rank [02]\b.*never")
            self.assertIn("never connected", report)

    def test_a_barrier_that_failed_can_be_tried_again(self):
        script = (
            'if test $TUTTI_RANK = 1; then while ! test -e failed; do sleep 0.01; done; "$TUTTI" barrier --timeout 60s; '
            'else "$TUTTI" barrier --timeout 100ms 2>/dev/null && exit 8; : > failed; "$TUTTI" barrier --timeout 60s; fi'
        )
        self.assertEqual(self.launch(2, script), (0, "", ""))

    def test_different_names_at_the_same_time_are_an_error_that_prints_both(self):
        status, _, errors = self.launch(2, '"$TUTTI" barrier --name "name $TUTTI_RANK" --timeout 60s; test $? = 1')
        self.assertEqual(status, 0)
        for rank in "01":
            report = "\n".join(line for line in errors.splitlines() if line.startswith(f"[{rank}]"))
            self.assertIn("rank 0: barrier 'name 0'", report)
            self.assertIn("rank 1: barrier 'name 1'", report)

    def test_a_script_may_come_back_after_a_pause_longer_than_any_coordinators_patience(self):
        # Longer than a coordinator lingers by itself.
        script = '"$TUTTI" barrier --timeout 60s && sleep 2.5 && "$TUTTI" barrier --timeout 60s'
        self.assertEqual(self.launch(2, script), (0, "", ""))

    def test_ranks_of_several_hosts_meet(self):
        shell = self.folder / "shell"
        shell.write_text('#!/bin/sh\nshift\nexec env -i PATH="$PATH" sh -c "$*"\n')
        shell.chmod(0o755)
        words = (COMMAND, "launch", "-n", "4", "--hosts", "localhost,127.0.0.1", "--", COMMAND, "barrier", "--timeout", "60s")
        self.assertEqual(self.call(*words, TUTTI_RSH=shell), (0, "", ""))

    def test_hundreds_of_meetings_in_scripts_follow_each_other(self):
        turns = 20
        script = f'i=0; while test $i -lt {turns}; do "$TUTTI" barrier --timeout 60s || exit 9; i=$((i + 1)); done'
        self.assertEqual(self.launch(4, script), (0, "", ""))

    @unittest.skipIf({"ASAN_OPTIONS", "TSAN_OPTIONS"} & set(os.environ), "half a second is short for a sanitizer")
    def test_every_survivor_is_heard_when_a_rank_dies(self):
        for turn in range(10):  # who is faster, the survivor or the launcher, is a matter of chance
            status, output, errors = self.call(COMMAND, "launch", "-n", "4", "--", WHO_IS_MISSING, "dies")
            self.assertEqual(status, 128 + signal.SIGKILL, errors)
            told = [line[:3] for line in output.splitlines() if re.search(r"rank 1 \(\S+, pid \d+\): died", line)]
            self.assertEqual(sorted(told), ["[0]", "[2]", "[3]"], (turn, output, errors))

    def test_a_limit_of_files_ends_nobody(self):
        # Shared memory counts as a file; without it ranks meet at the coordinator and at sockets.
        words = f'ulimit -f 1; exec "{COMMAND}" launch -n 2 -- "{PROGRAM}"'
        status, output, errors = self.call("sh", "-c", words)
        self.assertEqual((status, output.count("as expected")), (0, 3), errors)

    def test_each_rank_writes_a_trace_and_a_report_of_its_own(self):
        status, _, errors = self.call(COMMAND, "launch", "-n", "2", "--", PROGRAM, **FILES)
        self.assertEqual(status, 0, errors)
        self.assert_files_of_two_ranks("tutti launch")


class UnderOthers(Barrier):
    def launchers(self, world):
        """Each with a folder of its own for the job's file: here all of them are the same process, and real ones are not."""
        folder = self.runtime
        for i, (name, environments) in enumerate(captured_launchers.environments(world, free_ports)):
            self.runtime = folder / str(i)
            self.runtime.mkdir(mode=0o700, exist_ok=True)
            yield name, environments
        self.runtime = folder

    def assert_nothing_left(self):
        wait_until(lambda: not list(self.runtime.rglob("tutti-*")), "the coordinator has ended and taken the job's file away")

    def test_ranks_of_every_launcher_meet_on_one_host_without_being_told_more(self):
        script = 'for turn in 1 2; do "$TUTTI" barrier --name $turn --timeout 60s || exit 9; done'
        for name, environments in self.launchers(3):
            # Rank 0, which starts the coordinator, comes last or first.
            self.assertEqual(self.results(self.start_ranks(script, environments[::-1])), [(0, "", "")] * 3, name)
        self.assert_nothing_left()

    def test_programs_with_collectives_run_under_every_launcher(self):
        for name, environments in self.launchers(2):
            results = self.results([self.start(PROGRAM, **environment) for environment in environments])
            self.assertEqual([status for status, _, _ in results], [0, 0], (name, results))
            self.assertEqual(results[0][1].count("as expected"), 3, name)
            self.assertIn("/task:1/device:CPU:0", results[0][1], f"{name}: two processes, not one twice")

    def test_each_rank_writes_a_trace_and_a_report_of_its_own(self):
        for name, environments in self.launchers(2):
            results = self.results([self.start(PROGRAM, **environment, **FILES) for environment in environments])
            self.assertEqual([status for status, _, _ in results], [0, 0], (name, results))
            self.assert_files_of_two_ranks(name)

    def test_torchruns_port_may_be_taken_on_one_host(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen(64)
            port = other.getsockname()[1] - 1
            environments = [captured_launchers.torchrun(rank, 2, port) for rank in range(2)]
            self.assertEqual(self.results(self.start_ranks('"$TUTTI" barrier --timeout 60s', environments)), [(0, "", "")] * 2)

    def test_a_job_goes_on_after_its_coordinator_has_gone_for_want_of_ranks(self):
        for name, environments in self.launchers(3):
            for _ in range(2):
                processes = self.start_ranks('"$TUTTI" barrier --timeout 60s', environments)
                self.assertEqual(self.results(processes), [(0, "", "")] * 3, name)
                if name.startswith("Open MPI 4"):
                    self.assert_nothing_left()

    def test_several_hosts_need_a_secret(self):
        settings = {"OMPI_COMM_WORLD_RANK": 0, "OMPI_COMM_WORLD_SIZE": 2, "OMPI_COMM_WORLD_LOCAL_SIZE": 1}
        status, _, errors = self.call(COMMAND, "barrier", **settings)
        self.assertEqual(status, 1)
        self.assertIn("set TUTTI_COORDINATOR to host:port", errors)
        address = f"127.0.0.1:{free_ports()}"
        settings |= {"TUTTI_COORDINATOR": address, "TUTTI_JOB_SECRET": SECRET}
        environments = [settings | {"OMPI_COMM_WORLD_RANK": rank} for rank in (1, 0)]
        processes = self.start_ranks('"$TUTTI" barrier --timeout 60s', environments)
        self.assertEqual(self.results(processes), [(0, "", "")] * 2)
        self.assert_nothing_left()

    def test_a_port_that_something_else_listens_at_is_named(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen(64)
            port = other.getsockname()[1]
            settings = captured_launchers.mpich(0, 2) | {"TUTTI_COORDINATOR": f"127.0.0.1:{port}"}
            status, _, errors = self.call(COMMAND, "barrier", "--timeout", "300ms", **settings)
        self.assertEqual(status, 1)
        self.assertIn(f"cannot listen at 127.0.0.1:{port}: something else does", errors)
        self.assertEqual(list(self.runtime.iterdir()), [])

    def test_a_rank_0_that_does_not_come_is_named(self):
        settings = {"PMI_RANK": 1, "PMI_SIZE": 2, "MPI_LOCALNRANKS": 2}
        status, _, errors = self.call(COMMAND, "barrier", "--timeout", "200ms", **settings)
        self.assertEqual(status, 1)
        self.assertIn("rank 0 has not said where the coordinator is", errors)


class Coordinator(Barrier):
    def coordinator(self, *options, secret=SECRET):
        process = self.start(COMMAND, "coordinator", "--world", "2", "--job", "mine", *options, TUTTI_JOB_SECRET=secret)
        return process, process.stdout.readline().strip()

    def ranks(self, address, secret=SECRET, ranks=(0, 1)):
        rest = {"TUTTI_WORLD_SIZE": 2, "TUTTI_COORDINATOR": address, "TUTTI_JOB_ID": "mine", "TUTTI_JOB_SECRET": secret}
        return [{"TUTTI_RANK": rank} | rest for rank in ranks]

    def test_is_where_ranks_meet_and_ends_when_all_have_left(self):
        process, address = self.coordinator("--linger", "50ms")
        self.assertRegex(address, r"^127\.0\.0\.1:\d+$")
        ranks = self.start_ranks('"$TUTTI" barrier --timeout 60s', self.ranks(address))
        self.assertEqual(self.results(ranks), [(0, "", "")] * 2)
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_refuses_whoever_does_not_know_the_secret(self):
        _, address = self.coordinator()
        stranger = self.start_ranks('"$TUTTI" barrier --timeout 60s', self.ranks(address, "guessed, and wrong", [0]))
        ((status, _, errors),) = self.results(stranger)
        self.assertEqual(status, 1)
        self.assertIn("tutti: error: ", errors)
        self.assertIn("is TUTTI_JOB_SECRET the same for all?", errors)
        self.assertNotIn(SECRET, errors)

    def test_ends_at_a_signal_and_takes_the_jobs_file_with_it(self):
        file = self.folder / "note"
        file.write_text("")
        process, _ = self.coordinator("--job-file", file)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), 0)
        self.assertFalse(file.exists())

    def test_says_what_is_wrong(self):
        status, output, errors = self.call(COMMAND, "coordinator", "--world", "2")
        self.assertEqual((status, output), (1, ""))
        self.assertIn("TUTTI_JOB_SECRET is not set", errors)
        _, address = self.coordinator()
        status, _, errors = self.call(COMMAND, "coordinator", "--world", "2", "--listen", address, TUTTI_JOB_SECRET=SECRET)
        self.assertEqual(status, 1)
        self.assertIn(address, errors)
        self.assertIn("Address already in use", errors)
        self.assertNotIn(".cc:", errors)
        self.assertIn("'0' ranks cannot be: a whole number from 1 to", self.call(COMMAND, "coordinator", "--world", "0")[2])
        self.assertEqual(self.call(COMMAND, "coordinator", TUTTI_JOB_SECRET=SECRET)[0], 2)


    def test_that_is_gone_is_named_with_where_it_was(self):
        process, address = self.coordinator()
        process.kill()
        process.wait(PATIENCE)
        ranks = self.start_ranks('"$TUTTI" barrier --timeout 300ms', self.ranks(address, ranks=[0]))
        expected = f"tutti: error: cannot join the job at {address}: Connection refused; does its coordinator run there?\n"
        self.assertEqual(self.results(ranks), [(1, "", expected)])


class Alone(Barrier):
    def test_without_a_launcher_a_script_goes_on_and_is_told(self):
        status, output, errors = self.call(COMMAND, "barrier")
        self.assertEqual((status, output), (0, ""))
        self.assertEqual(errors, "tutti: no launcher's variables were found; this rank is alone and goes on\n")

    def test_a_part_of_the_variables_is_an_error_that_names_the_rest(self):
        status, _, errors = self.call(COMMAND, "barrier", TUTTI_RANK=1, TUTTI_WORLD_SIZE=2)
        self.assertEqual(status, 1)
        self.assertIn("TUTTI_COORDINATOR is not set", errors)
        self.assertNotIn(".cc:", errors)

    def test_mistakes_on_the_command_line_are_refused(self):
        status, _, errors = self.call(COMMAND, "barrier", "--timeot", "5s")
        self.assertEqual(status, 2)
        self.assertIn("did you mean '--timeout'?", errors)
        self.assertEqual(self.call(COMMAND, "barrier", "--timeout", "soon")[0], 2)
        self.assertIn("'-5s' is no length of time", self.call(COMMAND, "barrier", "--timeout", "-5s")[2])
        self.assertIn("did you mean 'barrier'?", self.call(COMMAND, "barier")[2])


if __name__ == "__main__":
    unittest.main()
