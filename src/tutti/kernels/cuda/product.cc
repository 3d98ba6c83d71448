#include "tutti/kernels/cuda/product.h"

#include <algorithm>

namespace tutti::kernels::cuda {

namespace {

constexpr std::int64_t alignment = 256;
constexpr std::int64_t least_workspace = 256 * 1024;
constexpr std::int64_t most_workspace = 32 * 1024 * 1024;  // what NVIDIA recommends for sm_90

std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Elements from one line to the next, if the elements of a line are contiguous; 0 if not. A single line has any stride.
std::int64_t lead_of(const Axis& lines, const Axis& along) {
  if (along.size != 1 && along.stride != 1) return 0;
  if (lines.size == 1) return along.size;
  return lines.stride >= along.size ? lines.stride : 0;
}

bool takes(Factor& factor, const Axis& rows, const Axis& columns) {
  factor.lead = lead_of(rows, columns);
  if (factor.lead > 0) return true;
  factor.lead = lead_of(columns, rows);
  factor.is_by_columns = factor.lead > 0;
  return factor.is_by_columns;
}

// Dense, with what is shared over an axis of the batch there once. `step` is the factor's stride in a batch axis.
void pack(Factor& factor, const Operand& operand, Product& product, std::int64_t BatchAxis::*step, std::byte* scratch) {
  const std::size_t rank = operand.rank;
  factor.is_packed = true;
  factor.from = operand;
  factor.from.rank = 0;
  for (std::size_t i = 0; i < product.batch_rank; ++i) {
    if (product.batch[i].*step != 0) factor.from.axes[factor.from.rank++] = {product.batch[i].size, product.batch[i].*step};
  }
  factor.from.axes[factor.from.rank++] = operand.axes[rank - 2];
  factor.from.axes[factor.from.rank++] = operand.axes[rank - 1];
  factor.to = factor.from;
  std::int64_t stride = 1;
  for (std::size_t i = factor.to.rank; i-- > 0;) {
    factor.to.axes[i].stride = stride;
    stride *= factor.to.axes[i].size;
  }
  for (std::size_t i = 0, at = 0; i < product.batch_rank; ++i) {
    if (product.batch[i].*step != 0) product.batch[i].*step = factor.to.axes[at++].stride;
  }
  factor.lead = operand.axes[rank - 1].size;
  factor.is_by_columns = false;
  if (scratch != nullptr) factor.data = scratch + product.packed_bytes;
  factor.to.data = factor.data;
  product.packed_bytes += aligned(stride * static_cast<std::int64_t>(size_of(operand.dtype)));
}

// Neighbouring axes over which all three step alike become one.
void join_batch(Product& product) {
  std::size_t rank = 0;
  for (std::size_t i = 0; i < product.batch_rank; ++i) {
    const BatchAxis& axis = product.batch[i];
    if (rank > 0) {
      BatchAxis& before = product.batch[rank - 1];
      if (before.a == axis.a * axis.size && before.b == axis.b * axis.size) {
        before = {before.size * axis.size, axis.a, axis.b, axis.c};
        continue;
      }
    }
    product.batch[rank++] = axis;
  }
  product.batch_rank = rank;
}

}  // namespace

Product::Product(const Operand& left, const Operand& right, std::byte* scratch) {
  const std::size_t rank = left.rank;
  m = left.axes[rank - 2].size;
  k = left.axes[rank - 1].size;
  n = right.axes[rank - 1].size;
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if (left.axes[i].size != 1) batch[batch_rank++] = {left.axes[i].size, left.axes[i].stride, right.axes[i].stride, 0};
  }
  std::int64_t step = m * n;
  for (std::size_t i = batch_rank; i-- > 0;) {
    batch[i].c = step;
    step *= batch[i].size;
  }
  const std::int64_t results = step;
  a.data = left.data;
  b.data = right.data;
  if (!takes(a, left.axes[rank - 2], left.axes[rank - 1])) pack(a, left, *this, &BatchAxis::a, scratch);
  if (!takes(b, right.axes[rank - 2], right.axes[rank - 1])) pack(b, right, *this, &BatchAxis::b, scratch);
  join_batch(*this);
  // One b for all: the rows of all the a's are those of one tall matrix, if they step alike.
  if (batch_rank == 1 && batch[0].b == 0 && !a.is_by_columns && batch[0].a > 0) {
    if (m == 1 && batch[0].a >= k) a.lead = batch[0].a;
    if (batch[0].a == m * a.lead) {
      m *= batch[0].size;
      batch_rank = 0;
    }
  }
  // Room for several partial results of each element.
  workspace_bytes = std::clamp(aligned(64 * std::min(results, most_workspace)), least_workspace, most_workspace);
}

}  // namespace tutti::kernels::cuda
