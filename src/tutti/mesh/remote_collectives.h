// Collectives of a group that has members in several processes: the local members' part first, then one exchange between the
// processes, then the result to the local members. For the files of this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/group.h"
#include "tutti/mesh/process_collectives.h"
#include "tutti/mesh/processes.h"
#include "tutti/tensor/tensor.h"

namespace tutti::detail {

class RemoteGroup {
 public:
  // `held`: a tensor on each of the mesh's local devices. All members of the group have one shape and dtype.
  RemoteGroup(const Mesh& mesh, const Group& group, std::span<const Tensor> held, Site site);

  // One tensor for each of group.local, on the host or where it is wanted.
  std::vector<Tensor> all_reduce(Reduction reduction);
  std::vector<Tensor> broadcast(std::size_t root);
  std::vector<Tensor> all_gather(std::size_t axis);
  std::vector<Tensor> reduce_scatter(std::size_t axis, Reduction reduction);
  std::vector<Tensor> all_to_all(std::size_t split_axis, std::size_t concat_axis);

 private:
  // A member's process, by its place among the group's, and its place among that process's members.
  struct Seat {
    std::size_t client;
    std::size_t slot;
  };
  [[nodiscard]] ProcessPlace processes() const noexcept { return {processes_, line_}; }
  [[nodiscard]] Tensor at_home(std::size_t local) const;
  [[nodiscard]] Tensor part(const Tensor& x, std::size_t axis, std::size_t k) const;
  // make(client, slot) for every seat, taken or not, as one tensor with those two axes in front.
  template <class Make>
  Tensor seated(Make&& make) const;

  const Group& group_;
  std::span<const Tensor> held_;
  Site site_;
  ProcessGroup& processes_;
  std::vector<Seat> seats_;                          // of the members, in order
  std::vector<std::vector<std::size_t>> by_client_;  // members of each process
  std::size_t slots_ = 0;                            // of the process with most
  DeviceLine* line_ = nullptr;                       // where all members are GPUs, one of each process
  LogicalDevice* home_;                              // where this process's part is done: the host, or its GPU
};

}  // namespace tutti::detail
