# The page of a report: page/* in one string. This file states the step and is itself the step (cmake -P).
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${PAGE}/page.html page)
  foreach(part style.css format.js sites.js lanes.js timeline.js flames.js page.js)
    file(READ ${PAGE}/${part} text)
    string(FIND "${page}" "{{${part}}}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "page.html has no place for ${part}")
    endif()
    string(REPLACE "{{${part}}}" "${text}" page "${page}")
  endforeach()
  file(WRITE ${OUTPUT} "#include \"tutti/diag/page.h\"\n\nstd::string_view tutti::detail::sync_page() noexcept {\n  return R\"page(${page})page\";\n}\n")
  return()
endif()

set(page_source ${CMAKE_CURRENT_BINARY_DIR}/diag/page.cc)
set(page_folder ${CMAKE_CURRENT_SOURCE_DIR}/diag/page)
file(GLOB page_parts CONFIGURE_DEPENDS ${page_folder}/*)
add_custom_command(
  OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} -DPAGE=${page_folder} -DOUTPUT=${page_source} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${page_parts} ${CMAKE_CURRENT_LIST_FILE}
  VERBATIM)
target_sources(tutti_diag PRIVATE ${page_source})
