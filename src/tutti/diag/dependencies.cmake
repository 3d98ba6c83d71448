# libdw of elfutils gives stacks their names. Its header is needed here; the library itself is loaded when a stack is shown.
find_path(TUTTI_LIBDW_INCLUDE elfutils/libdwfl.h DOC "Where elfutils' headers are; Debian: libdw-dev")
if(TUTTI_LIBDW_INCLUDE)
  target_include_directories(tutti_diag SYSTEM PRIVATE ${TUTTI_LIBDW_INCLUDE})
  set_property(SOURCE diag/debug_info.cc APPEND PROPERTY COMPILE_DEFINITIONS TUTTI_HAS_LIBDW)
else()
  message(STATUS "tutti: no elfutils found (libdw-dev); stacks of syncs will name exported functions only, and no lines")
endif()
target_link_libraries(tutti PRIVATE ${CMAKE_DL_LIBS})
