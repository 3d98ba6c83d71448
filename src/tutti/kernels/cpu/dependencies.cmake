# What the CPU kernels need from outside; included from src/tutti/CMakeLists.txt after the tutti library is declared.

# Highway picks the best instruction set at run time. SSSE3 alone is left out: what has it has SSE4 too, or is too old to care.
find_package(hwy 1.0 REQUIRED)

# OpenBLAS without threads of its own, linked in whole so that no other BLAS of the process can take its place.
find_library(TUTTI_OPENBLAS NAMES libopenblas.a
  PATHS /usr/lib/x86_64-linux-gnu/openblas-serial NO_DEFAULT_PATH
  DOC "The serial OpenBLAS, as a static library")
if(NOT TUTTI_OPENBLAS)
  message(FATAL_ERROR "The serial static OpenBLAS was not found; install libopenblas-serial-dev or set TUTTI_OPENBLAS to its libopenblas.a")
endif()

# No fused multiply-add where none is written: random numbers must be the same on every machine.
target_compile_options(tutti_kernels_cpu PRIVATE -ffp-contract=off)
target_compile_definitions(tutti_kernels_cpu PRIVATE HWY_DISABLED_TARGETS=HWY_SSSE3)
target_link_libraries(tutti_kernels_cpu PRIVATE hwy::hwy)

target_link_libraries(tutti PRIVATE hwy::hwy ${TUTTI_OPENBLAS})
target_link_options(tutti PRIVATE -Wl,--exclude-libs,libopenblas.a)
