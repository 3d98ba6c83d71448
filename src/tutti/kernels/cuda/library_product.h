// A product of matrices by cuBLASLt: an algorithm is chosen once for each shape and kept.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "tutti/exec/kernel.h"

namespace tutti::kernels::cuda {

// Of the library's choice: how many matrices there are and how they lie, by rows unless it says otherwise; strides in elements.
// No padding: it is compared and hashed as bytes.
struct LibraryProduct {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t a_lead = 0;
  std::int64_t b_lead = 0;
  std::int64_t c_lead = 0;
  std::int64_t a_step = 0;
  std::int64_t b_step = 0;
  std::int64_t c_step = 0;
  std::int64_t workspace = 0;  // bytes
  std::int32_t batch = 1;
  std::int32_t ordinal = 0;
  DType dtype{};
  bool a_by_columns = false;
  bool b_by_columns = false;
  bool tf32 = false;
  bool is_taken_off = false;   // c -= a b instead of c = a b
  std::uint8_t a_aligned = 0;  // log2 of bytes
  std::uint8_t b_aligned = 0;
  std::uint8_t c_aligned = 0;
};

struct ProductAddresses {
  std::byte* a;
  std::byte* b;
  std::byte* c;
  std::byte* workspace;
};

// Launches it; fills in how the operands are aligned. May block the first time a shape is met.
void multiply(LibraryProduct product, const ProductAddresses& at, cudaStream_t stream, const KernelCall& call);

}  // namespace tutti::kernels::cuda
