#!/usr/bin/env python3
"""What the source tree promises about itself. usage: architecture.py ROOT (prints each broken promise and fails)"""

import pathlib
import re
import sys

MOST_HEADER_LINES = 200
MOST_FILE_LINES = 500
VAGUE_NAMES = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"}

CUDA_HEADER = re.compile(r"^(cuda|cublas|cudnn|cufft|curand|cusparse|cusolver|nvrtc|nvml|nccl|cupti|nvtx|nvToolsExt|cub/|thrust/|driver_types)")
CUDA_FOLDERS = (
    "src/tutti/backends/cuda/",
    "src/tutti/kernels/cuda/",
    "src/tutti/mesh/nccl/",
    "src/tutti/trace/recorder/",  # what is loaded into other CUDA programs
    "tests/cuda/",  # kernels that misbehave on purpose, and CUPTI
    "tests/nccl/",  # memory of the GPU without a runtime around it
    "tests/trace/",  # programs to trace, and a CUPTI without a GPU
    "benchmarks/gpu/",  # bare CUDA to compare with
)

# The host blocks only behind the door of hal; short mutexes are exempt everywhere. What meets other processes blocks as a backend
# does: whoever calls it stands at the door, or is a thread of the mesh.
BLOCKING_FOLDERS = ("src/tutti/hal/", "src/tutti/backends/", "src/tutti/mesh/wire/", "src/tutti/mesh/control/",
                    "src/tutti/mesh/engines/", "src/tutti/mesh/nccl/")
BLOCKING = {
    "condition_variable": r"\bcondition_variable",
    "future": r"\bstd::(shared_)?(future|promise|packaged_task|async)\b|#include <future>",
    "latch": r"\bstd::latch\b|#include <latch>",
    "barrier": r"\bstd::barrier\b|#include <barrier>",
    "semaphore": r"\b(counting|binary)_semaphore\b|\bsem_(timed)?wait\b|#include <semaphore",
    "wait": r"(\.|->)wait\s*\(|\bwait(_for|_until|pid)\s*\(|\batomic_wait",
    "join": r"(\.|->)join\s*\(\s*\)|\bstd::jthread\b",
    "sleep": r"\b(u|nano|clock_nano)?sleep(_for|_until)?\s*\(",
    "yield": r"\bthis_thread::yield\b|\bsched_yield\b",
    "futex": r"\bfutex\b|\bSYS_futex\b",
    "poll": r"\be?p?poll(_wait|_pwait)?\s*\(|\bp?select\s*\(\s*\w+\s*,\s*&",
    "block_until": r"(\.|->)block_until\s*\(",  # a stream's own blocking, for the door alone
}
# (file, primitive): why it may stand there all the same.
MAY_BLOCK = {
    ("src/tutti/mesh/meeting_place.cc", "wait"): "a barrier calls it behind the door, a collective from the mesh's own thread",
    ("src/tutti/mesh/meeting_place.h", "condition_variable"): "who has met waits, as above, to hear who was lost",
    ("src/tutti/base/end_of_process.cc", "semaphore"): "a thread of its own waits for a signal; a process that ends, for its report",
    ("src/tutti/ops/dlpack.cc", "wait"): "a stream waits for a point, not the host",
    ("src/tutti/base/short_lock.cc", "yield"): "a lock held for a few instructions: its holder may have lost its core",
    ("src/tutti/trace/recorder/sleeps.cc", "futex"): "hands on the sleeps of a program that is not ours",
    ("src/tutti/trace/recorder/sleeps.cc", "semaphore"): "hands on the sleeps of a program that is not ours",
    ("src/tutti/trace/recorder/sleeps.cc", "sleep"): "hands on the sleeps of a program that is not ours",
    ("src/tutti/trace/recorder/work_records.cc", "sleep"): "a thread of the recorder, which asks CUPTI for records twice a second",
    ("src/tools/trace.cc", "wait"): "the command's own child, which is all it has to do",
    ("src/tools/barrier.cc", "wait"): "a command that waits and does nothing else",
    ("src/tools/launch.cc", "poll"): "the launcher is a process without a device",
    ("src/tools/coordinator_thread.cc", "join"): "the launcher's own thread, when its ranks have ended",
    ("src/tools/rank_guard.cc", "wait"): "the launcher's own child",
    ("src/tools/rank_process.cc", "wait"): "the launcher's own child",
}

# Headers without #pragma once: why they are included more than once.
INCLUDED_AGAIN = {
    "src/tutti/exec/scalar_functions.h": "compiled once per instruction set, inside the backend's namespace",
    "src/tutti/exec/scalar_arithmetic.h": "a part of scalar_functions.h",
    "src/tutti/exec/scalar_comparison.h": "a part of scalar_functions.h",
    "src/tutti/exec/scalar_division.h": "a part of scalar_functions.h",
    "src/tutti/exec/scalar_exponential.h": "a part of scalar_functions.h",
    "src/tutti/exec/scalar_activation.h": "a part of scalar_functions.h",
    "src/tutti/exec/scalar_gradients.h": "included behind scalar_functions.h",
    "src/tutti/kernels/cuda/freestanding.cuh": "one text under many names; a guard of its own",
    "src/tutti/kernels/cpu/combinations.h": "compiled once per instruction set",
    "src/tutti/kernels/cpu/reduction_lanes.h": "compiled once per instruction set",
    "src/tutti/kernels/cpu/reduction_loops.h": "compiled once per instruction set",
    "src/tutti/kernels/cpu/row_loops.h": "compiled once per instruction set",
    "src/tutti/kernels/cpu/row_operands.h": "compiled once per instruction set",
    "src/tutti/kernels/cpu/vector_angles.h": "compiled once per instruction set",
    "src/tutti/kernels/cpu/vector_basics.h": "compiled once per instruction set",
    "src/tutti/kernels/cpu/vector_division.h": "compiled once per instruction set",
    "src/tutti/kernels/cpu/vector_exponentials.h": "compiled once per instruction set",
    "src/tutti/kernels/cpu/vector_halves.h": "compiled once per instruction set",
    "src/tutti/kernels/cpu/vector_logarithms.h": "compiled once per instruction set",
    "src/tutti/kernels/cpu/vector_math.h": "compiled once per instruction set",
}

# Angle includes of public headers: the standard library's have neither a dot nor a slash.
STANDARD_HEADER = re.compile(r"^[a-z0-9_]+$")
PRIVATE_FOLDERS = ("src/tutti/kernels/", "src/tutti/backends/", "src/tutti/mesh/nccl/", "src/tutti/trace/recorder/")


def read_modules(root):
    """{module: every module it may use}, from the declarations in src/tutti/CMakeLists.txt."""
    declared = {}
    text = re.sub(r"#.*", "", (root / "src/tutti/CMakeLists.txt").read_text())
    for name, rest in re.findall(r"tutti_module\(\s*([\w/]+)([^)]*)\)", text):
        words = rest.split()
        declared[name] = words[words.index("USES") + 1 :] if "USES" in words else []

    def closure(name, seen):
        for used in declared.get(name, []):
            if used not in seen:
                seen.add(used)
                closure(used, seen)
        return seen

    return {name: closure(name, set()) for name in declared}


def module_of(path, modules):
    """The declared module a path such as 'backends/cpu/device.h' belongs to."""
    for folder in reversed(pathlib.PurePosixPath(path).parents):
        if str(folder) in modules:
            return str(folder)
    return None


def without_comments_and_strings(text):
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    keep_lines = lambda match: "\n" * match.group().count("\n") if match.group().startswith("/") else '""'
    # Digit separators (1'000) look like character literals.
    return re.sub(pattern, keep_lines, re.sub(r"(?<=\d)'(?=\d)", "", text), flags=re.DOTALL)


def includes(text):
    """(line number, opening quote, header)"""
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line):
            yield number, match.group(1), match.group(2)


def check_cuda_headers(name, text):
    for number, _, header in includes(text):
        if CUDA_HEADER.match(header) and not name.startswith(CUDA_FOLDERS):
            yield f"{name}:{number}: the CUDA header {header} may stand in {', '.join(CUDA_FOLDERS)} only"


def check_includes(root, name, text, modules):
    own = module_of(name.removeprefix("src/tutti/"), modules) if name.startswith("src/tutti/") else None
    if name.count("/") > 2 and name.startswith("src/tutti/") and own is None:
        yield f"{name}: its folder is no declared module (src/tutti/CMakeLists.txt)"
        return
    is_public = name.startswith("src/tutti/") and name.endswith(".h") and not name.startswith(PRIVATE_FOLDERS)
    for number, quote, header in includes(text):
        where = f"{name}:{number}"
        if is_public and quote == "<" and not STANDARD_HEADER.match(header):
            yield f"{where}: a public header includes <{header}>, which is neither the standard library's nor ours"
        if quote == '"' and "/" not in header and name.startswith("src/tutti/"):
            yield f'{where}: include "{header}" by its full path from src/'
        if not header.startswith("tutti/"):
            continue
        if not (root / "src" / header).exists():
            yield f"{where}: there is no {header}"
            continue
        used = module_of(header.removeprefix("tutti/"), modules)
        if is_public and f"src/{header}".startswith(PRIVATE_FOLDERS):
            yield f"{where}: a public header includes {header}, which is not installed"
        if own is not None and used != own and used not in modules[own]:
            yield f"{where}: {own} may not use {used or 'the umbrella header'} ({header})"


def check_blocking(name, code, used_exemptions):
    if name.startswith(BLOCKING_FOLDERS):
        return
    for number, line in enumerate(code.splitlines(), 1):
        for primitive, pattern in BLOCKING.items():
            if not re.search(pattern, line):
                continue
            if (name, primitive) in MAY_BLOCK:
                used_exemptions.add((name, primitive))
            else:
                yield f"{name}:{number}: blocks the host ({primitive}); go through the door: await or BlockingRegion of hal"


def check_shape(name, text):
    lines = text.count("\n")
    if name.endswith((".h", ".cuh")):
        if lines >= MOST_HEADER_LINES:
            yield f"{name}: {lines} lines; a header holds one idea and stays under {MOST_HEADER_LINES}"
        if not text.startswith("// "):
            yield f"{name}: a header opens with one sentence that says what it is for"
        if "#pragma once" not in text and name not in INCLUDED_AGAIN:
            yield f"{name}: #pragma once is missing"
    if lines >= MOST_FILE_LINES:
        yield f"{name}: {lines} lines; a file stays under {MOST_FILE_LINES}"
    if match := re.search(r"\b(TODO|FIXME|XXX)\b", text):
        yield f"{name}: says {match.group()}"


def check_names(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if "__pycache__" in path.parts:
                continue
            if vague := VAGUE_NAMES & set(path.stem.lower().split("_")):
                yield f"{path.relative_to(root)}: '{vague.pop()}' says nothing; name it after what it does"


def violations(root):
    root = pathlib.Path(root)
    modules = read_modules(root)
    if not modules:
        yield "src/tutti/CMakeLists.txt declares no module"
    for module, used in modules.items():
        if module in used:
            yield f"{module} uses itself, through the modules it uses"
        for other in sorted(used - modules.keys()):
            yield f"{module} uses {other}, which is not declared"
        folder = root / "src/tutti" / module
        if not (folder / "README.md").exists():
            yield f"src/tutti/{module} has no README.md"
    table = (root / "README.md").read_text()
    for path in sorted((root / "src/tutti").rglob("README.md")):
        if f"({path.relative_to(root)})" not in table:
            yield f"README.md does not list {path.parent.relative_to(root)} among the modules"

    used_exemptions = set()
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cc", ".cu", ".cuh"):
            continue
        name = str(path.relative_to(root))
        text = path.read_text()
        yield from check_includes(root, name, text, modules)
        yield from check_cuda_headers(name, text)
        yield from check_blocking(name, without_comments_and_strings(text), used_exemptions)
        yield from check_shape(name, text)
    for folder in ("tests", "fuzz", "examples", "benchmarks"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc", ".cu", ".cuh"):
                yield from check_cuda_headers(str(path.relative_to(root)), path.read_text())
    for name, primitive in sorted(MAY_BLOCK.keys() - used_exemptions):
        yield f"the exemption of {name} for '{primitive}' is no longer needed"
    yield from check_names(root, ("src", "tests", "fuzz", "examples", "benchmarks"))


if __name__ == "__main__":
    found = list(violations(sys.argv[1]))
    print("\n".join(found) or "The tree keeps its promises.")
    sys.exit(1 if found else 0)
