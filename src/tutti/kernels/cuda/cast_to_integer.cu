#include "tutti/kernels/cuda/cast.cuh"
#include "tutti/kernels/cuda/cast.h"

namespace tutti::kernels::cuda {

bool cast_dense_to_integer(const KernelCall& call, Queue& queue) {
  switch (call.out().dtype) {
    case DType::boolean: return cast_dense<Truth>(call, queue);
    case DType::u8: return cast_dense<std::uint8_t>(call, queue);
    case DType::i8: return cast_dense<std::int8_t>(call, queue);
    case DType::i16: return cast_dense<std::int16_t>(call, queue);
    case DType::i32: return cast_dense<std::int32_t>(call, queue);
    case DType::i64: return cast_dense<std::int64_t>(call, queue);
    default: return false;
  }
}

}  // namespace tutti::kernels::cuda
