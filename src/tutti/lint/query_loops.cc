// Whether a loop does nothing but ask a stream or an event until it is done.
#include <algorithm>

#include "tutti/lint/analyser.h"
#include "tutti/lint/names.h"

namespace tutti::lint {

namespace {

constexpr std::size_t most_in_loop = 2000;  // a loop of more nodes is not looked through

// They ask, pass time or tell it.
bool passes_time(std::string_view function) {
  return is_one_of(function, {"query", "current_stream", "default_stream", "is_set", "all", "any", "len", "range", "sleep",
                              "sched_yield", "time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns"});
}

}  // namespace

// What is done once, on the way out of the loop.
bool Analyser::leaves_loop(NodeId block, NodeId loop) const {
  const NodeId parent = tree_[block].parent;
  if (tree_[block].kind != Syntax::block || parent == no_node) return false;
  if (tree_[parent].kind == Syntax::else_clause && tree_[parent].parent == loop) return true;
  if (!(tree_[parent].kind == Syntax::if_statement || tree_[parent].kind == Syntax::elif_clause ||
        tree_[parent].kind == Syntax::else_clause)) {
    return false;
  }
  NodeId last = no_node;
  for (NodeId at = first(block); at != no_node; at = next(at)) last = at;
  if (last == no_node) return false;
  if (tree_[last].kind == Syntax::return_statement || tree_[last].kind == Syntax::raise_statement) return true;
  NodeId around = parent;
  while (around != loop && tree_[around].kind != Syntax::for_statement && tree_[around].kind != Syntax::while_statement)
    around = tree_[around].parent;
  return tree_[last].kind == Syntax::break_statement && around == loop;
}

// Counting the rounds is not.
bool Analyser::is_work(NodeId id) const {
  if (tree_[id].is_broken) return true;
  switch (tree_[id].kind) {
    case Syntax::call: {
      const NodeId callee = tree_.child(id, Part::function);
      const bool is_method = callee != no_node && tree_[callee].kind == Syntax::attribute;
      const NodeId name = is_method ? tree_.child(callee, Part::attribute) : callee;
      return name == no_node || !passes_time(text(name));
    }
    case Syntax::assignment: {
      const NodeId left = tree_.child(id, Part::left);
      const NodeId right = tree_.child(id, Part::right);
      return left == no_node || tree_[left].kind != Syntax::identifier ||
             (right != no_node && tree_[right].kind == Syntax::binary_operator);
    }
    case Syntax::augmented_assignment: {
      const NodeId right = tree_.child(id, Part::right);
      return right == no_node || (tree_[right].kind != Syntax::integer && tree_[right].kind != Syntax::floating);
    }
    case Syntax::await_:
    case Syntax::yield:
    case Syntax::with_statement:
    case Syntax::import_statement:
    case Syntax::import_from_statement: return true;
    default: return false;
  }
}

std::optional<std::vector<NodeId>> Analyser::ways_out_of(NodeId loop) const {
  std::vector<NodeId> out;
  const auto is_inside = [&](NodeId id, NodeId of) { return id < tree_.size() && tree_[id].begin < tree_[of].end; };
  for (NodeId id = loop; is_inside(id, loop);) {
    if (id - loop > most_in_loop) return std::nullopt;
    const NodeId at = id++;
    if (leaves_loop(at, loop)) {
      out.push_back(at);
      while (is_inside(id, at)) ++id;
    } else if (is_work(at)) {
      return std::nullopt;
    }
  }
  return out;
}

void Analyser::check_query(NodeId call, Confidence sure) {
  if (!is_reporting_ || muted_ > 0) return;
  NodeId loop = tree_[call].parent;
  for (; loop != no_node && tree_[loop].kind != Syntax::while_statement; loop = tree_[loop].parent) {
    const Syntax kind = tree_[loop].kind;
    if (kind == Syntax::function_definition || kind == Syntax::class_definition || kind == Syntax::lambda) return;
  }
  if (loop == no_node) return;
  const auto [found, is_new] = asking_loops_.try_emplace(loop);
  if (is_new) found->second = ways_out_of(loop);
  if (!found->second) return;
  const std::uint32_t begin = tree_[call].begin;
  const bool is_asked_once =
      std::ranges::any_of(*found->second, [&](NodeId block) { return tree_[block].begin <= begin && begin < tree_[block].end; });
  if (!is_asked_once) report(RuleId::query_loop, call, sure);
}

}  // namespace tutti::lint
