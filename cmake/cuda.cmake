# Looks for a CUDA toolkit. Without one, TUTTI_HAS_CUDA is off and the modules that need it are left out.
set(TUTTI_HAS_CUDA OFF)
if(NOT TUTTI_CUDA)
  return()
endif()
find_program(TUTTI_NVCC nvcc PATHS /usr/local/cuda/bin)
if(NOT TUTTI_NVCC)
  message(STATUS "tutti: no CUDA toolkit found (nvcc); building for cpu and simulated GPUs")
  return()
endif()

# A100, H100/H200, and PTX that later GPUs compile for themselves.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(CMAKE_CUDA_ARCHITECTURES "80-real;90")
endif()
set(CMAKE_CUDA_COMPILER ${TUTTI_NVCC})
set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
# Of host code, which only launches here; device code is optimised in any case.
set(CMAKE_CUDA_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "Flags of nvcc in a release")
enable_language(CUDA)
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know how to ask for it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
# The C++ compiler links, without the toolkit's folder in its path; what is needed is named where it is needed.
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
set(CMAKE_CUDA_IMPLICIT_LINK_LIBRARIES "")
find_package(CUDAToolkit 13.0)
if(NOT CUDAToolkit_FOUND)
  message(STATUS "tutti: the CUDA toolkit found is older than 13.0; building for cpu and simulated GPUs")
  return()
endif()
set(TUTTI_HAS_CUDA ON)
message(STATUS "tutti: CUDA toolkit ${CUDAToolkit_VERSION}: building the CUDA backend")

target_compile_options(tutti_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;--expt-relaxed-constexpr;--compress-mode=size;-Xcompiler=-Wall,-Wextra,-Werror,-Wno-unused-parameter>")
