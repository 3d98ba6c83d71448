#include "tutti/kernels/cuda/total_product.cuh"

namespace tutti::kernels::cuda {

template <class T>
using ProductOfIntegers = ProductOf<T, TotalProduct<long long, unsigned long long>>;

void multiply_integers(const ReductionPlan& plan, DType dtype, std::int64_t times, Queue& queue, const KernelCall& call) {
  switch (dtype) {
    case DType::boolean: return run_reduction(plan, ProductOfIntegers<StoredBool>{{times}}, queue, call);
    case DType::u8: return run_reduction(plan, ProductOfIntegers<std::uint8_t>{{times}}, queue, call);
    case DType::i8: return run_reduction(plan, ProductOfIntegers<std::int8_t>{{times}}, queue, call);
    case DType::i16: return run_reduction(plan, ProductOfIntegers<std::int16_t>{{times}}, queue, call);
    case DType::i32: return run_reduction(plan, ProductOfIntegers<std::int32_t>{{times}}, queue, call);
    default: return run_reduction(plan, ProductOfIntegers<std::int64_t>{{times}}, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
