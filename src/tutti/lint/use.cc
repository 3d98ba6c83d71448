#include "tutti/lint/use.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "tutti/lint/names.h"

namespace tutti::lint {

namespace {

constexpr int most_names = 30;    // followed for one value
constexpr int most_levels = 200;  // of syntax around an expression

bool is_scope(Syntax kind) {
  return kind == Syntax::function_definition || kind == Syntax::class_definition || kind == Syntax::module ||
         kind == Syntax::lambda;
}

bool is_loop(Syntax kind) { return kind == Syntax::for_statement || kind == Syntax::while_statement; }

bool is_told_to(std::string_view receiver, std::string_view function) {
  if (receiver.empty()) return function == "print";
  if (is_one_of(function, {"log", "log_dict"})) return !is_one_of(receiver, {"torch", "math", "np", "numpy", "jnp"});
  return is_writer(function) || is_logger(receiver, function) ||
         is_one_of(function, {"append", "update", "write", "writerow", "set_description"});
}

// What gives a number made of its argument, or its text.
bool passes_on(std::string_view receiver, std::string_view function) {
  if (receiver == "math" || receiver == "np" || receiver == "numpy") return true;
  return receiver.empty() && is_one_of(function, {"float",  "int", "bool", "abs",  "round",     "min",  "max",
                                                  "sum",    "len", "str",  "repr", "format",    "list", "tuple",
                                                  "sorted", "any", "all",  "zip",  "enumerate", "dict", "isinstance"});
}

bool takes_sizes(std::string_view receiver, std::string_view function) {
  if (receiver == "torch") {
    return is_one_of(function, {"zeros", "ones", "empty", "full", "rand", "randn", "arange", "eye", "linspace", "randperm"});
  }
  return !receiver.empty() && is_one_of(function, {"view", "reshape", "expand", "repeat", "split", "narrow", "new_zeros",
                                                   "new_ones", "new_empty", "new_full", "resize_", "chunk"});
}

bool is_op(std::string_view receiver) {
  return is_one_of(receiver, {"torch", "F", "torch.nn.functional", "nn.functional", "jnp", "jax", "jax.numpy"});
}

class Follower {
 public:
  explicit Follower(const SyntaxTree& tree) : tree_(tree) {}

  ValueUse of(NodeId expression) {
    NodeId at = expression;
    for (int level = 0; level < most_levels; ++level) {
      const NodeId parent = tree_[at].parent;
      if (parent == no_node) return {};
      if (const ValueUse found = inside(at, parent); found.use != Use::unknown) return found;
      if (!goes_on_) return {};
      at = parent;
    }
    return {};
  }

 private:
  [[nodiscard]] ValueUse here(Use use, NodeId at) const { return {use, tree_[at].line + 1}; }

  [[nodiscard]] std::size_t position(NodeId of) const {
    std::size_t out = 0;
    for (NodeId at = tree_[tree_[of].parent].first; at != no_node && at != of; at = tree_[at].next) {
      if (tree_[at].kind != Syntax::comment) ++out;
    }
    return out;
  }

  // What `parent` does with the value of its part `at`. Nothing is known yet where the value goes on into what is around it.
  ValueUse inside(NodeId at, NodeId parent) {
    goes_on_ = false;
    const Part part = tree_[at].part;
    switch (tree_[parent].kind) {
      case Syntax::if_statement:
      case Syntax::elif_clause:
      case Syntax::while_statement: return part == Part::condition ? here(Use::decides, at) : ValueUse{};
      case Syntax::assert_statement: return position(at) == 0 ? here(Use::decides, at) : ValueUse{};
      case Syntax::if_clause: return here(Use::decides, at);
      case Syntax::conditional_expression:
        if (position(at) == 1) return here(Use::decides, at);
        goes_on_ = true;
        return {};
      case Syntax::boolean_operator:
        if (part == Part::left) return here(Use::decides, at);
        goes_on_ = true;
        return {};
      case Syntax::interpolation: return here(Use::told, at);
      case Syntax::augmented_assignment: return part == Part::right ? here(Use::told, at) : ValueUse{};
      case Syntax::slice: return here(Use::size, at);
      case Syntax::subscript: goes_on_ = part == Part::value; return {};
      case Syntax::keyword_argument:
      case Syntax::argument_list:
      case Syntax::attribute:
      case Syntax::binary_operator:
      case Syntax::comparison_operator:
      case Syntax::not_operator:
      case Syntax::unary_operator:
      case Syntax::parenthesized_expression:
      case Syntax::await_:
      case Syntax::expression_list:
      case Syntax::list:
      case Syntax::tuple:
      case Syntax::set:
      case Syntax::pair:
      case Syntax::dictionary:
      case Syntax::list_splat:
      case Syntax::list_comprehension:
      case Syntax::generator_expression: goes_on_ = true; return {};
      case Syntax::call:
        if (part != Part::arguments) {  // a method of the value
          goes_on_ = true;
          return {};
        }
        return called(parent);
      case Syntax::named_expression: {
        const ValueUse named = follow(tree_.child(parent, Part::name), parent);
        if (named.use == Use::decides) return named;
        goes_on_ = named.use != Use::unknown;
        return {};
      }
      case Syntax::assignment: return part == Part::right ? assigned(parent) : ValueUse{};
      default: return {};
    }
  }

  ValueUse called(NodeId call) {
    const NodeId callee = tree_.child(call, Part::function);
    if (callee == no_node) return {};
    std::string_view function = tree_.text(callee);
    std::string_view receiver;
    if (tree_[callee].kind == Syntax::attribute) {
      const NodeId object = tree_.child(callee, Part::object);
      const NodeId name = tree_.child(callee, Part::attribute);
      if (object == no_node || name == no_node) return {};
      receiver = tree_.text(object);
      function = tree_.text(name);
    }
    if (is_told_to(receiver, function)) return here(Use::told, call);
    if (receiver.empty() && function == "range") return here(Use::decides, call);
    if (takes_sizes(receiver, function)) return here(Use::size, call);
    goes_on_ = passes_on(receiver, function);
    return is_op(receiver) ? here(Use::computes, call) : ValueUse{};
  }

  ValueUse assigned(NodeId assignment) {
    const NodeId left = tree_.child(assignment, Part::left);
    if (left == no_node) return {};
    if (tree_[left].kind == Syntax::identifier) return follow(left, assignment);
    if (tree_[left].kind != Syntax::pattern_list && tree_[left].kind != Syntax::tuple_pattern) return {};
    ValueUse all;
    bool is_first = true;
    for (NodeId at = tree_[left].first; at != no_node; at = tree_[at].next) {
      if (tree_[at].kind != Syntax::identifier) return {};
      const ValueUse one = follow(at, assignment);
      all = is_first ? one : together(all, one);
      is_first = false;
    }
    return all;
  }

  // What needs the value soonest; unknown where one of them is, and nothing is worse.
  static ValueUse together(ValueUse a, ValueUse b) {
    if (a.use == Use::decides || b.use == Use::decides) return a.use == Use::decides ? a : b;
    if (a.use == Use::unknown || b.use == Use::unknown) return {};
    return a.use >= b.use ? a : b;
  }

  [[nodiscard]] NodeId around(NodeId at, bool (*is_one)(Syntax)) const {
    for (at = tree_[at].parent; at != no_node && !is_one(tree_[at].kind); at = tree_[at].parent) {}
    return at;
  }

  [[nodiscard]] bool is_inside(NodeId at, NodeId outer) const {
    return tree_[outer].begin <= tree_[at].begin && tree_[at].end <= tree_[outer].end;
  }

  [[nodiscard]] NodeId block_of(NodeId at) const {
    return around(at, [](Syntax kind) { return kind == Syntax::block || kind == Syntax::module; });
  }

  // The statement that gives the name another value, or no_node.
  [[nodiscard]] NodeId store_at(NodeId name) const {
    NodeId at = name;
    for (; at != no_node; at = tree_[at].parent) {
      const Syntax kind = tree_[at].kind;
      if (tree_[at].part == Part::left) {
        const NodeId parent = tree_[at].parent;
        const bool stores = tree_[parent].kind == Syntax::assignment || tree_[parent].kind == Syntax::for_statement;
        return stores ? parent : no_node;
      }
      if (kind != Syntax::identifier && kind != Syntax::pattern_list && kind != Syntax::tuple_pattern) return no_node;
    }
    return no_node;
  }

  [[nodiscard]] bool is_read(NodeId name) const {
    const Node& node = tree_[name];
    const Syntax around_it = tree_[node.parent].kind;
    if (around_it == Syntax::attribute && node.part == Part::attribute) return false;
    if (around_it == Syntax::keyword_argument && node.part == Part::name) return false;
    if (around_it == Syntax::parameters || around_it == Syntax::default_parameter || around_it == Syntax::dotted_name)
      return false;
    return store_at(name) == no_node;
  }

  // All reads of the name from `assignment` to where it gets another value; in a loop from its begin, too.
  ValueUse follow(NodeId name, NodeId assignment) {
    if (name == no_node || ++names_ > most_names) return {};
    const NodeId scope = around(assignment, is_scope);
    NodeId loop = around(assignment, is_loop);
    if (loop != no_node && (scope == no_node || !is_inside(loop, scope))) loop = no_node;
    std::vector<NodeId> same;
    for (NodeId id = 0; scope != no_node && id < tree_.size(); ++id) {
      if (tree_[id].kind == Syntax::identifier && tree_.text(id) == tree_.text(name) && is_inside(id, scope)) same.push_back(id);
    }
    std::vector<NodeId> reads;
    // True where the name certainly has another value from there on.
    const auto collect = [&](std::uint32_t from, std::uint32_t to) {
      std::uint32_t ends = to;
      for (const NodeId id : same) {
        if (tree_[id].begin < from || tree_[id].begin >= ends) continue;
        const NodeId store = store_at(id);
        if (store != no_node && is_inside(assignment, block_of(store)))
          ends = tree_[tree_[store].kind == Syntax::assignment ? store : id].end;
        if (store == no_node && is_read(id)) reads.push_back(id);
      }
      return ends != to;
    };
    const std::uint32_t end = loop != no_node ? tree_[loop].end : scope != no_node ? tree_[scope].end : 0;
    const bool is_replaced = collect(tree_[assignment].end, end);
    if (loop != no_node && !is_replaced) {
      collect(tree_[loop].begin, tree_[assignment].begin);
      collect(tree_[loop].end, tree_[scope].end);
    }
    ValueUse out;
    bool is_first = true;
    for (const NodeId id : reads) {
      const ValueUse one = of(id);
      out = is_first ? one : together(out, one);
      is_first = false;
    }
    goes_on_ = false;
    return out;
  }

  const SyntaxTree& tree_;
  bool goes_on_ = false;
  int names_ = 0;
};

}  // namespace

ValueUse use_of(const SyntaxTree& tree, NodeId expression) { return Follower(tree).of(expression); }

}  // namespace tutti::lint
