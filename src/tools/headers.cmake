# The headers whose functions `tutti ops` tells about, as strings. This file states the step and is itself the step (cmake -P).
# Those in tutti.h, in this order, so that what is said of plain tensors comes first; and those that have types for them.
set(with_functions tutti/exec/generator.h tutti/ops/ tutti/mesh/ tutti/train/)
set(with_functions_too tutti/train/initializers.h)  # of another one's header
set(with_types tutti/tensor/view.h tutti/exec/scatter_attributes.h tutti/hal/sync_reason.h tutti/mesh/engines/exchange.h tutti/mesh/mesh_text.h
    tutti/train/progress.h tutti/train/trainer.h)

if(CMAKE_SCRIPT_MODE_FILE)
  set(texts "")
  function(add_header name has_functions)
    file(READ ${SOURCES}/${name} text)
    set(texts "${texts}      {R\"header(${text})header\", ${has_functions}},\n" PARENT_SCOPE)
  endfunction()
  file(READ ${SOURCES}/tutti/tutti.h all)
  foreach(folder IN LISTS with_functions)
    string(REGEX MATCHALL "\"${folder}[^\"]*\"" included "${all}")
    list(REMOVE_ITEM included "\"tutti/ops/instead.h\"")  # what is not to be called
    foreach(name IN LISTS included)
      string(REPLACE "\"" "" name ${name})
      add_header(${name} true)
    endforeach()
  endforeach()
  foreach(name IN LISTS with_functions_too)
    add_header(${name} true)
  endforeach()
  foreach(name IN LISTS with_types)
    add_header(${name} false)
  endforeach()
  file(WRITE ${OUTPUT} "#include \"tools/function_docs.h\"\n\nconst std::vector<tutti::tools::HeaderText>& tutti::tools::public_headers() {\n  static const std::vector<HeaderText> all{\n${texts}  };\n  return all;\n}\n")
  return()
endif()

set(sources_folder ${PROJECT_SOURCE_DIR}/src)
set(headers_source ${CMAKE_CURRENT_BINARY_DIR}/public_headers.cc)
file(GLOB told_headers CONFIGURE_DEPENDS ${sources_folder}/tutti/ops/*.h ${sources_folder}/tutti/mesh/*.h ${sources_folder}/tutti/train/*.h)
list(TRANSFORM with_types PREPEND ${sources_folder}/)
add_custom_command(
  OUTPUT ${headers_source}
  COMMAND ${CMAKE_COMMAND} -DSOURCES=${sources_folder} -DOUTPUT=${headers_source} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${told_headers} ${with_types} ${sources_folder}/tutti/exec/generator.h ${sources_folder}/tutti/tutti.h ${CMAKE_CURRENT_LIST_FILE}
  VERBATIM)
target_sources(tutti_command PRIVATE ${headers_source})
