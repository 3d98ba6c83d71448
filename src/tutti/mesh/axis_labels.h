// How an op joins the axes of its inputs and its output, and the layouts that follow: one rule for every op. For this module's
// files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tutti/mesh/sharded_tensor.h"

namespace tutti::detail {

// A label for each axis, as the letters of an einsum: axes of one label go together and are sharded alike. A label that the
// output lacks is reduced over.
struct AxisLabels {
  static constexpr std::int64_t none = -1;  // an axis of size 1 that is broadcast: never sharded

  std::vector<Dims> inputs;
  Dims output;
};

// NumPy's broadcasting. Throws ShapeError.
AxisLabels elementwise_labels(const char* op, std::span<const ShardedTensor* const> inputs, Site site);
AxisLabels matmul_labels(const ShardedTensor& a, const ShardedTensor& b, Site site);
// Without the axes of the mask; they stay, with size 1, where `keepdims` says so.
AxisLabels reduction_labels(std::size_t rank, std::uint32_t mask, bool keepdims);

// As a program writes it: Layout({"x", unsharded}, mesh).
std::string as_written(const Layout& layout);

// What the layouts of the inputs make of it.
struct Agreement {
  std::vector<Layout> inputs;  // each is its input's own layout, or a local slice away from it
  Layout output;
  std::vector<std::string> combined;  // dimensions of the mesh along which devices have parts of the result
};

// Throws InvalidArgument that names the relayout to do, where a local slice is not enough.
Agreement agree(const char* op, const AxisLabels& labels, std::span<const ShardedTensor* const> inputs, Site site);

}  // namespace tutti::detail
