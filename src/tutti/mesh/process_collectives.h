// Collectives between processes, of one tensor each: work like any other on the group's stream, ordered by points. The results
// lie on the host. For the files of this module.
#pragma once

#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/processes.h"
#include "tutti/tensor/tensor.h"

namespace tutti::detail {

Tensor process_all_reduce(ProcessGroup& group, const Tensor& x, Reduction reduction, Site site);
// `root` is a place in the group, and the value its own; the others' say only what shape and dtype to expect.
Tensor process_broadcast(ProcessGroup& group, const Tensor& x, int root, Site site);
// One more axis in front: the group's members.
Tensor process_all_gather(ProcessGroup& group, const Tensor& x, Site site);
// The first axis has a place for each member; each gets what the others had at its own, reduced or side by side.
Tensor process_reduce_scatter(ProcessGroup& group, const Tensor& x, Reduction reduction, Site site);
Tensor process_all_to_all(ProcessGroup& group, const Tensor& x, Site site);

}  // namespace tutti::detail
