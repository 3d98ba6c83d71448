// What both forms of explain() tell of a launch.
#pragma once

#include <string>

#include "tutti/graph/graph.h"

namespace tutti::graph {

// It is one pass or one kernel with others.
bool is_fused(const Graph& graph, std::size_t launch);
// "float32(3, 4)", of its first output; empty: it has none.
std::string result_of(const RecordedLaunch& launch);
// What one element goes through; the rest of a source is how elements are reached. Empty: the launch begins no kernel.
std::string body_at(const Graph& graph, std::size_t launch);
std::size_t planned_bytes(const Plan& plan);
// "12 kernels (1 copy left out) in 1 submission, 3 replays"
std::string summary_of(const Graph& graph);

}  // namespace tutti::graph
