#include "tutti/kernels/cuda/sort_kernels.cuh"

namespace tutti::kernels::cuda {

template void sort_lines<std::uint8_t>(const SortPlan&, const KernelCall&, Queue&);

}  // namespace tutti::kernels::cuda
