# The runtime is linked in; the driver, cuBLASLt and NVML are opened when a GPU is used, so the library loads without them.
foreach(module backends_cuda kernels_cuda)
  target_include_directories(tutti_${module} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
endforeach()
target_link_libraries(tutti PRIVATE CUDA::cudart_static)
# A process may hold another copy of the runtime (PyTorch brings one): ours stays to itself.
target_link_options(tutti PRIVATE -Wl,--exclude-libs,libcudart_static.a)
set_target_properties(tutti PROPERTIES LINKER_LANGUAGE CXX)
