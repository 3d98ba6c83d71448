# How a module is declared. A module is the folder of the same name; the modules it may use are stated here and
# checked against its includes by tests/architecture.

add_library(tutti_flags INTERFACE)
target_compile_options(tutti_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wredundant-decls -Wzero-as-null-pointer-constant -Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(tutti_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)  # GCC 12 sees overlaps in std::string that are not there (PR 105651)
endif()
if(TUTTI_SANITIZE)
  target_compile_options(tutti_flags INTERFACE -fsanitize=${TUTTI_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tutti_flags INTERFACE -fsanitize=${TUTTI_SANITIZE})
endif()

# tutti_module(backends/cpu USES backends/strand); APART: not a part of the library
function(tutti_module folder)
  cmake_parse_arguments(module "APART" "" "USES" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc ${folder}/*.cu)
  if(NOT sources)
    add_library(tutti_${name} INTERFACE)
    return()
  endif()
  add_library(tutti_${name} OBJECT ${sources})
  target_include_directories(tutti_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(tutti_${name} PRIVATE tutti_flags)
  # Sources compiled several at a time share the reading of headers, which is most of what a short one costs. Not those that Highway
  # includes again and again, once for each instruction set.
  set_target_properties(tutti_${name} PROPERTIES UNITY_BUILD ${TUTTI_UNITY} UNITY_BUILD_BATCH_SIZE 12)
  foreach(source IN LISTS sources)
    file(STRINGS ${source} per_instruction_set REGEX "hwy/foreach_target.h")
    if(per_instruction_set)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  # Calls inside the library are calls inside the library: no other object may take a function's place. The few thread-local
  # variables are reached without a call, except beside the CUDA runtime, whose own leave no room for that in a process that
  # loads the library late (a Python extension).
  target_compile_options(tutti_${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
  if(NOT TUTTI_HAS_CUDA)
    target_compile_options(tutti_${name} PRIVATE -ftls-model=initial-exec)
  endif()
  foreach(used IN LISTS module_USES)
    string(REPLACE "/" "_" used ${used})
    target_link_libraries(tutti_${name} PUBLIC tutti_${used})
  endforeach()
  if(NOT module_APART)
    set_property(GLOBAL APPEND PROPERTY TUTTI_MODULES tutti_${name})
  endif()
endfunction()
