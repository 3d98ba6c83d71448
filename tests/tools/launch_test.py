#!/usr/bin/env python3
"""`tutti launch` as a user calls it. usage: launch_test.py COMMAND"""

import collections
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from launching import COMMAND, Launch
from rank_scripts import PATIENCE, is_alive, wait_until

# What a rank may start that is not in its process group: a job of a shell, a session, a daemon whose parent has ended, and one of
# a session below a session. Each runs `sh stay`.
APART = ("set -m; sh stay &", "setsid sh stay &", "setsid sh -c 'sh stay &'", "setsid sh -c 'setsid sh stay & wait' &")


class Ranks(Launch):
    def test_every_rank_is_told_who_it_is(self):
        script = (
            'echo "$TUTTI_RANK $TUTTI_WORLD_SIZE $TUTTI_LOCAL_RANK '
            '$TUTTI_JOB_ID ${#TUTTI_JOB_SECRET} $TUTTI_COORDINATOR $OWN"'
        )
        status, output, errors = self.launch(3, script, OWN="mine", TUTTI_RANK="7")
        self.assertEqual((status, errors), (0, ""))
        told = sorted(line.split() for line in output.splitlines())
        self.assertEqual([words[:4] for words in told], [[f"[{r}]", f"{r}", "3", f"{r}"] for r in range(3)])
        self.assertEqual(len({tuple(words[4:]) for words in told}), 1, "job, secret and address are the same for all")
        self.assertRegex(" ".join(told[0][4:]), r"^launch-\d+-\d+ 32 127\.0\.0\.1:\d+ mine$")

    def test_every_rank_is_told_what_torchrun_would_tell_it(self):
        # As a store of PyTorch's does: rank 0 listens where it is told, the others come there.
        program = (
            "import os, socket, time\n"
            "names = 'RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE', 'MASTER_ADDR', 'TUTTI_RANK'\n"
            "address = os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])\n"
            "coordinator = os.environ['TUTTI_COORDINATOR'].rpartition(':')[2]\n"
            "print(*(os.environ[name] for name in names), coordinator != str(address[1]))\n"
            "if os.environ['RANK'] == '0':\n"
            "    with socket.create_server(address) as server:\n"
            "        for i in range(2): server.accept()[0].sendall(b'.')\n"
            "else:\n"
            f"    end = time.monotonic() + {PATIENCE}\n"
            "    while True:\n"
            "        try:\n"
            "            with socket.create_connection(address) as there: there.recv(1)\n"
            "            break\n"
            "        except ConnectionRefusedError:\n"
            "            if time.monotonic() > end: raise\n"
        )
        words = ("launch", "-n", "3", "--", sys.executable, "-c", program)
        status, output, errors = self.call(COMMAND, *words, RANK="7", MASTER_ADDR="elsewhere", MASTER_PORT="1")
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(sorted(output.splitlines()), [f"[{r}] {r} 3 {r} 3 127.0.0.1 {r} True" for r in range(3)])

    def test_arguments_reach_the_program_as_they_are(self):
        _, output, _ = self.call(COMMAND, "launch", "-n", "1", "--", "printf", "%s\n", "a b", "--hosts", "-n", "$x", "")
        self.assertEqual(output, "[0] a b\n[0] --hosts\n[0] -n\n[0] $x\n[0] \n")

    def test_the_program_begins_with_the_first_word_that_is_no_option(self):
        words = ("launch", "--timeout-grace", "5s", "-n", "1", "--keep-going", "printf", "%s\n", "-l", "--", "--ranks")
        self.assertEqual(self.call(COMMAND, *words), (0, "[0] -l\n[0] --\n[0] --ranks\n", ""))

    def test_rank_0_reads_the_input_and_others_read_nothing(self):
        status, output, _ = self.launch(2, "cat", input="a line\n")
        self.assertEqual((status, output), (0, "[0] a line\n"))


class Failures(Launch):
    def test_the_others_go_on_where_that_is_asked_for(self):
        script = '[ "$TUTTI_RANK" = 1 ] && kill -9 $$; [ "$TUTTI_RANK" = 2 ] && exit 3; read line; echo done'
        status, output, errors = self.launch(3, script, "--keep-going", input="go\n")
        self.assertIn(status, (128 + 9, 3))
        self.assertEqual(output, "[0] done\n")
        self.assertRegex(errors, r"tutti: rank 1 \(pid \d+\) ended with signal 9 \(Killed\)\n")
        self.assertRegex(errors, r"tutti: rank 2 \(pid \d+\) ended with status 3\n")


class Output(Launch):
    def test_each_stream_keeps_its_own(self):
        _, output, errors = self.launch(2, "echo out; echo err >&2")
        self.assertEqual(sorted(output.splitlines()), ["[0] out", "[1] out"])
        self.assertEqual(sorted(errors.splitlines()), ["[0] err", "[1] err"])

    def test_lines_are_whole_and_in_order_however_they_are_written(self):
        # In pieces, long and short, without an end at the end; all ranks and both streams into one pipe.
        program = (
            "import os\nr = int(os.environ['TUTTI_RANK'])\n"
            "for i in range(300):\n"
            "    for piece in (f'{r} ', f'{i} ', 'x' * (i * 37 % 5000), '\\n' if i < 299 else ''):\n"
            "        os.write(1 + i % 2, piece.encode())\n"
        )
        done = self.start(COMMAND, "launch", "-n", "4", "--", sys.executable, "-c", program, stderr=subprocess.STDOUT)
        output, _ = done.communicate(timeout=PATIENCE)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(output.endswith("\n"))
        seen = collections.defaultdict(list)
        for line in output.splitlines():
            found = re.fullmatch(r"\[(\d)\] (\d) (\d+) (x*)", line)
            self.assertTrue(found and found[1] == found[2] and len(found[4]) == int(found[3]) * 37 % 5000, line[:100])
            seen[found[1], int(found[3]) % 2].append(int(found[3]))
        for rank in "0123":
            self.assertEqual(seen[rank, 0] + seen[rank, 1], [*range(0, 300, 2), *range(1, 300, 2)])

    def test_a_very_long_line_is_whole_beside_others(self):
        program = (
            "import os, sys\n"
            "if os.environ['TUTTI_RANK'] == '0': sys.stdout.write('y' * 3_000_000 + '\\n')\n"
            "else: sys.stdout.write('short\\n' * 1000)\n"
        )
        status, output, _ = self.call(COMMAND, "launch", "-n", "3", "--", sys.executable, "-c", program)
        self.assertEqual(status, 0)
        counted = collections.Counter(output.splitlines())
        self.assertEqual(counted.pop("[0] " + "y" * 3_000_000), 1)
        self.assertEqual(counted, {"[1] short": 1000, "[2] short": 1000})

    def test_a_question_without_an_end_is_shown_before_it_is_answered(self):
        asking = self.start_launch(1, 'printf "name? "; read name; echo "good day, $name"', stdin=subprocess.PIPE)
        self.assertEqual(asking.stdout.read(10), "[0] name? ")
        asking.stdin.write("Ada\n")
        asking.stdin.flush()
        self.assertEqual(asking.stdout.readline(), "good day, Ada\n")
        self.assertEqual(asking.wait(PATIENCE), 0)

    def test_a_reader_that_goes_ends_the_ranks_as_it_would_end_one_program(self):
        talking = self.start_launch(2, "while echo words; do :; done 2>/dev/null; exit 3")
        talking.stdout.readline()
        talking.stdout.close()
        talking.stdout = None
        _, errors = talking.communicate(timeout=PATIENCE)
        self.assertRegex(errors, r"tutti: rank \d \(pid \d+\) ended with (signal 13 \(Broken pipe\)|status 3)")

    def test_an_output_that_cannot_be_written_stops_everything(self):
        with open("/dev/full", "w") as full:
            status, _, errors = self.launch(2, "echo words; sleep 60", stdout=full)
        self.assertEqual(status, 1)
        self.assertIn("tutti: error: the output could not be written: No space left on device", errors)

    def test_a_file_that_may_not_grow_stops_everything(self):
        script = f'ulimit -f 1; exec "{COMMAND}" launch -n 2 -- sh -c "yes; sleep 60" > output'
        status, _, errors = self.call("sh", "-c", script)
        self.assertEqual(status, 1)
        self.assertIn("tutti: error: the output could not be written: File too large", errors)

    def test_what_a_rank_leaves_running_ends_with_it(self):
        # Whether it has the rank's output open or not.
        for redirection in ("", ">/dev/null 2>&1"):
            status, output, _ = self.launch(1, f"sleep 60 {redirection} & echo $! > left; echo done")
            self.assertEqual((status, output), (0, "[0] done\n"))
            wait_until(lambda: not is_alive(int((self.folder / "left").read_text())), "its child is dead", patience=30)

    def test_what_a_rank_leaves_in_other_groups_and_sessions_has_ended_with_the_launch(self):
        self.make_stay()
        for redirection in ("", "exec >/dev/null 2>&1; "):
            start = "; ".join(f"({redirection}{form}\n)" for form in APART)
            script = f"{start}; while test $(ls left*[0-9] | wc -l) -lt {len(APART)}; do sleep 0.01; done 2>/dev/null; exit 3"
            status, output, errors = self.launch(1, script)
            self.assertEqual((status, output), (3, ""), errors)
            left = self.pids("left*[0-9]", len(APART))
            self.assertEqual(list(filter(is_alive, left)), [], redirection)
            for path in self.folder.glob("left*"):
                path.unlink()

    def test_what_a_rank_leaves_ends_with_it_while_others_go_on(self):
        self.make_stay()
        script = (
            'if test $TUTTI_RANK = 1; then set -m; setsid sh stay & sh stay & '
            'while test $(ls left*[0-9] 2>/dev/null | wc -l) -lt 2; do sleep 0.01; done; exit 4; fi; '
            'setsid sh -c "echo \\$\\$ > mine; exec sleep 333" & read line; kill -0 $(cat mine) && echo mine stays'
        )
        launched = self.start_launch(2, script, "--keep-going", stdin=subprocess.PIPE)
        left = self.pids("left*[0-9]", 2)
        wait_until(lambda: not any(map(is_alive, left)), "what rank 1 left is dead", patience=30)
        self.assertIsNone(launched.poll())
        output, _ = launched.communicate("go\n", timeout=PATIENCE)
        self.assertEqual((launched.returncode, output), (4, "[0] mine stays\n"))
        self.assertFalse(is_alive(self.pids("mine", 1)[0]))

    def test_what_a_rank_leaves_running_may_write_its_last_lines(self):
        # As `exec > >(tee log)` does in a script.
        for status_ in (0, 3):
            for start in ("", "setsid "):
                status, output, _ = self.launch(1, f"{start}sh -c 'sleep 0.2; echo last' & exit {status_}")
                self.assertEqual((status, output), (status_, "[0] last\n"))


class Failure(Launch):
    def test_a_rank_that_fails_is_named_and_the_others_are_stopped(self):
        # The last word of the failed one comes before what is said about it.
        status, _, errors = self.launch(3, 'test $TUTTI_RANK = 2 || exec sleep 60; printf "I fail" >&2; exit 3')
        self.assertEqual(status, 3)
        self.assertRegex(errors, r"\A\[2\] I fail\ntutti: rank 2 \(pid \d+\) ended with status 3; the others are stopped\n\Z")

    def test_a_rank_that_is_killed_is_named_with_the_signal(self):
        status, _, errors = self.launch(2, "test $TUTTI_RANK = 1 || exec sleep 60; kill -9 $$")
        self.assertEqual(status, 128 + 9)
        self.assertRegex(errors, r"\Atutti: rank 1 \(pid \d+\) ended with signal 9 \(Killed\); the others are stopped\n\Z")

    def test_what_the_others_say_of_it_is_seen_before_they_are_stopped(self):
        # They learn of the death a moment later than the launcher does.
        script = (
            'if test $TUTTI_RANK = 1; then echo $$ > first; while ! test -e seen0 -a -e seen2; do sleep 0.01; done; kill -9 $$; fi; '
            'while ! test -s first; do sleep 0.01; done; : > seen$TUTTI_RANK; '
            'while kill -0 $(cat first) 2>/dev/null; do sleep 0.01; done; sleep 0.2; echo "rank 1 is lost" >&2; exit 1'
        )
        status, _, errors = self.launch(3, script)
        self.assertEqual(status, 128 + 9)
        self.assertRegex(errors, r"\Atutti: rank 1 \(pid \d+\) ended with signal 9 \(Killed\); the others are stopped\n")
        self.assertEqual(sorted(errors.splitlines()[1:]), ["[0] rank 1 is lost", "[2] rank 1 is lost"])

    def test_as_long_as_one_after_the_other_ends_by_itself_they_are_not_stopped(self):
        # Rank 2 waits for rank 1 and then as long as that; together that is more than half a second.
        script = (
            'trap "echo stopped; exit 9" TERM; echo $$ > pid$TUTTI_RANK.new; mv pid$TUTTI_RANK.new pid$TUTTI_RANK; '
            'while ! test -e pid0 -a -e pid1 -a -e pid2; do sleep 0.01; done; test $TUTTI_RANK = 0 && kill -9 $$; '
            'while kill -0 $(cat pid$((TUTTI_RANK - 1))) 2>/dev/null; do sleep 0.01; done; sleep 0.35; echo by itself; exit 1'
        )
        status, output, errors = self.launch(3, script)
        self.assertEqual((status, output.splitlines()), (128 + signal.SIGKILL, ["[1] by itself", "[2] by itself"]), errors)

    def test_who_does_not_stop_is_killed_after_the_time_of_grace(self):
        script = (
            "trap '' TERM; if test $TUTTI_RANK = 0; then while ! test -e ready; do sleep 0.01; done; exit 4; fi; "
            "echo > ready; while :; do sleep 1; done"
        )
        began = time.monotonic()
        status, _, errors = self.launch(2, script, "--timeout-grace", "200ms")
        self.assertEqual(status, 4)
        self.assertRegex(errors, r"rank 1 \(pid \d+\) did not end within 200.0 ms and is killed\n\Z")
        self.assertGreater(time.monotonic() - began, 0.2)

    def test_who_stops_by_itself_has_the_time_for_it(self):
        script = (
            'if test $TUTTI_RANK = 0; then while ! test -e ready; do sleep 0.01; done; exit 5; fi; '
            'trap "sleep 0.3; echo saved; exit 0" TERM; echo > ready; while :; do sleep 0.01; done'
        )
        status, output, _ = self.launch(2, script)
        self.assertEqual((status, output), (5, "[1] saved\n"))

    def test_children_of_a_failed_rank_are_killed_too(self):
        status, _, _ = self.launch(1, "sleep 60 & echo $! > left; exit 3")
        self.assertEqual(status, 3)
        wait_until(lambda: not is_alive(int((self.folder / "left").read_text())), "its child is dead")

    def test_a_program_that_cannot_be_started_is_named(self):
        status, _, errors = self.call(COMMAND, "launch", "-n", "2", "--", "nowhere-to-be-found")
        self.assertEqual(status, 127)
        self.assertIn("tutti: error: the program 'nowhere-to-be-found' was not found in PATH", errors)
        status, _, errors = self.call(COMMAND, "launch", "-n", "2", "--", self.folder)
        self.assertEqual(status, 126)
        self.assertIn("cannot be run: it is a folder", errors)
        program = self.folder / "program"
        program.write_text("#!/nowhere/sh\n")
        self.assertIn("Permission denied; chmod +x makes it a program", self.call(COMMAND, "launch", "-n", "2", program)[2])
        program.chmod(0o755)
        self.assertIn("what its first line names", self.call(COMMAND, "launch", "-n", "2", program)[2])

    @unittest.skipIf("ASAN_OPTIONS" in os.environ, "that sanitizer needs descriptors of its own")
    def test_a_limit_of_the_system_is_told_from_a_program_that_cannot_be_run(self):
        status, output, errors = self.call("sh", "-c", f'ulimit -n 64; exec "{COMMAND}" launch -n 100 -- sleep 60')
        self.assertEqual((status, output), (1, ""))
        self.assertRegex(errors, r"error: rank \d+ of 100 could not be started: .*Too many open files; raise the limit")


class Signals(Launch):
    def test_are_forwarded_to_every_rank(self):
        for name in ("TERM", "INT", "HUP", "QUIT", "USR1"):
            script = f'trap "echo got; exit 0" {name}; echo ready; while :; do sleep 0.01; done'
            launched = self.start_launch(2, script)
            for _ in range(2):
                launched.stdout.readline()
            launched.send_signal(getattr(signal, f"SIG{name}"))
            output, errors = launched.communicate(timeout=PATIENCE)
            self.assertEqual((launched.returncode, sorted(output.splitlines())), (0, ["[0] got", "[1] got"]), name)
            self.assertNotIn("tutti: ", errors)

    def test_that_are_messages_reach_the_rank_and_not_what_it_runs(self):
        script = (
            'trap "got=1" USR1; sleep 60 & child=$!; echo ready; while test -z "$got"; do sleep 0.01; done; '
            'kill -0 $child && echo alive; kill $child'
        )
        launched = self.start_launch(1, script)
        launched.stdout.readline()
        launched.send_signal(signal.SIGUSR1)
        output, _ = launched.communicate(timeout=PATIENCE)
        self.assertEqual((launched.returncode, output), (0, "[0] alive\n"))

    def test_that_end_the_ranks_are_the_exit_status(self):
        launched = self.start_launch(2, "echo ready; exec sleep 60")
        for _ in range(2):
            launched.stdout.readline()
        launched.send_signal(signal.SIGTERM)
        _, errors = launched.communicate(timeout=PATIENCE)
        self.assertEqual(launched.returncode, 128 + signal.SIGTERM)
        self.assertRegex(errors, r"tutti: rank \d \(pid \d+\) ended with signal 15 \(Terminated\)")

    def test_a_rank_that_minds_no_term_is_killed_after_the_time_of_grace(self):
        script = 'trap "" TERM; echo ready; while :; do sleep 0.01; done'
        launched = self.start_launch(2, script, "--timeout-grace", "200ms")
        for _ in range(2):
            launched.stdout.readline()
        launched.send_signal(signal.SIGTERM)
        _, errors = launched.communicate(timeout=PATIENCE)
        self.assertEqual(launched.returncode, 128 + 9)
        for rank in range(2):
            self.assertRegex(errors, rf"rank {rank} \(pid \d+\) did not end within 200.0 ms and is killed\n")

    def test_a_second_interrupt_kills(self):
        launched = self.start_launch(2, 'trap "echo no" INT; echo ready; while :; do sleep 0.01; done')
        for _ in range(2):
            launched.stdout.readline()
        launched.send_signal(signal.SIGINT)
        for _ in range(2):
            self.assertIn("no", launched.stdout.readline())
        launched.send_signal(signal.SIGINT)
        _, errors = launched.communicate(timeout=PATIENCE)
        self.assertEqual(launched.returncode, 128 + 9)
        self.assertIn("tutti: interrupted again; the ranks are killed\n", errors)

    def test_who_interrupts_in_vain_is_told_how_to_go_on(self):
        launched = self.start_launch(1, 'trap "" INT; echo ready; while :; do sleep 0.01; done')
        launched.stdout.readline()
        launched.send_signal(signal.SIGINT)
        line = launched.stderr.readline()
        self.assertRegex(line, r"\Atutti: interrupted, and rank 0 \(pid \d+\) still runs; a second interrupt kills it\n\Z")
        launched.send_signal(signal.SIGINT)
        self.assertEqual(launched.wait(PATIENCE), 128 + 9)

    def test_when_the_launcher_is_killed_nothing_of_its_ranks_is_left(self):
        self.make_stay()
        apart = "; ".join(f"({form}\n)" for form in APART)
        script = f"echo $$ > rank$TUTTI_RANK; sleep 60 & echo $! > child$TUTTI_RANK; {apart}; wait"
        launched = self.start_launch(3, script)
        pids = self.pids("rank*", 3) + self.pids("child*", 3) + self.pids("left*[0-9]", 3 * len(APART))
        launched.kill()
        # Sooner than they end by themselves.
        wait_until(lambda: not any(map(is_alive, pids)), "the ranks and their children are dead", patience=30)

    def test_a_launcher_that_dies_while_it_starts_a_rank_leaves_nothing_of_it(self):
        for i in range(20):  # the moment is a short one
            # Of its guard, the launcher is the parent.
            script = f"sleep 60 & echo $! > child{i}; kill -9 $(sed -n 's/^PPid:.//p' /proc/$PPID/status); wait"
            launched = self.start_launch(1, script)
            pids = self.pids(f"child{i}", 1)
            self.assertEqual(launched.wait(PATIENCE), -signal.SIGKILL)
            wait_until(lambda: not any(map(is_alive, pids)), "the rank's child is dead", patience=30)

    def test_a_guard_that_is_killed_takes_its_rank_with_it(self):
        self.make_stay()
        script = (
            'if test $TUTTI_RANK = 1; then read line < gate; exit 5; fi; '
            'setsid sh stay & while ! ls left*[0-9] 2>/dev/null; do sleep 0.01; done; kill -9 $PPID; sleep 60'
        )
        os.mkfifo(self.folder / "gate")
        status, _, errors = self.launch(2, script)
        self.assertEqual(status, 128 + 9)
        self.assertRegex(errors, r"\Atutti: rank 0 \(pid \d+\) ended with signal 9 \(Killed\); the others are stopped\n\Z")
        self.assertFalse(is_alive(self.pids("left*[0-9]", 1)[0]))


class Mistakes(Launch):
    def refused(self, *words):
        status, output, errors = self.call(COMMAND, "launch", *words)
        self.assertEqual((status, output), (2, ""), words)
        self.assertTrue(errors.startswith("tutti: error: "), errors)
        return errors

    def test_are_refused_before_anything_runs(self):
        program = ("--", "sh", "-c", "echo ran")
        self.assertIn("--ranks", self.refused(*program))
        for ranks in ("0", "-1", "two", "100000"):
            said = f"'{ranks}' ranks cannot be: a whole number from 1 to 4096 was expected"
            self.assertIn(said, self.refused("-n", ranks, *program))
        self.assertNotIn("did you mean", self.refused("-n", "2", "-l", *program))
        self.assertIn("'-oX' names no host", self.refused("-n", "2", "--hosts", "a,-oX", *program))
        self.assertIn("'' names no host", self.refused("-n", "2", "--hosts", "", *program))
        self.assertIn("did you mean '--hosts'?", self.refused("-n", "2", "--host", "a", *program))
        self.assertIn("did you mean '--timeout-grace'?", self.refused("-n", "2", "--timeout-grade", "5s", *program))
        told = self.refused("-n", "2", "--timeout-grace", "5", *program)
        self.assertIn("'5' is no length of time; write 5s, 500ms or 2m", told)
        self.assertIn("there are 2 hosts for 1 ranks", self.refused("-n", "1", "--hosts", "a,b", *program))
        self.assertIn("no program to run was given", self.refused("-n", "2"))

    def test_help_fits_and_names_every_option(self):
        for name, words in {
            "launch": ("--hosts", "--timeout-grace"),
            "barrier": ("--name", "--timeout"),
            "coordinator": ("--world", "--listen"),
        }.items():
            status, output, _ = self.call(COMMAND, name, "--help")
            self.assertEqual(status, 0)
            self.assertLessEqual(max(map(len, output.splitlines())), 80, output)
            for word in words:
                self.assertIn(word, output)


if __name__ == "__main__":
    unittest.main()
