#include "tutti/kernels/cuda/sum_kernels.cuh"

namespace tutti::kernels::cuda {

namespace {

// A stored bool, whatever its bits.
struct StoredBool {
  std::uint8_t byte;
  __device__ __forceinline__ explicit operator int() const { return byte != 0 ? 1 : 0; }
};

}  // namespace

void sum_integers(const SumPlan& plan, DType dtype, Queue& queue, const KernelCall& call) {
  switch (dtype) {
    case DType::boolean: return run_sum<StoredBool, std::int64_t>(plan, queue, call);
    case DType::u8: return run_sum<std::uint8_t, std::int64_t>(plan, queue, call);
    case DType::i8: return run_sum<std::int8_t, std::int64_t>(plan, queue, call);
    case DType::i16: return run_sum<std::int16_t, std::int64_t>(plan, queue, call);
    case DType::i32: return run_sum<std::int32_t, std::int64_t>(plan, queue, call);
    default: return run_sum<std::int64_t, std::int64_t>(plan, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
