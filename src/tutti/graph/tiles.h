// A group of element-wise calls as one pass over memory, on the host's cores: tile by tile, by all calls in turn. What passes
// between them lies in the caches of the core that works on the tile, and nowhere else. The last one may reduce rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/graph/record.h"

namespace tutti::graph {

class TiledGroup {
 public:
  // `calls`, by launch of the group: with operands whose addresses may change from run to run. `passes`, by slot of the record:
  // it has no memory.
  TiledGroup(const Record& record, std::span<const std::size_t> launches, std::vector<const KernelCall*> calls,
             const std::vector<bool>& passes);

  // Of calls.
  [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }
  // All calls but those `left_out`, on which the others do not depend. Throws what a kernel throws.
  void run(const std::vector<bool>& left_out, Parallel& parallel) const;

 private:
  struct Part {
    std::vector<std::int64_t> strides;  // in bytes, along the joint axes; 0: the same elements again
    std::size_t room = nowhere;         // its number, of a value that lies there
    bool is_stored = false;             // and is copied to memory past the caches
  };
  struct Step {
    const KernelCall* call;
    Kernel kernel;
    std::vector<Part> parts;     // by operand
    Attributes attributes = {};  // of one that reduces: as the axes of a tile are numbered
  };
  struct Worker;

  void join_axes(const Record& record, std::span<const std::size_t> launches);
  void give_rooms(const Record& record, std::span<const std::size_t> launches, const std::vector<bool>& passes);
  void choose_tile();
  [[nodiscard]] bool is_dense(const Part& part, const Operand& operand) const;

  std::vector<Step> steps_;
  std::vector<std::int64_t> sizes_;  // of the axes that all operands walk together
  bool reduces_ = false;             // the last axis, by the last call
  std::size_t rooms_ = 0;
  std::size_t cut_ = 0;      // the axis that tiles are pieces of; those before it are walked one by one
  std::int64_t piece_ = 1;   // how much of it is in a tile
  std::int64_t inner_ = 1;   // elements of the axes behind it
  std::int64_t pieces_ = 1;  // of the axis
  std::int64_t tiles_ = 1;
  std::size_t room_bytes_ = 0;
};

}  // namespace tutti::graph
