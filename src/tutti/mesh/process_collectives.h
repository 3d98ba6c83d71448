// Collectives between processes, of one tensor each: work like any other on the group's stream, ordered by points. The results
// are where the tensors are: on the host, or on a line's GPU. For the files of this module.
#pragma once

#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/processes.h"
#include "tutti/tensor/tensor.h"

namespace tutti::detail {

// Which processes, and for tensors of GPUs which GPUs.
struct ProcessPlace {
  ProcessGroup& group;
  DeviceLine* line;
};

// `asked`: what the program called it, of which `step` is the part between processes; a mean's is a sum.
Tensor process_all_reduce(const ProcessPlace& at, const Tensor& x, Reduction step, Reduction asked, Site site);
// `root` is a place in the group, and the value its own; the others' say only what shape and dtype to expect.
Tensor process_broadcast(const ProcessPlace& at, const Tensor& x, int root, Site site);
// One more axis in front: the group's members.
Tensor process_all_gather(const ProcessPlace& at, const Tensor& x, Site site);
// The first axis has a place for each member; each gets what the others had at its own, reduced or stacked.
Tensor process_reduce_scatter(const ProcessPlace& at, const Tensor& x, Reduction step, Reduction asked, Site site);
Tensor process_all_to_all(const ProcessPlace& at, const Tensor& x, Site site);

}  // namespace tutti::detail
