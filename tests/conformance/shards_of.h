// The shards of several sharded tensors in a row, as results of a call.
#pragma once

#include <vector>

#include "tutti/tutti.h"

namespace tutti::conformance {

inline std::vector<Tensor> shards_of(const std::vector<ShardedTensor>& all) {
  std::vector<Tensor> out;
  for (const ShardedTensor& each : all) out.insert(out.end(), each.shards().begin(), each.shards().end());
  return out;
}

}  // namespace tutti::conformance
