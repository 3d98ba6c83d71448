// A matrix product as the library can take it: which operands must be packed first, and how the batch steps.
#pragma once

#include <array>
#include <cstdint>

#include "tutti/exec/kernel.h"

namespace tutti::kernels::cuda {

// One factor, with a unit stride along rows or columns.
struct Factor {
  std::byte* data = nullptr;
  std::int64_t lead = 0;       // elements from one row (or, by columns, one column) to the next
  bool is_by_columns = false;  // its columns are contiguous, not its rows
  bool is_packed = false;      // it does not lie like that: `from` is copied to `to`, in scratch memory, first
  Operand from;
  Operand to;
};

struct BatchAxis {
  std::int64_t size;
  std::int64_t a;  // elements from one matrix to the next; 0 where the factor is shared
  std::int64_t b;
  std::int64_t c;
};

// c = a b over every matrix of the batch, c dense.
struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Factor a;
  Factor b;
  std::size_t batch_rank = 0;
  std::array<BatchAxis, most_axes> batch;  // outermost first
  std::int64_t packed_bytes = 0;           // at the beginning of the scratch memory
  std::int64_t workspace_bytes = 0;        // after it

  // `scratch` may be null while only the figures are asked for. None of m, n, k and the batch is 0.
  Product(const Operand& left, const Operand& right, std::byte* scratch);
};

}  // namespace tutti::kernels::cuda
