// Whatever bytes a trace holds: it is read up to a fault, or refused with what is wrong, and what was read is reported in every
// form and compared. Half of the inputs are made into records whose checks are right, because no mutation would find these.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/diag/page.h"
#include "tutti/trace/baseline.h"
#include "tutti/trace/trace_compare.h"
#include "tutti/trace/trace_file.h"
#include "tutti/trace/trace_report.h"

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
    const auto kind = static_cast<RecordKind>(static_cast<unsigned char>(input[0]) % 16);
    const std::string_view body = input.substr(2, static_cast<unsigned char>(input[1]));
    out += bytes_of(RecordHead{static_cast<std::uint32_t>(body.size()), kind, 0, check_of(kind, body.data(), body.size())});
    out += body;
    input.remove_prefix(2 + body.size());
  }
  return out;
}

void check(const std::string& json) {
  if (!nlohmann::json::accept(json)) std::abort();
}

void report(const std::vector<ProcessTrace>& traces, const TraceReport& before) {
  const TraceReport found = make_report(traces);
  (void)found.to_text();
  check(found.to_json());
  check(to_timeline(found, traces));
  check(to_page(found, traces));
  for (const TraceComparison& compared : {compare(found, before, traces), compare(before, found)}) {
    (void)compared.to_text();
    check(compared.to_json());
  }
  (void)waits_beyond(read_baseline(found.to_json(), "fuzzed"), found);
}

}  // namespace

// The page around the report is the same for all.
std::string tutti::detail::page_of(std::string_view json) { return std::string(json); }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    (void)read_baseline(input, "fuzzed");
  } catch (const tutti::InvalidArgument&) {}
  static const TraceReport nothing;
  try {
    const ProcessTrace trace = read_trace(data[0] % 2 == 0 ? std::string(input) : assembled(input), "fuzzed");
    for (const auto& [id, stack] : trace.stacks) {
      for (const std::uint32_t frame : stack.python) (void)trace.frames.at(frame);
      for (const std::uint32_t frame : stack.native) (void)trace.frames.at(frame);
    }
    for (const auto& [id, frame] : trace.frames) {
      if (frame.module != 0) (void)trace.modules.at(frame.module);
    }
    report({trace}, nothing);
    report({trace, trace}, make_report({trace}));
  } catch (const tutti::InvalidArgument&) {}
  return 0;
}
