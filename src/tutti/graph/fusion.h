// Element-wise launches in a row that become one: on the CPU over large tensors, done tile by tile (tiles.h); on devices with a
// compiler (exec/fused_kernel.h) as one kernel.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tutti/exec/fused_kernel.h"
#include "tutti/graph/record.h"

namespace tutti::graph {

// What TUTTI_FUSION says; on, if it is not set.
bool is_fusion_on();

// By launch: the first one of the group it belongs to. Groups lie in a row in one segment; a launch of its own is its own group.
std::vector<std::size_t> find_groups(const Record& record, const std::vector<std::size_t>& segment_of);

// All its operands are contiguous in row-major order, or one element.
bool is_flat(const RecordedLaunch& launch);
// Reduces rows, each by itself: the last axis of a contiguous input. May close a group that is done tile by tile.
bool reduces_rows(const RecordedLaunch& launch);

// The numbers of values that pass between the launches of a group, by launch and operand.
std::vector<std::vector<std::size_t>> find_passing(const Record& record, std::span<const std::size_t> group);

// A group as one pass, with the launches and operands that stand for its inputs and for what it stores.
struct GroupProgram {
  FusedProgram program;
  struct Place {
    std::size_t launch;
    std::size_t operand;
  };
  std::vector<Place> places;
};
// `operands`, by launch: with addresses as they will be.
GroupProgram program_of(const Record& record, std::span<const std::size_t> group,
                        const std::vector<std::vector<Operand>>& operands);

}  // namespace tutti::graph
