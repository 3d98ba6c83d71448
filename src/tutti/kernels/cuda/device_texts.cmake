# The headers of scalar functions as strings. This file states the step and is itself the step (cmake -P).
set(texts exec/scalar_op.h exec/scalar_functions.h exec/scalar_arithmetic.h exec/scalar_comparison.h exec/scalar_division.h
    exec/scalar_exponential.h exec/scalar_activation.h exec/scalar_gradients.h kernels/cuda/float_functions.cuh
    kernels/cuda/stored.cuh kernels/cuda/math.cuh kernels/cuda/cast.cuh kernels/cuda/accumulate.cuh kernels/cuda/lane_totals.cuh
    kernels/cuda/ordered.cuh kernels/cuda/sum_of.h kernels/cuda/float_sums.cuh)
# What kernels/cuda/freestanding.cuh stands in for.
set(others cstdint cstddef type_traits limits cuda_fp16.h cuda_bf16.h tutti/tensor/dtype.h tutti/tensor/dtype_set.h
    tutti/tensor/dtype_visit.h)
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${ROOT}/kernels/cuda/freestanding.cuh freestanding)
  set(out "#include \"tutti/kernels/cuda/device_texts.h\"\n\nnamespace tutti::kernels::cuda {\n\nnamespace {\nconstexpr const char* freestanding = R\"text(${freestanding})text\";\nconstexpr DeviceText all[] = {\n")
  foreach(name IN LISTS others)
    string(APPEND out "{\"${name}\", freestanding},\n")
  endforeach()
  foreach(name IN LISTS texts)
    file(READ ${ROOT}/${name} text)
    string(APPEND out "{\"tutti/${name}\", R\"text(${text})text\"},\n")
  endforeach()
  file(WRITE ${OUTPUT} "${out}};\n}  // namespace\n\nstd::span<const DeviceText> device_texts() noexcept { return all; }\n\n}  // namespace tutti::kernels::cuda\n")
  return()
endif()

set(texts_source ${CMAKE_CURRENT_BINARY_DIR}/kernels/cuda/device_texts.cc)
set(text_files ${CMAKE_CURRENT_SOURCE_DIR}/kernels/cuda/freestanding.cuh)
foreach(name IN LISTS texts)
  list(APPEND text_files ${CMAKE_CURRENT_SOURCE_DIR}/${name})
endforeach()
add_custom_command(
  OUTPUT ${texts_source}
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_CURRENT_SOURCE_DIR} -DOUTPUT=${texts_source} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${text_files} ${CMAKE_CURRENT_LIST_FILE}
  VERBATIM)
target_sources(tutti_kernels_cuda PRIVATE ${texts_source})
