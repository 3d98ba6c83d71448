#include "tutti/train/value_and_grad.h"

#include "tutti/base/text.h"
#include "tutti/mesh/collectives.h"
#include "tutti/ops/creation.h"

namespace tutti::detail {

void sum_over_replicas(ShardedTensor& gradient, Site site) {
  if (!gradient.is_defined()) return;
  if (!gradient.shards().front().is_defined()) {  // of whole numbers
    gradient = {};
    return;
  }
  const Mesh& mesh = gradient.mesh();
  std::vector<std::string> dims;
  for (std::size_t dim = 0; dim < mesh.sizes().size(); ++dim) {
    if (mesh.sizes()[dim] > 1 && !gradient.layout().axis_of(dim)) dims.push_back(mesh.dims()[dim].name);
  }
  if (!dims.empty()) gradient = all_reduce(gradient, dims, Reduction::sum, site);
}

void FirstTensor::after(const ShardedTensor& value) {
  if (!value.is_defined() || found.ref().get() != value.shards().front().ref().get()) return;
  if (!value.shape().empty() && !(value.shards().front().size() == 1 && value.layout().is_fully_replicated())) {
    throw NoGradient(text("a gradient of a sharded tensor of shape ", to_string(value.shape()),
                          " was asked for: it must be one number. Take its sum or mean first"),
                     site);
  }
  if (value.mesh().local_positions().front() != 0) weight = zeros_like(found, {}, site);
}

}  // namespace tutti::detail
