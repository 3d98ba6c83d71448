#!/usr/bin/env python3
"""Shows that architecture.py accepts a good tree and catches each kind of violation, and only that."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import architecture

GOOD = {
    "README.md": "".join(f"| [it](src/tutti/{module}/README.md) |\n" for module in ("base", "hal", "memory", "backends/cpu", "backends/cuda")),
    "src/tutti/CMakeLists.txt": "tutti_module(base)\ntutti_module(hal USES base)\ntutti_module(memory USES hal)\n"
    "tutti_module(backends/cpu USES hal)  # tutti_module(not_this)\n",
    "src/tutti/tutti.h": '// Everything.\n#pragma once\n#include "tutti/memory/pool.h"\n',
    "src/tutti/base/README.md": "",
    "src/tutti/hal/README.md": "",
    "src/tutti/memory/README.md": "",
    "src/tutti/backends/cpu/README.md": "",
    "src/tutti/base/text.h": "// Text.\n#pragma once\n#include <string>\n",
    "src/tutti/hal/door.cc": '#include "tutti/hal/door.h"\n#include <condition_variable>\nvoid f() { ready.wait(lock); }\n',
    "src/tutti/hal/door.h": '// The door.\n#pragma once\n#include "tutti/base/text.h"\n',
    "src/tutti/memory/pool.h": '// The pool.\n#pragma once\n#include "tutti/base/text.h"\n#include "tutti/hal/door.h"\n',
    "src/tutti/memory/pool.cc": '#include "tutti/memory/pool.h"\n'
    "// std::condition_variable in a comment\n/* futex,\n sleep(1) */\nauto text = \"x.wait(y)\"; int n = 1'000'000;\n"
    "void await_point(); void f() { await_point(); stream.waits(); oversleep_(2); }\n",
    "src/tutti/backends/cpu/device.cc": '#include "tutti/hal/door.h"\nvoid g() { std::this_thread::sleep_for(x); thread.join(); }\n',
}


class Architecture(unittest.TestCase):
    def found(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (GOOD | changes).items():
                if text is None:
                    continue
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return list(architecture.violations(folder))

    def catches(self, changes, *expected):
        found = self.found(changes)
        self.assertEqual(len(found), 1, found)
        for part in expected:
            self.assertIn(part, found[0])

    def setUp(self):
        architecture.MAY_BLOCK = {}

    def test_accepts_a_good_tree(self):
        self.assertEqual(self.found({}), [])

    def test_catches_an_include_against_the_arrows(self):
        self.catches(
            {"src/tutti/base/text.cc": '#include "tutti/base/text.h"\n#include "tutti/memory/pool.h"\n'},
            "src/tutti/base/text.cc:2", "base may not use memory",
        )
        self.catches({"src/tutti/hal/bad.cc": "#include <tutti/memory/pool.h>\n"}, "hal may not use memory")
        self.catches({"src/tutti/memory/bad.cc": '#include "tutti/tutti.h"\n'}, "may not use the umbrella header")

    def test_allows_what_is_used_through_another_module(self):
        self.assertEqual(self.found({"src/tutti/memory/fine.cc": '#include "tutti/base/text.h"\n'}), [])

    def test_catches_a_folder_that_is_no_module(self):
        self.catches({"src/tutti/extra/x.cc": "int x;\n"}, "src/tutti/extra/x.cc", "no declared module")

    def test_catches_modules_in_a_circle_and_undeclared_ones(self):
        circle = GOOD["src/tutti/CMakeLists.txt"].replace("(base)", "(base USES hal)")
        self.assertIn("base uses itself, through the modules it uses", self.found({"src/tutti/CMakeLists.txt": circle}))
        unknown = GOOD["src/tutti/CMakeLists.txt"].replace("(base)", "(base USES moon)")
        self.assertIn("base uses moon, which is not declared", self.found({"src/tutti/CMakeLists.txt": unknown}))
        self.assertEqual(self.found({"src/tutti/CMakeLists.txt": ""})[0], "src/tutti/CMakeLists.txt declares no module")

    def test_catches_includes_that_do_not_resolve(self):
        self.catches({"src/tutti/base/bad.cc": '#include "tutti/base/gone.h"\n'}, "there is no tutti/base/gone.h")
        self.catches({"src/tutti/base/bad.cc": '#include "text.h"\n'}, "by its full path")

    def test_catches_cuda_headers_outside_their_folders(self):
        for header in ("cuda_runtime.h", "nccl.h", "cub/cub.cuh", "cublasLt.h", "nvrtc.h", "cupti.h"):
            self.catches({"src/tutti/memory/bad.cc": f"#include <{header}>\n"}, "CUDA header", header)
        cuda = {
            "src/tutti/CMakeLists.txt": GOOD["src/tutti/CMakeLists.txt"] + "tutti_module(backends/cuda USES hal)\n",
            "src/tutti/backends/cuda/README.md": "",
            "src/tutti/backends/cuda/device.cc": "#include <cuda_runtime.h>\n",
        }
        self.assertEqual(self.found(cuda), [])
        for folder in ("tests/exec", "benchmarks"):
            self.catches({f"{folder}/bad_test.cc": "#include <cupti.h>\n"}, f"{folder}/bad_test.cc:1", "CUDA header")
        for folder in ("tests/cuda", "benchmarks/gpu"):
            self.assertEqual(self.found({f"{folder}/fine.cu": "#include <cuda_runtime.h>\n"}), [])

    def test_catches_third_party_and_private_headers_in_public_ones(self):
        public = "// Public.\n#pragma once\n"
        self.catches({"src/tutti/memory/bad.h": public + "#include <nlohmann/json.hpp>\n"}, "neither the standard library's")
        self.catches({"src/tutti/memory/bad.h": public + "#include <unistd.h>\n"}, "neither the standard library's")
        self.assertEqual(self.found({"src/tutti/memory/fine.cc": "#include <nlohmann/json.hpp>\n"}), [])
        self.assertEqual(self.found({"src/tutti/backends/cpu/fine.h": public + "#include <unistd.h>\n"}), [])
        self.catches(
            {
                "src/tutti/backends/cpu/device.h": public,
                "src/tutti/CMakeLists.txt": GOOD["src/tutti/CMakeLists.txt"].replace("memory USES hal", "memory USES backends/cpu"),
                "src/tutti/memory/bad.h": public + '#include "tutti/backends/cpu/device.h"\n',
            },
            "which is not installed",
        )

    def test_catches_every_way_to_block_outside_the_door(self):
        for code in (
            "#include <condition_variable>", "std::condition_variable_any c;", "std::future<int> f;", "std::promise<int> p;",
            "auto f = std::async(g);", "flag.wait(0);", "event->wait ();", "cv.wait_for(lock, t);", "cv.wait_until(lock, t);",
            "std::this_thread::sleep_for(t);", "usleep(3);", "nanosleep(&t, &r);", "sleep(1);", "syscall(SYS_futex, p);",
            "poll(fds, 1, -1);", "epoll_wait(e, v, 1, -1);", "select(n, &r, 0, 0, 0);", "std::latch l(1);", "std::barrier b(2);",
            "std::counting_semaphore<3> s(0);", "sem_wait(&s);", "thread.join();", "std::this_thread::yield();", "waitpid(p, &s, 0);",
            "stream.block_until(value, deadline);",
        ):  # fmt: skip
            self.catches({"src/tutti/memory/bad.cc": f"\n{code}\n"}, "src/tutti/memory/bad.cc:2", "blocks the host")
        self.catches({"src/tools/main.cc": "sleep(1);\n"}, "src/tools/main.cc:1")

    def test_an_exemption_holds_for_its_file_and_must_be_needed(self):
        architecture.MAY_BLOCK = {("src/tutti/memory/bad.cc", "join"): "ends its own thread"}
        self.assertEqual(self.found({"src/tutti/memory/bad.cc": "thread.join();\n"}), [])
        self.catches({}, "no longer needed")
        self.assertEqual(len(self.found({"src/tutti/memory/bad.cc": "sleep(1);\n"})), 2)

    def test_catches_a_module_without_a_readme(self):
        self.catches({"src/tutti/memory/README.md": None}, "src/tutti/memory has no README.md")
        self.catches({"src/tutti/backends/cpu/README.md": None}, "src/tutti/backends/cpu has no README.md")

    def test_catches_a_module_that_is_not_in_the_table(self):
        self.catches({"src/tutti/trace/README.md": "# trace\n"}, "README.md does not list src/tutti/trace")

    def test_catches_files_that_grew_too_long(self):
        self.catches({"src/tutti/memory/big.cc": "int x;\n" * 500}, "500 lines")
        self.assertEqual(self.found({"src/tutti/memory/big.cc": "int x;\n" * 499}), [])
        self.catches({"src/tutti/memory/big.h": "// Big.\n#pragma once\n" + "\n" * 198}, "200 lines")

    def test_catches_headers_without_their_opening(self):
        self.catches({"src/tutti/memory/bad.h": "#pragma once\n"}, "opens with one sentence")
        self.catches({"src/tutti/memory/bad.h": "// Fine.\n"}, "#pragma once is missing")

    def test_catches_vague_names_and_unfinished_work(self):
        self.catches({"src/tutti/memory/pool_utils.cc": ""}, "'utils' says nothing")
        self.catches({"tests/common/x.txt": ""}, "'common' says nothing")
        self.catches({"src/tutti/memory/bad.cc": "// TODO later\n"}, "says TODO")


if __name__ == "__main__":
    unittest.main()
