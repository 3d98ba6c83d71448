#!/usr/bin/env python3
"""What cmake/cuda.cmake decides and says, on machines with and without a GPU and a toolkit.
usage: cuda_choice_test.py CMAKE"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CMAKE = sys.argv.pop(1)
FILE = pathlib.Path(__file__).parents[2] / "cmake" / "cuda.cmake"

# No compiler is looked for or asked: the file's own decisions are what is left.
MACHINE = """cmake_minimum_required(VERSION 3.25)
macro(find_program)
endmacro()
macro(enable_language)
endmacro()
macro(find_package)
  set(CUDAToolkit_FOUND ON)
  set(CUDAToolkit_VERSION 13.0)
endmacro()
macro(target_compile_options)
endmacro()
include(cuda.cmake)
message(STATUS "built: ${TUTTI_HAS_CUDA} ${CMAKE_CUDA_ARCHITECTURES}")
"""


class CudaChoice(unittest.TestCase):
    def configure(self, cuda, gpus=0, nvcc=True, settings=(), environment=()):
        """The lines it says, the last one what is built; or the error."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "gpus").mkdir()
            for i in range(gpus):
                (folder / "gpus" / f"{i}").touch()
            text, replaced = re.subn(r"file\(GLOB gpus [^)]*\)", "file(GLOB gpus gpus/*)", FILE.read_text())
            self.assertEqual(replaced, 1)
            (folder / "cuda.cmake").write_text(text)
            (folder / "machine.cmake").write_text(MACHINE)
            compiler = ["-DTUTTI_NVCC=nvcc"] if nvcc else []
            clean = {k: v for k, v in os.environ.items() if k != "CUDAARCHS"}
            done = subprocess.run([CMAKE, f"-DTUTTI_CUDA={cuda}", *compiler, *settings, "-P", "machine.cmake"], cwd=folder,
                                  env=clean | dict(environment), text=True, capture_output=True)
            if done.returncode != 0:
                return " ".join(done.stderr.split())
            self.assertEqual(done.stderr, "")
            return done.stdout.replace("-- ", "").splitlines()

    def test_without_a_gpu_it_is_left_out_unless_asked_for(self):
        says, built = self.configure("AUTO")
        self.assertEqual(says, "tutti: no NVIDIA GPU here; CUDA is left out, GPUs are simulated (-DTUTTI_CUDA=ON builds it all the same)")
        self.assertEqual(built, "built: OFF ")
        says, built = self.configure("ON")
        self.assertIn("building the CUDA backend for 90", says)
        self.assertEqual(built, "built: ON 90")

    def test_where_there_is_a_gpu_it_is_built_for_that_one_asked_for_or_not(self):
        for cuda in ("AUTO", "ON"):
            says, built = self.configure(cuda, gpus=1)
            self.assertIn("building the CUDA backend for native", says)
            self.assertEqual(built, "built: ON native")

    def test_an_architecture_that_was_named_is_kept(self):
        for gpus in (0, 2):
            self.assertEqual(self.configure("ON", gpus, settings=["-DCMAKE_CUDA_ARCHITECTURES=80"])[-1], "built: ON 80")
            # CMake itself reads the variable of the environment when the language is enabled.
            self.assertEqual(self.configure("ON", gpus, environment={"CUDAARCHS": "80"})[-1], "built: ON ")

    def test_off_means_off_even_with_a_gpu(self):
        says, built = self.configure("OFF", gpus=1)
        self.assertEqual(says, "tutti: TUTTI_CUDA is off; building for cpu and simulated GPUs")
        self.assertEqual(built, "built: OFF ")

    def test_without_a_toolkit_asking_for_it_is_an_error_and_not_asking_is_not(self):
        self.assertIn("TUTTI_CUDA is ON, but there is no CUDA toolkit: put its nvcc into PATH or set TUTTI_NVCC.",
                      self.configure("ON", nvcc=False))
        says, built = self.configure("AUTO", gpus=1, nvcc=False)
        self.assertEqual(says, "tutti: there is a GPU but no CUDA toolkit (nvcc); building for cpu and simulated GPUs")
        self.assertEqual(built, "built: OFF ")


if __name__ == "__main__":
    unittest.main()
