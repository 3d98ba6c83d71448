# What the engines need from outside; included from src/tutti/CMakeLists.txt after the tutti library is declared.

# The word that decides a meeting is 128 bits wide; every x86-64 processor since 2006 compares and swaps that.
target_compile_options(tutti_mesh_engines PRIVATE -mcx16)

# gloo: sockets between processes. Without it everything else works, and asking for it says what is missing.
find_path(TUTTI_GLOO_INCLUDE gloo/context.h DOC "Where gloo's headers are; Debian: libgloo-dev")
find_library(TUTTI_GLOO_LIBRARY gloo DOC "gloo's library; Debian: libgloo-dev")
if(TUTTI_GLOO AND TUTTI_GLOO_INCLUDE AND TUTTI_GLOO_LIBRARY)
  set_source_files_properties(mesh/engines/gloo_absent.cc PROPERTIES HEADER_FILE_ONLY ON)
  target_include_directories(tutti_mesh_engines SYSTEM PRIVATE ${TUTTI_GLOO_INCLUDE})
  target_link_libraries(tutti PRIVATE ${TUTTI_GLOO_LIBRARY})
else()
  if(TUTTI_GLOO)
    message(STATUS "tutti: no gloo found (Debian: libgloo-dev); processes of several hosts will not exchange tensors")
  else()
    message(STATUS "tutti: TUTTI_GLOO is off; processes of several hosts will not exchange tensors")
  endif()
  set_source_files_properties(mesh/engines/gloo_exchange.cc mesh/engines/gloo_channel.cc mesh/engines/gloo_context.cc
                              PROPERTIES HEADER_FILE_ONLY ON)
endif()
