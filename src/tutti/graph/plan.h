// How a record is replayed: which launches are left, where values lie, and what is submitted as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tutti/graph/record.h"

namespace tutti::graph {

// Of values; kernels choose by the alignment of addresses, up to this.
inline constexpr std::size_t memory_alignment = 256;

// Memory that the values of one stream share, each while it is needed.
struct Arena {
  DeviceMemory* memory = nullptr;
  DeviceStream* stream = nullptr;
  std::size_t bytes = 0;
};

// Launches in a row on one stream, submitted as one piece of work.
struct Segment {
  DeviceStream* stream = nullptr;
  LogicalDevice* on = nullptr;
  std::vector<std::size_t> launches = {};
  std::vector<std::size_t> after = {};  // segments of other streams
  struct Use {
    std::size_t slot;
    bool is_write;
  };
  std::vector<Use> uses = {};            // of memory that others may use too: arguments, constants, variables, results
  std::vector<std::size_t> arenas = {};  // where it reads or writes
  std::uint64_t traffic_bytes = 0;
  bool stands_alone = false;
};

// In this order: a segment is submitted, an event is recorded or waited for.
struct Action {
  std::size_t segment = nowhere;
  OrderStep order = {};
};

struct Plan {
  std::vector<Arena> arenas;
  std::vector<std::size_t> arena_of;  // by slot; nowhere: not in an arena
  std::vector<std::size_t> offset_of;
  std::vector<bool> is_result;  // by slot: of a value that is given back, in memory of its own
  std::vector<bool> passes;     // by slot: of a value that is in no memory, because a group makes and uses it tile by tile
  std::vector<DeviceStream*> stream_of;  // by slot: that of the first launch that uses it
  std::vector<std::size_t> group_of;     // by launch: the first of those it is fused with (fusion.h)
  std::vector<Segment> segments;
  std::vector<Action> actions;
  std::size_t value_bytes = 0;     // of all values but results, each in memory of its own
  std::size_t recorded_calls = 0;  // before copies were left out
};

// Leaves out launches that nobody needs: copies of constants and small values made of constants alone, which stay; copies of a
// variable's value that is read before the variable changes, and into a variable, where what is copied can be written there at
// once; the relu of a layer, which the layer does.
void leave_out_copies(Record& record);

// By slot: in memory that is another one in every replay, an argument's or a result's.
std::vector<bool> find_changing(const Record& record);

// Where memory like that of the slot comes from.
DeviceMemory& memory_for(const Slot& slot);

// Of what is left. `stands_alone`, by launch: it is a submission of its own.
Plan make_plan(const Record& record, const std::vector<bool>& stands_alone);

}  // namespace tutti::graph
