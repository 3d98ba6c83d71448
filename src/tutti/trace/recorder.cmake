# The library that `tutti trace` has loaded into other people's programs. It needs the headers of CUDA and CUPTI, no GPU and no compiler of
# theirs; CUPTI itself is opened in the traced program. Nothing of ours is linked, and nothing newer than glibc 2.34 is used.
find_path(TUTTI_CUPTI_HEADERS cupti.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_HOME PATHS /usr/local/cuda
          PATH_SUFFIXES include extras/CUPTI/include DOC "Where cupti.h is; it comes with the CUDA toolkit")
find_path(TUTTI_CUDA_HEADERS cuda.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES include
          DOC "Where cuda.h is")
if(NOT TUTTI_CUPTI_HEADERS OR NOT TUTTI_CUDA_HEADERS)
  message(STATUS "tutti: no headers of CUPTI found; `tutti trace` will read traces and record none")
  return()
endif()
file(STRINGS ${TUTTI_CUPTI_HEADERS}/cupti_version.h cupti_version REGEX "define CUPTI_API_VERSION +[0-9]+")
string(REGEX MATCH "[0-9]+$" cupti_version "${cupti_version}")
if(cupti_version LESS 18)  # of CUDA 12.0
  message(STATUS "tutti: the headers of CUPTI are older than CUDA 12; `tutti trace` will read traces and record none")
  return()
endif()
file(GLOB sources CONFIGURE_DEPENDS trace/recorder/*.cc)
add_library(tutti_trace_recorder MODULE ${sources})
target_include_directories(tutti_trace_recorder PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(tutti_trace_recorder SYSTEM PRIVATE ${TUTTI_CUPTI_HEADERS} ${TUTTI_CUDA_HEADERS})
# Without the sanitizers: the programs it is loaded into have none.
target_compile_options(tutti_trace_recorder PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Werror -fvisibility=hidden -fvisibility-inlines-hidden
                       -ffunction-sections -fdata-sections)
# What is not used of libstdc++ goes: it would ask for a newer glibc.
target_link_options(tutti_trace_recorder PRIVATE -static-libstdc++ LINKER:--gc-sections LINKER:--exclude-libs,ALL LINKER:--no-undefined LINKER:-z,nodelete)
target_link_libraries(tutti_trace_recorder PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
set_target_properties(tutti_trace_recorder PROPERTIES OUTPUT_NAME tutti_trace UNITY_BUILD OFF BUILD_RPATH "" SKIP_BUILD_RPATH ON)
