// Whether a batch may be written to while it is sent to a GPU.
#include <algorithm>
#include <utility>

#include "tutti/lint/analyser.h"
#include "tutti/lint/names.h"

namespace tutti::lint {

namespace {

constexpr std::size_t most_nodes = 5000;  // a function of more of them is not looked through

bool has_names_of_its_own(Syntax kind) {
  return kind == Syntax::function_definition || kind == Syntax::class_definition || kind == Syntax::lambda ||
         kind == Syntax::list_comprehension || kind == Syntax::set_comprehension || kind == Syntax::dictionary_comprehension ||
         kind == Syntax::generator_expression;
}

bool is_pattern(Syntax kind) {
  return kind == Syntax::pattern_list || kind == Syntax::tuple_pattern || kind == Syntax::list_pattern;
}

}  // namespace

bool Analyser::is_from_loader(NodeId iterable) const {
  if (iterable == no_node) return false;
  if (tree_[iterable].kind == Syntax::identifier) {
    const Value value = look_up(text(iterable));
    return value.kind == Kind::loader && value.sure == Confidence::certain;
  }
  const bool is_wrapped = tree_[iterable].kind == Syntax::call &&
                          is_one_of(text(tree_.child(iterable, Part::function)), {"enumerate", "tqdm", "tqdm.tqdm"});
  if (!is_wrapped) return false;
  const NodeId wrapped = first(tree_.child(iterable, Part::arguments));
  return wrapped != no_node && tree_[wrapped].kind == Syntax::identifier && is_from_loader(wrapped);
}

// for x, (y, z) in ...; x, y = ...
bool Analyser::is_target(NodeId target, std::string_view name) const {
  if (target == no_node) return false;
  const std::uint32_t end = tree_[target].end;
  for (NodeId id = target; id < tree_.size() && tree_[id].begin < end; ++id) {
    if (tree_[id].kind == Syntax::identifier && text(id) == name && (id == target || is_pattern(tree_[tree_[id].parent].kind)))
      return true;
  }
  return false;
}

// Whether nothing in the program can reach the source once the copy has begun: it is an item of the loop over a loader, was given
// no other name before, and the loop's name is that of the copy from there on, or is used for copies and shapes only.
bool Analyser::is_last_use(NodeId source, NodeId copy) const {
  NodeId root = source;
  while (root != no_node && (tree_[root].kind == Syntax::attribute || tree_[root].kind == Syntax::subscript))
    root = tree_.child(root, tree_[root].kind == Syntax::attribute ? Part::object : Part::value);
  if (root == no_node || tree_[root].kind != Syntax::identifier) return false;
  const std::string_view name = text(root);
  NodeId loop = tree_[root].parent;
  while (loop != no_node && !(tree_[loop].kind == Syntax::for_statement && is_target(tree_.child(loop, Part::left), name))) {
    if (has_names_of_its_own(tree_[loop].kind)) return false;
    loop = tree_[loop].parent;
  }
  if (loop == no_node || !is_from_loader(tree_.child(loop, Part::right))) return false;

  NodeId statement = tree_[copy].parent;
  while (tree_[statement].kind == Syntax::expression_list) statement = tree_[statement].parent;
  const bool takes_the_name =
      root == source && tree_[statement].kind == Syntax::assignment && is_target(tree_.child(statement, Part::left), name);
  NodeId range = loop;  // behind it nobody has the batch
  std::uint32_t end = tree_[statement].end;
  if (!takes_the_name) {
    while (tree_[range].parent != no_node && tree_[range].kind != Syntax::function_definition) range = tree_[range].parent;
    end = tree_[range].end;
  }
  for (NodeId id = range; id < tree_.size() && tree_[id].begin < end; ++id) {
    if (id - range > most_nodes || tree_[id].is_broken) return false;
    const bool is_mention = tree_[id].kind == Syntax::identifier && text(id) == name;
    if (is_mention && !leaves_memory_alone(id, copy)) return false;
  }
  return true;
}

bool Analyser::leaves_memory_alone(NodeId mention, NodeId copy) const {
  const auto is_metadata = [](std::string_view name) { return is_one_of(name, {"shape", "dtype", "device", "ndim"}); };
  NodeId at = mention;
  NodeId parent = tree_[at].parent;
  if (tree_[at].part == Part::attribute || tree_[parent].kind == Syntax::keyword_argument) return tree_[at].part != Part::value;
  const auto is_assigned = [&] {
    const Syntax kind = tree_[parent].kind;
    return tree_[at].part == Part::left && (kind == Syntax::assignment || kind == Syntax::for_statement);
  };
  if (is_assigned() || is_pattern(tree_[parent].kind)) return true;  // the name is given to something else
  for (; tree_[at].part == Part::object || (tree_[parent].kind == Syntax::subscript && tree_[at].part == Part::value);
       at = parent, parent = tree_[at].parent) {
    if (tree_[parent].kind == Syntax::attribute && is_metadata(text(tree_.child(parent, Part::attribute)))) return true;
  }
  if (tree_[at].kind == Syntax::subscript && is_assigned()) {  // batch["x"] = ...
    const NodeId key = tree_.child(at, Part::subscript);
    return key != no_node && tree_[key].kind == Syntax::string;
  }
  if (tree_[at].kind != Syntax::attribute || tree_[at].part != Part::function) return false;
  const std::string_view method = text(tree_.child(at, Part::attribute));
  if (is_one_of(method, {"cuda", "size", "dim", "numel"})) return true;
  // to() of another device than the copy's may give the source itself.
  const NodeId there = first(tree_.child(parent, Part::arguments));
  const NodeId here = first(tree_.child(copy, Part::arguments));
  return method == "to" && there != no_node && here != no_node && text(there) == text(here);
}

// Copies that do not wait, and whose source may be written to: harmless as long as it is pageable.
bool Analyser::has_loose_copies() const {
  for (NodeId call = 0; call < tree_.size(); ++call) {
    if (tree_[call].kind != Syntax::call || tree_[call].is_broken || safe_copies_.contains(call)) continue;
    const NodeId method = tree_.child(tree_.child(call, Part::function), Part::attribute);
    const bool is_copy = method != no_node && is_one_of(text(method), {"to", "cuda"});
    for (NodeId at = first(tree_.child(call, Part::arguments)); at != no_node; at = next(at)) {
      const bool is_flag = tree_[at].kind == Syntax::keyword_argument && text(tree_.child(at, Part::name)) == "non_blocking" &&
                           tree_[tree_.child(at, Part::value)].kind != Syntax::false_;
      if (is_flag || (is_copy && tree_[at].kind == Syntax::true_)) return true;
    }
  }
  return false;
}

}  // namespace tutti::lint
