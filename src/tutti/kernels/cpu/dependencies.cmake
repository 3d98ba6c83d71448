# What the CPU kernels need from outside; included from src/tutti/CMakeLists.txt after the tutti library is declared.

# Highway: SIMD with the instruction set picked at run time. Linked by its path, so that users of an installed tutti need
# not find it.
find_path(TUTTI_HWY_INCLUDE hwy/highway.h REQUIRED DOC "Where Highway's headers are; Debian: libhwy-dev")
find_library(TUTTI_HWY hwy REQUIRED DOC "Highway's library; Debian: libhwy-dev")

# OpenBLAS without threads of its own, linked in statically so that no other BLAS of the process can take its place.
find_library(TUTTI_OPENBLAS NAMES libopenblas.a
  PATHS /usr/lib/x86_64-linux-gnu/openblas-serial NO_DEFAULT_PATH
  DOC "The serial OpenBLAS as a static library; Debian: libopenblas-serial-dev")
if(NOT TUTTI_OPENBLAS)
  message(FATAL_ERROR "The serial static OpenBLAS was not found: install libopenblas-serial-dev or set TUTTI_OPENBLAS to its libopenblas.a.")
endif()

# No fused multiply-add where none is written: random numbers must be the same on every machine.
target_compile_options(tutti_kernels_cpu PRIVATE -ffp-contract=off)
# Loops are compiled for AVX2 and without it (processors from before 2013). Those that compute more than they load, and
# instruction_set.cc, which says what there is, are compiled for AVX-512 too; under a sanitizer, where a copy takes longest to
# compile, for one of the two: each sanitizer sees another.
set(wide activations angles arithmetic conversion_rows convolution_rows divisions exponentials hyperbolics instruction_set line_rows
  moment_rows normal_rows philox_rows product_rows)
list(TRANSFORM wide REPLACE "(.+)" "${CMAKE_CURRENT_LIST_DIR}/\\1.cc")
set(in_general HWY_SSSE3|HWY_SSE4|HWY_AVX3)
set(in_wide HWY_SSSE3|HWY_SSE4)
if(TUTTI_SANITIZE MATCHES "address")
  # Its build leaves out the optimiser, since most of it is compiled for longer than it runs; these loops are not. A null address
  # is caught anyway (linked last: what comes later counts).
  string(APPEND in_wide |HWY_AVX2)
  target_compile_options(tutti_kernels_cpu PRIVATE -O1)
  add_library(tutti_kernel_flags INTERFACE)
  target_compile_options(tutti_kernel_flags INTERFACE -fno-sanitize=null)
  target_link_libraries(tutti_kernels_cpu PRIVATE tutti_kernel_flags)
elseif(TUTTI_SANITIZE MATCHES "thread")
  set(in_wide ${in_general})
endif()
get_target_property(sources tutti_kernels_cpu SOURCES)
foreach(source IN LISTS sources)
  get_source_file_property(is_vectorised ${source} SKIP_UNITY_BUILD_INCLUSION)
  if(source IN_LIST wide)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS "HWY_DISABLED_TARGETS=(${in_wide})")
  elseif(is_vectorised)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS "HWY_DISABLED_TARGETS=(${in_general})")
  endif()
endforeach()
# A loop with a square root in it is vectorised only where nobody asks for its errno.
set_property(SOURCE ${CMAKE_CURRENT_LIST_DIR}/optimizer_steps.cc APPEND PROPERTY COMPILE_OPTIONS -fno-math-errno)
target_include_directories(tutti_kernels_cpu SYSTEM PRIVATE ${TUTTI_HWY_INCLUDE})

target_link_libraries(tutti PRIVATE ${TUTTI_HWY} ${TUTTI_OPENBLAS})
target_link_options(tutti PRIVATE -Wl,--exclude-libs,libopenblas.a)
# It brings its kernels for 20 processors, more than half of what the library weighs. Those of before AVX2 share two of them, where it
# has both: what has AVX takes Sandy Bridge's, what has SSE3 Prescott's.
file(STRINGS ${TUTTI_OPENBLAS} tables REGEX "gotoblas_(PRESCOTT|SANDYBRIDGE)" LIMIT_INPUT 4000000 LIMIT_COUNT 2)
list(JOIN tables " " tables)
if(tables MATCHES "gotoblas_PRESCOTT" AND tables MATCHES "gotoblas_SANDYBRIDGE")
  foreach(old ATOM BARCELONA BOBCAT CORE2 DUNNINGTON NANO OPTERON_SSE3 PENRYN)
    target_link_options(tutti PRIVATE -Wl,--defsym=gotoblas_${old}=gotoblas_PRESCOTT)
  endforeach()
  foreach(old BULLDOZER EXCAVATOR PILEDRIVER STEAMROLLER)
    target_link_options(tutti PRIVATE -Wl,--defsym=gotoblas_${old}=gotoblas_SANDYBRIDGE)
  endforeach()
endif()
# Its working buffers come from blas_buffers.cc: its own are not safe for callers on several threads.
target_link_options(tutti PRIVATE -Wl,--wrap=blas_memory_alloc -Wl,--wrap=blas_memory_free)
# And a processor it does not know is told to it by blas_core.cc.
target_link_options(tutti PRIVATE -Wl,--wrap=getenv)
