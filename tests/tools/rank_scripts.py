"""What the tests of launching share: the command, an environment without any launcher in it, and waiting with a deadline."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

LAUNCHERS = ("TUTTI_", "OMPI_", "PMI", "MPI_", "SLURM_", "DTENSOR_", "TORCHELASTIC_")
TORCHRUN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
PATIENCE = 60  # seconds, for a slow machine; nothing here takes a second on an idle one


def clean_environment(**settings):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS) and k not in TORCHRUN}
    return kept | {k: str(v) for k, v in settings.items()}


def is_alive(pid):
    """A zombie is dead: not every container has somebody who takes them away."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def wait_until(condition, what, patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {patience} s: {what}")
        time.sleep(0.01)


class InFolder(unittest.TestCase):
    """A test with a folder of its own, where job files are too; what it starts does not outlive it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.runtime = self.folder / "runtime"
        self.runtime.mkdir(mode=0o700)
        self.addCleanup(self.stop_coordinators)

    def stop_coordinators(self, number=signal.SIGKILL):
        """Those that rank 0 of a job in the runtime folder has started, which outlive it."""
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
                if b"coordinator" in words and any(word.startswith(os.fsencode(self.runtime)) for word in words):
                    os.kill(int(path.parent.name), number)
            except OSError:
                continue  # it has ended meanwhile

    def start(self, *words, **settings):
        options = {k: settings.pop(k) for k in ("stdin", "stdout", "stderr") if k in settings}
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        environment = clean_environment(XDG_RUNTIME_DIR=self.runtime, **settings)
        process = subprocess.Popen([str(word) for word in words], env=environment, cwd=self.folder, text=True, **options)
        self.addCleanup(self.stop, process)
        return process

    @staticmethod
    def stop(process):
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()

    def call(self, *words, **settings):
        """(exit status, output, errors)"""
        given = settings.pop("input", None)
        if given is not None:
            settings["stdin"] = subprocess.PIPE
        process = self.start(*words, **settings)
        output, errors = process.communicate(given, timeout=PATIENCE)
        return process.returncode, output, errors
