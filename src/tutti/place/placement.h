// Where an op runs and why: the decision, its record, and the log line.
#pragma once

#include <cstdint>
#include <string>

#include "tutti/base/site.h"
#include "tutti/hal/op_name.h"
#include "tutti/place/runtime.h"

namespace tutti {

enum class PlacementReason : std::uint8_t {
  automatic,       // best device type with a kernel, lowest index
  scope,           // a device scope asked for it
  variable,        // it reads or writes a variable there
  inputs,          // all its tensor inputs are on that GPU
  no_kernel,       // the device asked for has no kernel for the op, the CPU has
  soft_placement,  // the device asked for does not exist
  explicit_copy,   // the caller named the device
};
const char* to_string(PlacementReason reason) noexcept;

// The last op the calling thread placed.
struct PlacementRecord {
  std::string op;
  std::string requested;  // the scope's name; empty: nothing was asked for
  std::string chosen;
  PlacementReason reason = PlacementReason::automatic;
  unsigned copies = 0;  // inputs copied from elsewhere for it
  std::uint64_t bytes = 0;
  Site site;
};
PlacementRecord last_placement();

// What ties an op to a device; null: nothing.
struct PlacementTies {
  LogicalDevice* variable = nullptr;  // where the variable it touches is
  const Device* inputs = nullptr;     // what holds all its tensor inputs; counts if it is a GPU
};
// Decides for an op with kernels for these backends. Records and logs it.
LogicalDevice& place_op(Runtime& runtime, OpName op, KernelMask kernels, const PlacementTies& ties, Site site);
// The caller named the device itself.
void record_placement(const char* op, LogicalDevice& device, PlacementReason reason, Site site);
// An input of the op that was just placed is copied for it.
void record_copy(const OpName& op, const Device& from, LogicalDevice& to, std::uint64_t bytes, unsigned input, Site site);

}  // namespace tutti
