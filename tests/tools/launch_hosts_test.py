#!/usr/bin/env python3
"""`tutti launch --hosts` as a user calls it, with shells of other hosts that are on this one. usage: launch_hosts_test.py COMMAND"""

import os
import pty
import re
import signal
import sys
import unittest

from launching import COMMAND, Launch
from rank_scripts import PATIENCE, is_alive, wait_until


class Hosts(Launch):
    def setUp(self):
        super().setUp()
        # In place of ssh: another host is this one with nothing of this environment.
        self.shell = self.folder / "shell"
        self.shell.write_text(
            '#!/bin/sh\necho "$@" >> "$(dirname "$0")/commands"\nhost=$1; shift\n'
            'exec env -i PATH="$PATH" AT="$host" sh -c "$*"\n'
        )
        self.shell.chmod(0o755)

    def test_ranks_are_dealt_out_in_blocks_with_what_they_need(self):
        script = (
            'echo "$AT $TUTTI_RANK $TUTTI_LOCAL_RANK $TUTTI_WORLD_SIZE '
            '$ONE,$TWO,$TUTTI_X ${#TUTTI_JOB_SECRET} $TUTTI_COORDINATOR $PWD"'
        )
        status, output, errors = self.launch(
            3, script, "--hosts", "alpha,beta", "--listen", "127.0.0.1", "--env", "ONE",
            TUTTI_RSH=self.shell, ONE="it's \"1\"\n  $2", TWO="not asked for", TUTTI_X="own",
        )  # fmt: skip
        self.assertEqual((status, errors), (0, ""))
        output = output.replace("\n[0]   $2", "|  $2").replace("\n[1]   $2", "|  $2").replace("\n[2]   $2", "|  $2")
        lines = sorted(re.sub(r":\d+", "", line) for line in output.splitlines())
        rest = f"3 it's \"1\"|  $2,,own 32 127.0.0.1 {os.path.realpath(self.folder)}"
        self.assertEqual(lines, [f"[0] alpha 0 0 {rest}", f"[1] alpha 1 1 {rest}", f"[2] beta 2 0 {rest}"])

    def test_ranks_are_told_what_torchrun_would_tell_them(self):
        script = 'echo "$RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR"'
        for hosts, master in (("user@alpha,beta", "alpha"), ("localhost,beta", "127.0.0.2")):
            words = ("--hosts", hosts, "--listen", "127.0.0.2")
            status, output, errors = self.launch(3, script, *words, TUTTI_RSH=self.shell)
            self.assertEqual((status, errors), (0, ""))
            expected = [f"[0] 0 3 0 2 {master}", f"[1] 1 3 1 2 {master}", f"[2] 2 3 0 1 {master}"]
            self.assertEqual(sorted(output.splitlines()), expected)

    def test_what_a_rank_leaves_running_there_ends_with_it(self):
        # In a session of its own, as sshd makes it: the launcher's own signals do not reach it.
        self.shell.write_text('#!/bin/sh\nshift\nsetsid -w env -i PATH="$PATH" sh -c "$*"\n')
        status, _, _ = self.launch(
            1, "sleep 60 >/dev/null 2>&1 & echo $! > left", "--hosts", "localhost", TUTTI_RSH=self.shell
        )
        self.assertEqual(status, 0)
        wait_until(lambda: not is_alive(int((self.folder / "left").read_text())), "its child is dead", patience=30)

    def test_a_variable_that_no_shell_can_name_stays_here(self):
        words = ("launch", "-n", "1", "--hosts", "localhost", "sh", "-c", "echo $TUTTI_X")
        settings = {"TUTTI_RSH": self.shell, "TUTTI_X": "own", "TUTTI_A-B": "1"}
        self.assertEqual(self.call(COMMAND, *words, **settings), (0, "[0] own\n", ""))

    def test_no_secret_stands_in_a_command_line(self):
        _, output, _ = self.launch(2, "echo $TUTTI_JOB_SECRET", "--hosts", "localhost", TUTTI_RSH=self.shell)
        secret = output.split()[1]
        self.assertEqual(len(secret), 32)
        self.assertNotIn(secret, (self.folder / "commands").read_text())

    def test_words_of_the_command_reach_the_program_as_they_are(self):
        words = ("launch", "-n", "1", "--hosts", "localhost", "--", "printf", "%s\n", "it's", "$HOME", "a  b", '"')
        _, output, _ = self.call(COMMAND, *words, TUTTI_RSH=self.shell)
        self.assertEqual(output, "[0] it's\n[0] $HOME\n[0] a  b\n[0] \"\n")

    def test_signals_reach_the_other_host(self):
        script = 'trap "echo got; exit 0" INT; echo ready; while :; do sleep 0.01; done'
        launched = self.start_launch(2, script, "--hosts", "localhost", TUTTI_RSH=self.shell)
        for _ in range(2):
            launched.stdout.readline()
        launched.send_signal(signal.SIGINT)
        output, errors = launched.communicate(timeout=PATIENCE)
        self.assertEqual((launched.returncode, sorted(output.splitlines())), (0, ["[0] got", "[1] got"]))
        self.assertNotIn("tutti: ", errors)

    def test_the_program_has_no_child_that_it_did_not_start(self):
        program = "import os\ntry: os.wait()\nexcept ChildProcessError: print('none')"
        words = ("launch", "-n", "1", "--hosts", "localhost", "--", sys.executable, "-c", program)
        status, output, _ = self.call(COMMAND, *words, TUTTI_RSH=self.shell)
        self.assertEqual((status, output), (0, "[0] none\n"))

    def test_a_failed_rank_is_named_with_its_host_and_the_others_are_stopped(self):
        status, _, errors = self.launch(
            2, "test $TUTTI_RANK = 1 || exec sleep 60; exit 3", "--hosts", "localhost,127.0.0.1", TUTTI_RSH=self.shell
        )
        self.assertEqual((status, errors), (3, "tutti: rank 1 (on 127.0.0.1) ended with status 3; the others are stopped\n"))

    def test_when_the_launcher_is_killed_the_other_host_notices(self):
        launched = self.start_launch(2, "echo $$ > rank$TUTTI_RANK; exec sleep 60", "--hosts", "localhost", TUTTI_RSH=self.shell)
        pids = self.pids("rank*", 2)
        launched.kill()
        wait_until(lambda: not any(map(is_alive, pids)), "the ranks are dead")

    def test_a_host_that_is_not_reached_is_told_from_a_program_that_failed(self):
        self.shell.write_text("#!/bin/sh\necho 'ssh: Could not resolve hostname alpha' >&2\nexit 255\n")
        status, _, errors = self.launch(1, "true", "--hosts", "alpha", "--listen", "127.0.0.1", TUTTI_RSH=self.shell)
        self.assertEqual(status, 255)
        said = "ended with status 255, as ssh does when the way there fails or a signal ends the program\n"
        self.assertEqual(errors, f"[0] ssh: Could not resolve hostname alpha\ntutti: rank 0 (on alpha) {said}")

    def test_a_shell_that_asks_the_terminal_is_refused_and_does_not_hang(self):
        # As ssh does for a password. Under a terminal, with the launcher in front.
        self.shell.write_text("#!/bin/sh\nread answer < /dev/tty || exit 255\n")
        child, terminal = pty.fork()
        if child == 0:
            os.environ["TUTTI_RSH"] = str(self.shell)
            os.execv(COMMAND, [COMMAND, "launch", "-n", "1", "--hosts", "localhost", "--", "true"])
        self.addCleanup(os.close, terminal)
        try:
            wait_until(lambda: not is_alive(child), "it has ended", 20)
        finally:
            if is_alive(child):
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 255)

    def test_a_folder_that_the_other_host_does_not_have_stops_the_rank(self):
        folder = self.folder / "only here"
        folder.mkdir()
        self.shell.write_text('#!/bin/sh\nshift\ncd / && rmdir "$OLDPWD" && exec sh -c "$*"\n')
        launch = (COMMAND, "launch", "-n", "1", "--hosts", "localhost", "echo", "ran")
        status, output, errors = self.call("sh", "-c", 'cd "only here" && exec "$0" "$@"', *launch, TUTTI_RSH=self.shell)
        self.assertEqual((status, output), (125, ""))
        self.assertIn(str(folder), errors)

    def test_a_host_may_be_given_with_its_user(self):
        words = ("launch", "-n", "1", "--hosts", "root@localhost", "echo", "ran")
        self.assertEqual(self.call(COMMAND, *words, TUTTI_RSH=self.shell), (0, "[0] ran\n", ""))
        self.assertIn("root@localhost exec", (self.folder / "commands").read_text())

    def test_a_remote_shell_that_fails_is_told(self):
        status, _, errors = self.launch(1, "true", "--hosts", "localhost", TUTTI_RSH="/nowhere/ssh")
        self.assertEqual(status, 127)
        self.assertIn("the program '/nowhere/ssh' was not found", errors)


if __name__ == "__main__":
    unittest.main()
