#include <utility>

#include "tutti/lint/analyser.h"
#include "tutti/lint/names.h"

namespace tutti::lint {

bool Analyser::is_host_number(NodeId node, const Value& value) const {
  if (node == no_node) return false;
  while (node != no_node && tree_[node].kind == Syntax::unary_operator) node = tree_.child(node, Part::argument);
  const Syntax kind = node == no_node ? Syntax::none : tree_[node].kind;
  return kind == Syntax::integer || kind == Syntax::floating || kind == Syntax::true_ || kind == Syntax::false_ ||
         (value.kind == Kind::host && value.name == nullptr && kind != Syntax::none && kind != Syntax::string);
}

void Analyser::check_indices(NodeId subscript, const Value& object, bool is_stored, const Value& stored, NodeId source) {
  const bool is_on_gpu = object.kind == Kind::tensor && may_be_on_gpu(object);
  bool has_mask = false;
  bool has_indices = false;
  bool has_slice = false;
  int numbers = 0;
  const auto check = [&](NodeId at) {
    const Syntax kind = tree_[at].kind;
    if (kind == Syntax::slice) {
      has_slice = true;
      for (NodeId bound = first(at); bound != no_node; bound = next(bound)) {
        const Value value = evaluate(bound);
        if (value.kind == Kind::tensor) read(value, bound, RuleId::tensor_bounds);
      }
      return;
    }
    const Value value = evaluate(at);
    if (object.kind != Kind::tensor) return;
    if (kind == Syntax::integer || (kind == Syntax::unary_operator && value.kind == Kind::host)) {
      ++numbers;
    } else if (value.kind == Kind::tensor && value.place == Place::cpu) {
      // A mask of the host is turned into indices there, and these are sent without a wait.
      if (is_on_gpu && value.element != Element::boolean && value.is_scalar != Known::yes) {
        report(RuleId::host_index, at, lower(sure_of(object), value.sure));
      }
      has_indices = true;
    } else if (value.kind == Kind::tensor) {
      const Confidence sure = lower(sure_of(value), is_on_gpu ? sure_of(object) : Confidence::possible);
      const bool sounds_like_one = value.element == Element::unknown && sounds_like_mask(text(at));
      if (value.element == Element::boolean || sounds_like_one) {
        has_mask = true;
        if (!is_stored) report(RuleId::boolean_index, at, sounds_like_one ? lower(sure, Confidence::likely) : sure);
      } else if (value.is_scalar == Known::yes) {
        report(RuleId::tensor_bounds, at, sure);
      } else {
        has_indices = true;
      }
    } else if (is_on_gpu && (value.kind == Kind::array || (kind == Syntax::list && first(at) != no_node))) {
      report(RuleId::host_index, at, sure_of(object));
    } else {
      has_slice = true;  // of a kind that is not known
    }
  };
  for (NodeId at = first(subscript); at != no_node; at = next(at)) {
    if (tree_[at].part != Part::subscript) continue;
    if (tree_[at].kind == Syntax::tuple) {
      for (NodeId inner = first(at); inner != no_node; inner = next(inner)) check(inner);
    } else {
      check(at);
    }
  }
  if (!is_stored || object.kind != Kind::tensor) return;
  const bool is_one_element =
      numbers > 0 && numbers == object.rank && !has_slice;  // a number is copied there, and filled in elsewhere
  if (is_on_gpu && has_mask && stored.kind == Kind::tensor && stored.is_scalar != Known::yes) {
    report(RuleId::boolean_assign, subscript,
           lower(sure_of(object), stored.is_scalar == Known::no || stored.rank > 0 ? stored.sure : Confidence::likely));
  } else if (is_on_gpu && !has_mask && (has_indices || is_one_element) && is_host_number(source, stored)) {
    report(RuleId::scalar_assign, subscript, sure_of(object));
  } else if (is_on_gpu && !has_mask && stored.kind == Kind::tensor && stored.place == Place::cpu &&
             stored.is_scalar != Known::yes) {
    report(RuleId::blocking_copy, subscript, lower(sure_of(object), stored.sure));
  } else if (object.place == Place::cpu && stored.kind == Kind::tensor && stored.place == Place::cuda) {
    report(RuleId::to_cpu, subscript, lower(object.sure, stored.sure));
  }
}

Value Analyser::evaluate_subscript(NodeId expression) {
  const NodeId object_node = tree_.child(expression, Part::value);
  if (object_node == no_node) return {};
  const Value object = evaluate(object_node);
  check_indices(expression, object, false, {}, no_node);
  const NodeId index = tree_.child(expression, Part::subscript);
  switch (object.kind) {
    case Kind::container: {
      const Container& container = containers_[object.index];
      if (index != no_node && tree_[index].kind == Syntax::slice) return object;
      if (index != no_node && container.is_dictionary) {
        for (std::size_t i = 0; i < container.keys.size() && i < container.items.size(); ++i) {
          if (container.keys[i] == text(index)) return container.items[i];
        }
      }
      if (index != no_node && container.has_positions && tree_[index].kind == Syntax::integer && text(index).size() == 1) {
        const auto position = static_cast<std::size_t>(text(index)[0] - '0');
        if (position < container.items.size()) return container.items[position];
      }
      return element_of(object);
    }
    case Kind::tensor: {
      Value out = object;
      out.is_scalar = Known::unknown;
      out.rank = -1;
      out.name = nullptr;
      return out;
    }
    case Kind::dataset: return element_of(object);
    case Kind::array:
    case Kind::jax:
    case Kind::module: return object;
    case Kind::host: return host();
    default: return {};
  }
}

void Analyser::assign_subscript(NodeId target, const Value& value, NodeId source) {
  const NodeId object_node = tree_.child(target, Part::value);
  if (object_node == no_node) return;
  const Value object = evaluate(object_node);
  check_indices(target, object, true, value, source);
  if (object.kind != Kind::container) return;
  Container& container = containers_[object.index];
  const NodeId index = tree_.child(target, Part::subscript);
  if (container.items.size() > 64) return;
  container.items.push_back(value);
  container.items.back().pinned = Known::unknown;
  if (container.is_dictionary || container.items.size() == 1) {
    container.is_dictionary = true;
    container.keys.resize(container.items.size() - 1);
    container.keys.push_back(index == no_node ? std::string_view() : text(index));
  }
}

}  // namespace tutti::lint
