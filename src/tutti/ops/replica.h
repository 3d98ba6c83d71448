// What a thread that runs a mirrored program has set: the devices its variables are made on, and the replica it is working as.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tutti/place/thread_state.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

class LogicalDevice;

namespace detail {

// While thread_state.mirroring points to one, a variable gets a cell on each of these devices.
class Mirroring {
 public:
  [[nodiscard]] virtual std::span<LogicalDevice* const> devices() const noexcept = 0;
  // What the cells begin with: the same in every process.
  [[nodiscard]] virtual Tensor first_value(const Tensor& initial, Site site) const = 0;

 protected:
  ~Mirroring() = default;
};

// While thread_state.replica points to one, a mirrored variable means its cell on devices[index].
struct Replica {
  std::span<LogicalDevice* const> devices;
  std::size_t index;
  std::uint64_t first_cell;     // cells from this number on are the replica's own
  std::uint64_t blocks_before;  // its draws are so far behind those that another process takes from a generator of the same seed
};

}  // namespace detail

}  // namespace tutti
