#!/usr/bin/env python3
"""Runs example programs with one fault of a simulated GPU each, chosen by a seed: every run ends in time, and one that fails says what
failed, on which device and in which line of the program. usage: faults.py SEEDS PROGRAM..."""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

seeds, *programs = sys.argv[1:]
ours = ("TUTTI_", "CUDA_VISIBLE_DEVICES", "TF_FORCE_GPU_ALLOW_GROWTH")
plain = {k: v for k, v in os.environ.items() if not k.startswith(ours)}


def fault_of(program, seed):
    """What is wrong with that run, or None, and whether the fault was met."""
    environment = {**plain, "TUTTI_SIM_GPUS": "4", "TUTTI_SIM_FAULT": str(seed)}
    try:
        done = subprocess.run([program], env=environment, text=True, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "did not end within 60 s", True
    if done.returncode == 0:
        return None, False
    # A program that does not catch the error ends as C++ says, with the message.
    if done.returncode != -signal.SIGABRT:
        return f"ended with {done.returncode}: {done.stderr}", True
    if not re.search(r"what\(\): .*(injected (kernel|copy|allocation) failure).*\[at \S+:\d+\]", done.stderr, re.DOTALL):
        return f"said: {done.stderr}", True
    return None, True


def main():
    runs = [(program, seed) for program in programs for seed in range(int(seeds))]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda run: fault_of(*run), runs))
    wrong = [f"TUTTI_SIM_FAULT={seed} {program} {fault}" for (program, seed), (fault, _) in zip(runs, results) if fault]
    met = sum(was_met for _, was_met in results)
    print(f"{len(runs)} runs, {met} met the fault")
    print("\n".join(wrong))
    sys.exit(1 if wrong or met < len(runs) / 10 else 0)


main()
