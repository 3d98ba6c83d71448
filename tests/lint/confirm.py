#!/usr/bin/env python3
"""Whether the labels of the corpus are true: runs every program of it on a GPU and counts, line by line, the driver's calls that block the
host, and what PyTorch's own sync debug mode warns of. Prints each label that is not true. usage: confirm.py [FOLDER]

Needs PyTorch and a GPU; JAX where it is there. JAX waits for its own threads and not in the driver, so its reads are judged by its guard of
transfers, and block_until_ready by nothing.
"""

import json
import os
import pathlib
import re
import sys
import tempfile
import traceback
import types
import warnings

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
BLOCKING = re.compile(r"cu(da)?(StreamSynchronize|DeviceSynchronize|CtxSynchronize|EventSynchronize|Free|Memcpy|MemcpyDtoH|MemcpyHtoD)(_v\d+)?$")
ADVICE = {"unpinned-loader"}  # says what to do so that another line need not wait
UNSEEN = {"jax-block", "pin-memory", "query-loop"}  # waits without a call that is counted


def programs(path):
    """(name, source with every line where it is in the file)"""
    lines = path.read_text().splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("# %% ")] + [len(lines)]
    for begin, end in zip(starts, starts[1:]):
        kept = [line if i < starts[0] or begin <= i < end else "" for i, line in enumerate(lines)]
        yield lines[begin][5:], "\n".join(kept) + "\n"


def labels(source):
    """{line: rules}; lines that may wait without a finding have None"""
    found = {}
    for number, line in enumerate(source.splitlines(), 1):
        if match := re.search(r"# sync: ([\w, -]+)$", line):
            found[number] = set(match[1].split(", "))
        elif "# sync, not reported: " in line or "# tutti: allow sync (" in line:
            found[number] = None
    return found


class Lines:
    """Opens a range of the profiler for each line of a program while that runs."""

    def __init__(self, path, name):
        self.path, self.name, self.range = str(path), name, None

    def enter(self, line):
        self.leave()
        import torch

        self.range = torch.profiler.record_function(f"line {line} of {self.path} in {self.name}")
        self.range.__enter__()

    def leave(self):
        if self.range is not None:
            self.range.__exit__(None, None, None)
            self.range = None

    def __call__(self, frame, event, argument):
        if frame.f_code.co_filename != self.path:
            return None
        if event == "line":
            self.enter(frame.f_lineno)
        elif event == "return":
            self.leave()
            caller = frame.f_back
            while caller is not None and caller.f_code.co_filename != self.path:  # the library's between two modules
                caller = caller.f_back
            if caller is not None:
                self.enter(caller.f_lineno)
        return self


def stand_ins():
    """Libraries that may be missing, reading the values they are given as the real ones do."""
    import importlib.util

    def missing(name):
        try:
            return importlib.util.find_spec(name) is None
        except ModuleNotFoundError:
            return True

    if missing("tqdm"):
        class Bar:
            def __init__(self, over):
                self.over = over

            def __iter__(self):
                return iter(self.over)

            def set_postfix(self, **values):
                return [str(value) for value in values.values()]

            def set_description(self, text):
                return text

        sys.modules["tqdm"] = types.SimpleNamespace(tqdm=Bar)
    sys.modules["wandb"] = types.SimpleNamespace(log=lambda values: [float(value) for value in values.values()])
    if missing("tensorboard"):
        class Writer:
            def add_scalar(self, name, value, step):
                return float(value)

        sys.modules["torch.utils.tensorboard"] = types.SimpleNamespace(SummaryWriter=Writer)


def run(name, source, path, tracer=None):
    """None, or what went wrong"""
    before, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), open(os.devnull, "w"), open(os.devnull, "w")
    try:
        code = compile(source, str(path), "exec")
        sys.settrace(tracer)
        try:
            exec(code, {"__name__": name.replace(" ", "_")})
        finally:
            sys.settrace(None)
            if tracer is not None:
                tracer.leave()
    except Exception:
        return traceback.format_exc().strip().splitlines()[-1]
    finally:
        sys.stdout, sys.stderr = before
    return None


def judged_by_profiler(path):
    """{(program, line): blocking calls}, and programs that do not run"""
    import torch

    found, failed = {}, {}
    for name, source in programs(path):
        if fault := run(name, source, path):
            failed[name] = fault
    warned = []
    warnings.simplefilter("always")
    torch.cuda.set_sync_debug_mode("warn")
    warnings.showwarning = lambda text, category, file, line, *rest: warned.append((file, line)) if "synchronizing" in str(text) else None
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        for name, source in programs(path):
            if name not in failed:
                torch.cuda.synchronize()
                count = len(warned)
                run(name, source, path, Lines(path, name))
                for file, line in warned[count:]:
                    if file == str(path):
                        found.setdefault((name, line), []).append("warned")
    torch.cuda.set_sync_debug_mode("default")
    with tempfile.TemporaryDirectory() as folder:
        profiler.export_chrome_trace(f"{folder}/trace.json")
        events = json.loads(pathlib.Path(f"{folder}/trace.json").read_text())["traceEvents"]
    ranges = sorted((e["ts"], e["ts"] + e["dur"], e["name"]) for e in events if e.get("ph") == "X" and e["name"].startswith("line ") and e.get("cat") == "user_annotation")
    for e in events:
        if e.get("ph") != "X" or e.get("cat") not in ("cuda_runtime", "cuda_driver") or not BLOCKING.match(e["name"]):
            continue
        for begin, end, label in ranges:
            if begin <= e["ts"] <= end:
                line, name = re.match(r"line (\d+) of \S+ in (.*)$", label).groups()
                found.setdefault((name, int(line)), []).append(e["name"])
                break
    return found, failed


def judged_by_guard(path):
    import jax

    found, failed = {}, {}
    for name, source in programs(path):
        if fault := run(name, source, path):
            failed[name] = fault
            continue
        try:
            with jax.transfer_guard_device_to_host("disallow_explicit"):
                sys.stdout = open(os.devnull, "w")
                exec(compile(source, str(path), "exec"), {"__name__": "guarded"})
        except Exception as fault:
            frames = [f.lineno for f in traceback.extract_tb(fault.__traceback__) if f.filename == str(path)]
            if frames:
                found[name, frames[-1]] = [type(fault).__name__]
        finally:
            sys.stdout = sys.__stdout__
    return found, failed


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "corpus").resolve()
    stand_ins()
    confirmed = wrong = unseen = 0
    for path in sorted(folder.glob("*.py")):
        try:
            found, failed = (judged_by_guard if path.stem.startswith("jax") else judged_by_profiler)(path)
        except Exception as fault:
            print(f"{path.name}: not judged: {type(fault).__name__}: {fault}")
            continue
        for name, source in programs(path):
            if name in failed:
                print(f"{path.name}: '{name}' does not run: {failed[name]}")
                unseen += 1
                continue
            expected, text = labels(source), source.splitlines()
            for line in sorted(set(expected) | {line for program, line in found if program == name}):
                calls = found.get((name, line), [])
                rules = expected.get(line, set())
                if rules is None or (rules and not rules - ADVICE - UNSEEN):
                    unseen += 1
                elif bool(calls) != bool(rules):
                    wrong += 1
                    print(f"{path.name}:{line}: '{name}': {text[line - 1].strip()}\n    labelled {sorted(rules) or 'nothing'}, found {sorted(set(calls)) or 'nothing'}")
                else:
                    confirmed += 1
    print(f"{confirmed} labels confirmed, {wrong} wrong, {unseen} not judged")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
