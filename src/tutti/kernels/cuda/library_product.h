// A product of matrices by cuBLASLt: an algorithm is chosen once for each shape and kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/backends/cuda/queue.h"
#include "tutti/exec/kernel.h"

namespace tutti::kernels::cuda {

// Of the library's choice: how many matrices there are and their layout, by rows unless it says otherwise; strides in elements.
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

// Chooses its algorithm and loads its code, if this shape is met for the first time, which may block; launches nothing.
void prepare_product(LibraryProduct product, const ProductAddresses& at, tutti::cuda::Queue& queue, const KernelCall& call);
// Launches it; chooses first where nobody has prepared it. Both fill in how the operands are aligned.
void multiply(LibraryProduct product, const ProductAddresses& at, tutti::cuda::Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda
