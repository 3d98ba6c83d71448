#include <algorithm>
#include <utility>

#include "tutti/lint/analyser.h"
#include "tutti/lint/names.h"

namespace tutti::lint {

std::vector<Analyser::Change> Analyser::take_changes(std::size_t since) {
  std::vector<Change> out;
  for (std::size_t i = scope_->undo.size(); i > since; --i) {
    const auto& [name, before] = scope_->undo[i - 1];
    Value& now = scope_->names[name];
    if (std::none_of(out.begin(), out.end(), [&](const Change& change) { return change.first == name; }))
      out.emplace_back(name, now);
    now = before;
  }
  scope_->undo.resize(since);
  return out;
}

// What a branch leaves in names; they are as before it.
template <class Body>
std::vector<Analyser::Change> Analyser::branch(Body&& body, bool& leaves) {
  const std::size_t since = scope_->undo.size();
  leaves = body();
  return take_changes(since);
}

void Analyser::join_branches(const std::vector<std::vector<Change>>& branches) {
  if (branches.empty()) return;
  std::vector<std::string_view> names;
  for (const auto& each : branches) {
    for (const Change& change : each) {
      if (std::find(names.begin(), names.end(), change.first) == names.end()) names.push_back(change.first);
    }
  }
  for (const std::string_view name : names) {
    Value value;
    bool is_first = true;
    for (const auto& each : branches) {
      const auto found = std::find_if(each.begin(), each.end(), [&](const Change& change) { return change.first == name; });
      const auto before = scope_->names.find(name);
      const bool is_bound = found != each.end() || (before != scope_->names.end() && before->second.kind != Kind::unknown);
      if (!is_bound) continue;  // not there on that way: whoever uses it came another
      const Value here = found != each.end() ? found->second : before->second;
      value = is_first ? here : joined(value, here);
      is_first = false;
    }
    bind(name, value);
  }
}

bool Analyser::execute_all(NodeId block) {
  for (NodeId at = first(block); at != no_node; at = next(at)) {
    if (execute(at)) return true;
  }
  return false;
}

bool Analyser::execute(NodeId statement) {
  if (depth_ > 60) return false;
  ++depth_;
  const Node& node = tree_[statement];
  const auto body_of = [&](NodeId of) { return tree_.child(of, Part::body); };
  bool leaves = false;
  switch (node.kind) {
    case Syntax::error: break;  // nothing is said about what did not parse
    case Syntax::block: leaves = execute_all(statement); break;
    case Syntax::function_definition: {
      const bool is_new = !function_at_.contains(statement);
      const std::uint32_t index = declare_function(statement, 0, false);
      if (is_new) declare_parameters(functions_[index], false);
      bind(functions_[index].name, {.kind = Kind::function, .index = index});
      if (!std::exchange(functions_[index].is_queued, true)) nested_.push_back(index);
      break;
    }
    case Syntax::class_definition: {
      declare_type(statement);
      // What its body assigns is what its instances have.
      const NodeId name = tree_.child(statement, Part::name);
      const Value type = name == no_node ? Value{} : look_up(text(name));
      for (NodeId at = first(body_of(statement)); type.kind == Kind::type && at != no_node; at = next(at)) {
        const NodeId assignment = tree_[at].kind == Syntax::expression_statement ? first(at) : no_node;
        if (assignment == no_node || tree_[assignment].kind != Syntax::assignment || tree_[assignment].is_broken) continue;
        const NodeId left = tree_.child(assignment, Part::left);
        const NodeId right = tree_.child(assignment, Part::right);
        if (right == no_node || tree_[left].kind != Syntax::identifier) continue;
        Value value = evaluate(right);
        if (tree_.child(assignment, Part::type) != no_node) {  // another may be given to the constructor
          const Value device = named_device(value);
          if (value.kind == Kind::host && !is_integer(value) && device.kind == Kind::device) value = device;
          value.sure = lower(value.sure, Confidence::likely);
          types_[type.index].fields[text(left)] = value;
          const auto given = types_[type.index].given.known.find(text(left));
          if (given != types_[type.index].given.known.end()) value = given->second;
        }
        const auto [known, is_new] = types_[type.index].attributes.try_emplace(text(left), value);
        if (!is_new) known->second = joined(value, known->second);  // instances may have been given another
      }
      break;
    }
    case Syntax::decorated_definition: {
      const NodeId definition = tree_.child(statement, Part::definition);
      bool is_jitted = false;
      for (NodeId at = first(statement); at != no_node; at = next(at)) {
        if (tree_[at].kind != Syntax::decorator) continue;
        is_jitted = is_jitted || is_jit(at);
      }
      if (definition != no_node && is_jitted && tree_[definition].kind == Syntax::function_definition)
        declare_function(definition, 0, true);
      if (definition != no_node) execute(definition);
      break;
    }
    case Syntax::if_statement: execute_if(statement, leaves); break;
    case Syntax::for_statement:
    case Syntax::while_statement: execute_loop(statement); break;
    case Syntax::with_statement: execute_with(statement); break;
    case Syntax::match_statement:
      for (NodeId at = first(statement); at != no_node && tree_[at].kind != Syntax::block; at = next(at)) {
        if (!tree_[at].is_broken) evaluate(at);
      }
      [[fallthrough]];
    case Syntax::try_statement:
      for (NodeId at = first(statement); at != no_node; at = next(at)) {
        if (tree_[at].part == Part::subscript || tree_[at].kind == Syntax::error) continue;
        bool ignored = false;
        join_branches({branch([&] { return execute(at); }, ignored), {}});
      }
      break;
    case Syntax::except_clause:
    case Syntax::finally_clause:
    case Syntax::else_clause:
    case Syntax::case_clause:
      for (NodeId at = first(statement); at != no_node; at = next(at)) {
        if (tree_[at].kind == Syntax::if_clause && !tree_[at].is_broken) test(first(at), RuleId::branch);
        if (tree_[at].kind == Syntax::block) leaves = execute_all(at);
      }
      break;
    default:
      // A statement that is broken anywhere is left alone.
      if (node.is_broken) break;
      switch (node.kind) {
        case Syntax::expression_statement:
          for (NodeId at = first(statement); at != no_node; at = next(at)) {
            const Syntax kind = tree_[at].kind;
            if (kind == Syntax::assignment || kind == Syntax::augmented_assignment) {
              execute_assignment(at);
            } else {
              evaluate(at);
            }
          }
          break;
        case Syntax::return_statement: {
          const NodeId returned = first(statement);
          const Value value = returned == no_node ? host() : evaluate(returned);
          if (function_ != nullptr) {
            function_->returning = function_->is_returning ? joined(function_->returning, value) : value;
            function_->is_returning = true;
          }
          leaves = true;
          break;
        }
        case Syntax::assert_statement:
          if (const NodeId condition = first(statement); condition != no_node) test(condition, RuleId::assertion);
          break;  // its message is made only when it fails
        case Syntax::global_statement:
        case Syntax::nonlocal_statement: declare_elsewhere(statement); break;
        case Syntax::import_statement:
        case Syntax::import_from_statement: execute_import(statement); break;
        case Syntax::raise_statement:
        case Syntax::break_statement:
        case Syntax::continue_statement: leaves = true; break;
        default: break;
      }
  }
  --depth_;
  return leaves;
}

void Analyser::execute_if(NodeId statement, bool& leaves) {
  const auto is_rare = [&](NodeId condition) {
    for (NodeId id = condition; id < tree_.size() && tree_[id].begin < tree_[condition].end; ++id) {
      const NodeId sign = tree_[id].kind == Syntax::binary_operator ? tree_.child(id, Part::operator_) : no_node;
      const NodeId left = tree_.child(id, Part::left);
      if (sign != no_node && text(sign) == "%" && left != no_node && tree_[left].kind != Syntax::string) return true;
    }
    return false;
  };
  std::vector<std::vector<Change>> branches;
  bool all_leave = true;
  bool has_else = false;
  const auto add = [&](NodeId condition, NodeId body) {
    if (condition != no_node && !tree_[condition].is_broken) test(condition, RuleId::branch);
    const int rare = condition != no_node && is_rare(condition) ? 1 : 0;
    sometimes_ += rare;
    bool left = false;
    auto changes = branch([&] { return body != no_node && execute_all(body); }, left);
    sometimes_ -= rare;
    if (!left) branches.push_back(std::move(changes));
    all_leave = all_leave && left;
  };
  add(tree_.child(statement, Part::condition), tree_.child(statement, Part::consequence));
  for (NodeId at = first(statement); at != no_node; at = next(at)) {
    if (tree_[at].kind == Syntax::elif_clause) add(tree_.child(at, Part::condition), tree_.child(at, Part::consequence));
    if (tree_[at].kind == Syntax::else_clause) {
      has_else = true;
      add(no_node, tree_.child(at, Part::body));
    }
  }
  if (!has_else) {
    branches.emplace_back();
    all_leave = false;
  }
  join_branches(branches);
  leaves = all_leave;
}

void Analyser::execute_loop(NodeId statement) {
  const NodeId body = tree_.child(statement, Part::body);
  const NodeId left = tree_.child(statement, Part::left);
  const NodeId right = tree_.child(statement, Part::right);
  const bool is_for = tree_[statement].kind == Syntax::for_statement;
  const bool is_header_good = (right == no_node || !tree_[right].is_broken) && (left == no_node || !tree_[left].is_broken);
  Value over;
  if (is_for && right != no_node && is_header_good) over = evaluate(right);
  const bool is_step = over.kind == Kind::loader ||
                       (over.kind == Kind::container && (containers_[over.index].has_batches || element_of(over).loader != 0));
  ++loops_;
  steps_ += is_step ? 1 : 0;
  const auto once = [&] {
    if (is_for && left != no_node && is_header_good) assign(left, element_of(over), no_node);
    const NodeId condition = tree_.child(statement, Part::condition);
    if (condition != no_node && !tree_[condition].is_broken) test(condition, RuleId::branch);
    bool ignored = false;
    join_branches({branch([&] { return body != no_node && execute_all(body); }, ignored), {}});
  };
  // First for what one turn leaves to the next.
  if (muted_ == 0 && is_reporting_) {
    ++muted_;
    once();
    --muted_;
  }
  once();
  steps_ -= is_step ? 1 : 0;
  --loops_;
  if (const NodeId otherwise = tree_.child(statement, Part::alternative); otherwise != no_node) execute(otherwise);
}

void Analyser::execute_with(NodeId statement) {
  const Value outer_device = default_device_;
  for (NodeId clause = first(statement); clause != no_node; clause = next(clause)) {
    if (tree_[clause].kind != Syntax::with_clause || tree_[clause].is_broken) continue;
    for (NodeId item = first(clause); item != no_node; item = next(item)) {
      NodeId value = tree_.child(item, Part::value);
      if (value == no_node) continue;
      NodeId target = no_node;
      if (tree_[value].kind == Syntax::as_pattern) {
        target = tree_.child(value, Part::alias);
        value = first(value);
      }
      const Value entered = evaluate(value);
      if (entered.kind == Kind::device) default_device_ = entered;
      if (target != no_node && first(target) != no_node) assign(first(target), entered, no_node);
    }
  }
  if (const NodeId body = tree_.child(statement, Part::body); body != no_node) execute_all(body);
  default_device_ = outer_device;
}

void Analyser::execute_import(NodeId statement) {
  const NodeId from = tree_.child(statement, Part::module_name);
  if (from != no_node && tree_[from].kind != Syntax::dotted_name) return;  // from . import: not known
  for (NodeId at = first(statement); at != no_node; at = next(at)) {
    if (at == from) continue;
    const bool is_renamed = tree_[at].kind == Syntax::aliased_import;
    const NodeId name = is_renamed ? tree_.child(at, Part::name) : at;
    if (name == no_node || tree_[name].kind != Syntax::dotted_name) continue;
    std::string path(text(name));
    if (from != no_node) path = std::string(text(from)).append(".").append(path);
    std::string_view bound = is_renamed ? text(tree_.child(at, Part::alias)) : text(name);
    if (!is_renamed && from == no_node) {  // import torch.nn binds torch
      bound = bound.substr(0, bound.find('.'));
      path = bound;
    }
    bind(bound, {.kind = Kind::name, .name = interned(path)});
  }
}

void Analyser::declare_elsewhere(NodeId statement) {
  for (NodeId at = first(statement); at != no_node; at = next(at)) {
    if (tree_[statement].kind == Syntax::global_statement && scope_ != &module_) scope_->elsewhere[text(at)] = &globals_;
    if (tree_[statement].kind == Syntax::global_statement) continue;
    for (const Scope* of = scope_->outer; of != nullptr && of != &module_; of = of->outer) {
      if (of->given == nullptr || !of->names.contains(text(at))) continue;
      scope_->elsewhere[text(at)] = of->given;
      break;
    }
  }
}

void Analyser::execute_assignment(NodeId statement) {
  const NodeId left = tree_.child(statement, Part::left);
  NodeId right = tree_.child(statement, Part::right);
  if (left == no_node) return;
  if (tree_[statement].kind == Syntax::augmented_assignment) {
    const Value before = evaluate(left);  // x[mask] += 1 reads through the mask
    const Value by = right == no_node ? Value{} : evaluate(right);
    if (tree_[left].kind == Syntax::identifier || tree_[left].kind == Syntax::attribute) {
      const bool keeps = before.kind == Kind::container || before.kind == Kind::unknown;
      assign(left, keeps && by.kind != Kind::tensor ? before : combined(before, by), no_node);
    }
    return;
  }
  std::vector<NodeId> targets{left};
  for (; right != no_node && tree_[right].kind == Syntax::assignment; right = tree_.child(right, Part::right))
    targets.push_back(tree_.child(right, Part::left));  // a = b = c
  Value value = right == no_node ? Value{} : evaluate(right);
  const NodeId type = tree_.child(statement, Part::type);
  if (type != no_node && value.kind == Kind::unknown) value = annotated(text(type));
  for (const NodeId target : targets) assign(target, value, right);
}

void Analyser::assign(NodeId target, const Value& value, NodeId source) {
  if (target == no_node || depth_ > deepest) return;
  ++depth_;
  switch (tree_[target].kind) {
    case Syntax::identifier: bind(text(target), value); break;
    case Syntax::pattern_list:
    case Syntax::tuple_pattern:
    case Syntax::list_pattern:
    case Syntax::tuple:
    case Syntax::list: unpack(target, value); break;
    case Syntax::list_splat_pattern:
      if (const NodeId name = first(target); name != no_node) assign(name, make_container({value}, false), no_node);
      break;
    case Syntax::subscript: assign_subscript(target, value, source); break;
    case Syntax::parenthesized_expression:
    case Syntax::as_pattern_target:
      if (const NodeId inner = first(target); inner != no_node) assign(inner, value, source);
      break;
    case Syntax::attribute: {
      const Value object = evaluate(tree_.child(target, Part::object));
      const std::string_view name = text(tree_.child(target, Part::attribute));
      if (object.kind == Kind::instance) assign_attribute(types_[object.index], name, value);
      break;
    }
    default: break;
  }
  --depth_;
}

// The first round tells at once, the others when they end: what was known less well does not stay.
void Analyser::assign_attribute(Type& type, std::string_view name, const Value& value) {
  const auto assign = [&](Bindings& to) {
    const auto [at, is_new] = to.try_emplace(name, value);
    const bool tells_more = value.kind != Kind::unknown || names_cpu(at->second);
    if (!is_new && tells_more) at->second = either_assigned(at->second, value);
  };
  assign(type.assigned);
  if (const auto known = type.attributes.find(name);
      known == type.attributes.end() || known->second.kind == Kind::unknown || !type.is_known)
    assign(type.attributes);
}

void Analyser::unpack(NodeId targets, const Value& value) {
  std::size_t position = 0;
  for (NodeId at = first(targets); at != no_node; at = next(at), ++position) {
    const bool is_told_apart = value.kind == Kind::container && containers_[value.index].has_positions &&
                               position < containers_[value.index].items.size();
    assign(at, is_told_apart ? containers_[value.index].items[position] : element_of(value), no_node);
  }
}

}  // namespace tutti::lint
