#include "tutti/graph/explain.h"

#include <utility>

#include "tutti/base/text.h"
#include "tutti/graph/graph_cache.h"

namespace tutti::graph {

bool is_fused(const Graph& graph, std::size_t launch) {
  const std::vector<std::size_t>& group_of = graph.plan().group_of;
  const std::size_t group = group_of[launch];
  if (group == launch && (launch + 1 == group_of.size() || group_of[launch + 1] != launch)) return false;
  const BackendKind backend = graph.record().launches[launch].on->device().backend();
  return fused_compiler(backend) == nullptr || !graph.source_at(group).empty();
}

std::string result_of(const RecordedLaunch& launch) {
  if (launch.outputs == 0) return {};
  const Operand& result = launch.operands[launch.inputs];
  Shape shape;
  for (std::size_t axis = 0; axis < result.rank; ++axis) shape.push_back(result.axes[axis].size);
  return text(to_string(result.dtype), to_string(shape));
}

std::string body_at(const Graph& graph, std::size_t launch) {
  const std::string source = graph.source_at(launch);
  const std::size_t begin = source.find("of_one(");
  const std::size_t end = source.find("\n}\n", begin);
  return begin == std::string::npos || end == std::string::npos ? "" : source.substr(begin, end - begin);
}

std::size_t planned_bytes(const Plan& plan) {
  std::size_t out = 0;
  for (const Arena& arena : plan.arenas) out += arena.bytes;
  return out;
}

std::string summary_of(const Graph& graph) {
  const std::size_t kernels = graph.record().launches.size();
  const std::size_t left_out = graph.plan().recorded_calls - kernels;
  const std::size_t submissions = graph.plan().segments.size();
  return text(kernels, kernels == 1 ? " kernel (" : " kernels (", left_out, left_out == 1 ? " copy" : " copies", " left out) in ",
              submissions, submissions == 1 ? " submission" : " submissions", ", ", graph.replays(),
              graph.replays() == 1 ? " replay" : " replays");
}

static std::string explain(const Graph& graph) {
  const Record& record = graph.record();
  const Plan& plan = graph.plan();
  std::string out = text(summary_of(graph), "\n  memory: ", human_bytes(planned_bytes(plan)),
                         " planned, where each value in memory of its own would take ", human_bytes(plan.value_bytes), "\n");
  for (std::size_t i = 0; i < plan.segments.size(); ++i) {
    const Segment& segment = plan.segments[i];
    out += text("  submission ", i + 1, " on stream ", index_of(segment.stream->id()), " of ", segment.on->name());
    for (std::size_t k = 0; k < segment.after.size(); ++k) out += text(k == 0 ? ", after " : ", ", segment.after[k] + 1);
    out += graph.is_one_by_one(i) ? ", one by one, because the driver makes no graph of them\n" : "\n";
    for (const std::size_t number : segment.launches) {
      const RecordedLaunch& launch = record.launches[number];
      out += !is_fused(graph, number) ? "    " : plan.group_of[number] == number ? "    fused " : "        + ";
      const std::string result = result_of(launch);
      out += text(launch.op->name, result.empty() ? "" : " ", result, " at ", launch.site.to_string(), "\n");
      std::string line;
      for (const char each : body_at(graph, number) + "\n") {
        if (each != '\n') {
          line += each;
        } else if (!line.empty()) {
          out += text("          ", std::exchange(line, {}), "\n");
        }
      }
    }
  }
  return out;
}

std::string explain(const GraphCache& graphs) {
  const auto entries = graphs.entries();
  std::string out =
      text("captured at ", graphs.site().to_string(), ": ", entries.size(), entries.size() == 1 ? " graph" : " graphs", "\n");
  for (const auto& each : entries) out += explain(*each->graph);
  return out;
}

}  // namespace tutti::graph
