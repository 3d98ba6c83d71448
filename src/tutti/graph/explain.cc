#include "tutti/base/text.h"
#include "tutti/graph/graph.h"
#include "tutti/graph/graph_cache.h"

namespace tutti::graph {

namespace {

// What one element goes through; the rest of a source is how elements are reached.
std::string body_of(const std::string& source) {
  const std::size_t begin = source.find("of_one(");
  const std::size_t end = source.find("\n}\n", begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::string out;
  std::string line;
  for (const char each : source.substr(begin, end - begin) + "\n") {
    if (each != '\n') {
      line += each;
      continue;
    }
    out += text("          ", line, "\n");
    line.clear();
  }
  return out;
}

std::string explain(const Graph& graph) {
  const Record& record = graph.record();
  const Plan& plan = graph.plan();
  std::size_t arena_bytes = 0;
  for (const Arena& arena : plan.arenas) arena_bytes += arena.bytes;
  std::string out =
      text(record.launches.size(), " kernels (", plan.recorded_calls - record.launches.size(), " copies left out) in ",
           plan.segments.size(), plan.segments.size() == 1 ? " submission" : " submissions", ", ", graph.replays(),
           graph.replays() == 1 ? " replay" : " replays", "\n  memory: ", human_bytes(arena_bytes),
           " planned, where each value in memory of its own would take ", human_bytes(plan.value_bytes), "\n");
  for (std::size_t i = 0; i < plan.segments.size(); ++i) {
    const Segment& segment = plan.segments[i];
    out += text("  submission ", i + 1, " on stream ", index_of(segment.stream->id()), " of ", segment.on->name());
    for (std::size_t k = 0; k < segment.after.size(); ++k) out += text(k == 0 ? ", after " : ", ", segment.after[k] + 1);
    out += "\n";
    for (const std::size_t number : segment.launches) {
      const RecordedLaunch& launch = record.launches[number];
      const Operand* result = launch.outputs > 0 ? &launch.operands[launch.inputs] : nullptr;
      const std::size_t group = plan.group_of[number];
      const bool is_planned = group != number || (number + 1 < plan.group_of.size() && plan.group_of[number + 1] == number);
      const bool is_fused =
          is_planned && (fused_compiler(launch.on->device().backend()) == nullptr || !graph.source_at(group).empty());
      out += text(is_fused ? (group == number ? "    fused " : "        + ") : "    ", launch.op->name);
      if (result != nullptr) {
        Shape shape;
        for (std::size_t axis = 0; axis < result->rank; ++axis) shape.push_back(result->axes[axis].size);
        out += text(" ", to_string(result->dtype), to_string(shape));
      }
      out += text(" at ", launch.site.to_string(), "\n");
      if (const std::string source = graph.source_at(number); !source.empty()) out += body_of(source);
    }
  }
  return out;
}

}  // namespace

std::string explain(const GraphCache& graphs) {
  const auto entries = graphs.entries();
  std::string out =
      text("captured at ", graphs.site().to_string(), ": ", entries.size(), entries.size() == 1 ? " graph" : " graphs", "\n");
  for (const auto& each : entries) out += explain(*each->graph);
  return out;
}

}  // namespace tutti::graph
