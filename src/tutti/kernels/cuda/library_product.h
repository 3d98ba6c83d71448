// A product of matrices by cuBLASLt: an algorithm is chosen once for each shape and kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/backends/cuda/queue.h"
#include "tutti/exec/kernel.h"

namespace tutti::kernels::cuda {

// What is done with a product on its way out.
enum class Epilogue : std::uint8_t {
  none,
  add,            // c += a b instead of c = a b
  subtract,       // c -= a b
  bias,           // a number for each column is added
  bias_relu,      // likewise, and what is negative becomes 0
  bias_gradient,  // the sum of b's rows is written to the bias
};

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
  Epilogue epilogue = Epilogue::none;
  std::uint8_t a_aligned = 0;  // log2 of bytes
  std::uint8_t b_aligned = 0;
  std::uint8_t c_aligned = 0;
};

struct ProductAddresses {
  std::byte* a;
  std::byte* b;
  std::byte* c;
  std::byte* workspace;
  std::byte* bias = nullptr;
};

// Chooses its algorithm and loads its code, if this shape is met for the first time, which may block; launches nothing.
void prepare_product(LibraryProduct product, const ProductAddresses& at, tutti::cuda::Queue& queue, const KernelCall& call);
// Likewise, and the choice is made by the clock, on memory of its own. It is remembered on disk (code_cache.h), so that a later
// process has the same bits from its first call on.
void measure_product(LibraryProduct product, const ProductAddresses& at, tutti::cuda::Queue& queue, const KernelCall& call);
// Launches it; chooses first where nobody has prepared it. All fill in how the operands are aligned.
void multiply(LibraryProduct product, const ProductAddresses& at, tutti::cuda::Queue& queue, const KernelCall& call);
// False: the library has no algorithm with that epilogue; nothing was launched.
bool try_multiply(LibraryProduct product, const ProductAddresses& at, tutti::cuda::Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda
