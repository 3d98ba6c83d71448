#!/usr/bin/env python3
"""What examples/char_transformer.cc promises: it learns, writes characters it knows, says the same again with the same seed, and
tells what is wrong with its arguments. usage: char_transformer.py PROGRAM"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith(("TUTTI_", "CUDA_VISIBLE_DEVICES"))}
TEXT = "the quick brown fox jumps over the lazy dog. " * 8


class CharTransformer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.text = self.file("text.txt", TEXT)

    def file(self, name, content):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(content)
        return str(path)

    def run_with(self, *arguments, **settings):
        return subprocess.run([PROGRAM, *arguments], env=ENVIRONMENT | settings, text=True, capture_output=True, timeout=100)

    def refused(self, status, words, *arguments):
        done = self.run_with(*arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertIn(words, done.stderr)

    def test_learns_and_writes_characters_it_knows(self):
        done = self.run_with(self.text, "--steps", "30", "--write", "40")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)
        first, *losses, waits, written = done.stdout.splitlines()
        self.assertEqual(first, f"{len(TEXT)} characters, {len(set(TEXT))} different; 105756 parameters")
        numbers = [re.fullmatch(r"step (\d+): loss (\S+)", line).groups() for line in losses]
        self.assertEqual([int(step) for step, _ in numbers], [*range(0, 30, 3), 29])
        self.assertLess(float(numbers[-1][1]), 0.7 * float(numbers[0][1]))
        self.assertEqual(waits, "the host asked for 11 values in 30 steps")
        self.assertEqual(len(written), 40)
        self.assertLessEqual(set(written), set(TEXT))

    def test_the_same_seed_is_the_same_run_and_another_is_not(self):
        one, again, other = (self.run_with(self.text, "--steps", "3", "--write", "20", "--seed", seed).stdout for seed in "778")
        self.assertEqual(one, again)
        self.assertNotEqual(one, other)

    def test_runs_on_a_simulated_gpu(self):
        done = self.run_with(self.text, "--steps", "2", "--write", "5", TUTTI_SIM_GPUS="1")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_no_steps_and_nothing_written_are_fine(self):
        done = self.run_with(self.text, "--steps", "0", "--write", "0")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_help(self):
        done = self.run_with("--help")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("usage: char_transformer TEXT_FILE"))

    def test_says_what_is_wrong(self):
        self.refused(2, "a text to learn is needed")
        self.refused(2, "there is no option --stepz", self.text, "--stepz", "3")
        self.refused(2, "--steps takes a number from 0 on, not 'many'", self.text, "--steps", "many")
        self.refused(2, "--seed takes a number from 0 on, not ''", self.text, "--seed")
        self.refused(1, "cannot be read: No such file or directory", self.text + ".none")
        self.refused(1, "Is a directory", self.folder.name)
        self.refused(1, "has 0 characters; at least 33 are needed", self.file("empty.txt", ""))
        self.refused(1, "has 5 characters; at least 33 are needed", self.file("tiny.txt", "hello"))


if __name__ == "__main__":
    unittest.main()
