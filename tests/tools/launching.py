"""`tutti launch` for its tests, whose first argument is the command."""

import os
import sys

from rank_scripts import InFolder, wait_until

COMMAND = os.path.abspath(sys.argv.pop(1))


class Launch(InFolder):
    def launch(self, ranks, script, *options, **settings):
        return self.call(COMMAND, "launch", "-n", ranks, *options, "--", "sh", "-c", script, **settings)

    def start_launch(self, ranks, script, *options, **settings):
        return self.start(COMMAND, "launch", "-n", ranks, *options, "--", "sh", "-c", script, **settings)

    def files(self, pattern):
        return sorted(path.name for path in self.folder.glob(pattern))

    def make_stay(self):
        """A program that stays, and leaves its number in a file."""
        (self.folder / "stay").write_text("echo $$ > left$$.new; mv left$$.new left$$; exec sleep 333\n")

    def pids(self, pattern, count):
        """Numbers that ranks have written, each into a file of its own."""
        wait_until(lambda: sum(path.read_text().endswith("\n") for path in self.folder.glob(pattern)) == count, pattern)
        return [int(path.read_text()) for path in self.folder.glob(pattern)]
