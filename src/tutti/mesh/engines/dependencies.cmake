# What the engines need from outside; included from src/tutti/CMakeLists.txt after the tutti library is declared.

# The word that decides a meeting is 128 bits wide; every x86-64 processor since 2006 compares and swaps that.
target_compile_options(tutti_mesh_engines PRIVATE -mcx16)

# gloo: sockets between processes. Without it everything else works, and asking for it says what is missing.
find_path(TUTTI_GLOO_INCLUDE gloo/context.h DOC "Where gloo's headers are; Debian: libgloo-dev")
find_library(TUTTI_GLOO gloo DOC "gloo's library; Debian: libgloo-dev")
if(TUTTI_GLOO_INCLUDE AND TUTTI_GLOO)
  set_source_files_properties(mesh/engines/gloo_absent.cc PROPERTIES HEADER_FILE_ONLY ON)
  target_include_directories(tutti_mesh_engines SYSTEM PRIVATE ${TUTTI_GLOO_INCLUDE})
  target_link_libraries(tutti PRIVATE ${TUTTI_GLOO})
else()
  message(STATUS "tutti: no gloo found; processes of several hosts will not exchange tensors")
  set_source_files_properties(mesh/engines/gloo_exchange.cc mesh/engines/gloo_channel.cc mesh/engines/gloo_context.cc PROPERTIES HEADER_FILE_ONLY ON)
endif()
