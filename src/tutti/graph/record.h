// What a captured function did, as data: the kernels it set going, on which memory, and what it gave back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tutti/exec/launch_listener.h"
#include "tutti/exec/op_call.h"
#include "tutti/exec/order_calls.h"
#include "tutti/exec/stream.h"
#include "tutti/ops/variable_cell.h"

namespace tutti::graph {

inline constexpr std::size_t nowhere = ~std::size_t{0};

// A piece of memory that launches name.
struct Slot {
  enum class Kind : std::uint8_t {
    input,     // an argument's: another one in every replay
    constant,  // made before or outside: the same in every replay
    variable,  // a bound cell's
    value,     // made by a launch
  };
  Kind kind = Kind::value;
  Device* device = nullptr;
  std::size_t bytes = 0;
  std::byte* address = nullptr;             // to kernels, when it was recorded; of an input, the first element
  bool is_pinned = false;                   // host memory that GPUs copy from and to by themselves
  std::size_t input = nowhere;              // of an input: which argument
  Ref<Buffer> memory = {};                  // of a constant; of a value while it is being recorded
  std::shared_ptr<VariableCell> cell = {};  // of a variable
};

struct RecordedUse {
  std::size_t slot = nowhere;
  std::ptrdiff_t offset = 0;  // in bytes, from the start of the slot; of an input, from the tensor's first element
  std::size_t operand = 0;
  bool is_write = false;
};

struct RecordedLaunch {
  const OpRow* op = nullptr;
  const char* function = nullptr;  // what the program called
  Site site;
  Kernel kernel = nullptr;
  LogicalDevice* on = nullptr;
  DeviceStream* stream = nullptr;
  Attributes attributes;
  Draw draw;
  Ref<Generator::State> generator;  // that of the draw
  std::size_t drawn =
      nowhere;  // which of the record's draws it takes its numbers from: its own, or again those of an earlier one
  std::uint16_t inputs = 0;
  std::uint16_t outputs = 0;
  std::vector<Operand> operands;
  std::vector<std::array<std::byte, 8>> scalars;  // by operand
  std::vector<RecordedUse> uses;
  std::uint64_t traffic_bytes = 0;

  [[nodiscard]] bool uses_slot(std::size_t slot, bool to_write) const noexcept {
    for (const RecordedUse& use : uses) {
      if (use.slot == slot && use.is_write == to_write) return true;
    }
    return false;
  }
};

// An event that was recorded or waited for, before the launch of that number.
struct OrderStep {
  enum class Kind : std::uint8_t { record, wait_event, wait_stream };
  Kind kind = Kind::record;
  std::size_t before = 0;
  DeviceStream* stream = nullptr;
  DeviceStream* other = nullptr;
  std::size_t event = nowhere;  // by number
};

// A tensor that the function gave back.
struct RecordedResult {
  std::size_t slot = nowhere;  // nowhere: an undefined tensor
  DType dtype = DType::f32;
  Shape shape;
  Dims strides;
  std::int64_t offset = 0;  // in elements; of an input, from the tensor's first element
};

struct Record {
  std::vector<Slot> slots;
  std::vector<RecordedLaunch> launches;
  std::vector<OrderStep> order;
  std::vector<std::weak_ptr<detail::EventCell>> events;  // recorded anew in every replay
  std::vector<RecordedResult> results;
  std::vector<Stream> streams;      // kept from being lent to others
  std::vector<std::string> called;  // a line for each call, for whoever compares two records
};

}  // namespace tutti::graph
