#!/usr/bin/env python3
"""Runs example programs with one fault of a simulated GPU each, chosen by a seed. Every run ends in time, and either
- fails, and says what failed, on which device and in which line of the program, or
- ends with 0 and prints what it prints without a fault, but for lines that say the same of the fault: the program caught it.
Programs after --times print times: their numbers may differ, and they run with a few seeds only.
usage: faults.py SEEDS PROGRAM... [--times PROGRAM...]"""

import difflib
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

seeds, *programs = sys.argv[1:]
mark = programs.index("--times") if "--times" in programs else len(programs)
timed = programs[mark + 1 :]
programs = programs[:mark]
ours = ("TUTTI_", "CUDA_VISIBLE_DEVICES", "TF_FORCE_GPU_ALLOW_GROWTH")
plain = {k: v for k, v in os.environ.items() if not k.startswith(ours)} | {"TUTTI_SIM_GPUS": "4"}
told = re.compile(r"injected (kernel|copy|allocation) failure.*\[at \S+:\d+\]", re.DOTALL)


def run(program, settings):
    # What it prints may depend on what has already run, so one schedule is taken.
    schedule = {"TUTTI_SIM_DRIVER": "stepped", "TUTTI_SIM_SEED": "0"} if program.endswith("streams_and_events") else {}
    return subprocess.run([program], env={**plain, **schedule, **settings}, text=True, capture_output=True, timeout=60)


def printed(program, done):
    text = done.stdout + done.stderr
    return (re.sub(r" *\d+(\.\d+)?(e[-+]?\d+)?( (ns|us|ms|s)\b)?", " #", text) if program in timed else text).splitlines(True)


def unlike(wanted, found):
    """The lines of each place where they differ, unless those found there tell of the fault."""
    matcher = difflib.SequenceMatcher(None, wanted, found, autojunk=False)
    changes = [(wanted[a:b], found[c:d]) for kind, a, b, c, d in matcher.get_opcodes() if kind != "equal"]
    return ["".join(f"-{line}" for line in was) + "".join(f"+{line}" for line in now)
            for was, now in changes if not told.search("".join(now))]


def fault_of(program, seed, wanted):
    """What is wrong with that run, or None, and whether the fault was met."""
    try:
        done = run(program, {"TUTTI_SIM_FAULT": str(seed)})
    except subprocess.TimeoutExpired:
        return "did not end within 60 s", True
    if done.returncode == 0:
        found = printed(program, done)
        different = unlike(wanted, found)
        return (f"ended with 0 and printed:\n{''.join(different)}" if different else None), found != wanted
    # A program that does not catch the error ends as C++ says, with the message.
    if done.returncode != -signal.SIGABRT:
        return f"ended with {done.returncode}: {done.stderr}", True
    if not re.search(r"what\(\): .*" + told.pattern, done.stderr, re.DOTALL):
        return f"said: {done.stderr}", True
    return None, True


def without_fault(program):
    done = run(program, {})
    if done.returncode != 0:
        sys.exit(f"{program} ended with {done.returncode} without a fault:\n{done.stderr}")
    return printed(program, done)


def main():
    runs = [(program, seed) for program in programs for seed in range(int(seeds))]
    runs += [(program, seed) for program in timed for seed in range(min(int(seeds), 10))]
    wanted = {program: without_fault(program) for program in programs + timed}
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda run: fault_of(*run, wanted[run[0]]), runs))
    wrong = [f"TUTTI_SIM_FAULT={seed} {program} {fault}" for (program, seed), (fault, _) in zip(runs, results) if fault]
    met = sum(was_met for _, was_met in results)
    print(f"{len(runs)} runs of {len(wanted)} programs, {met} met the fault")
    print("\n".join(wrong))
    sys.exit(1 if wrong or met < len(runs) / 20 else 0)


main()
