// Whatever bytes a trace holds: it is read up to a fault, or refused with what is wrong. Half of the inputs are made into records
// whose checks are right, because no mutation would find these.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "tutti/base/error.h"
#include "tutti/trace/trace_file.h"

namespace {

using namespace tutti::tracing;

template <class Body>
std::string bytes_of(const Body& body) {
  return {reinterpret_cast<const char*>(&body), sizeof body};
}

// A byte for the kind, one for the length, then the body.
std::string assembled(std::string_view input) {
  std::string out = bytes_of(FileHead{file_magic, file_version, sizeof(FileHead)});
  while (input.size() >= 2) {
    const auto kind = static_cast<RecordKind>(static_cast<unsigned char>(input[0]) % 14);
    const std::string_view body = input.substr(2, static_cast<unsigned char>(input[1]));
    out += bytes_of(RecordHead{static_cast<std::uint32_t>(body.size()), kind, 0, check_of(kind, body.data(), body.size())});
    out += body;
    input.remove_prefix(2 + body.size());
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    const ProcessTrace trace = read_trace(data[0] % 2 == 0 ? std::string(input) : assembled(input), "fuzzed");
    for (const auto& [id, stack] : trace.stacks) {
      for (const std::uint32_t frame : stack.python) (void)trace.frames.at(frame);
      for (const std::uint32_t frame : stack.native) (void)trace.frames.at(frame);
    }
    for (const auto& [id, frame] : trace.frames) {
      if (frame.module != 0) (void)trace.modules.at(frame.module);
    }
  } catch (const tutti::InvalidArgument&) {}
  return 0;
}
