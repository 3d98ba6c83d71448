#include <algorithm>
#include <utility>

#include "tutti/lint/analyser.h"
#include "tutti/lint/names.h"

namespace tutti::lint {

Value Analyser::evaluate(NodeId expression) {
  if (expression == no_node || depth_ > deepest) return {};
  ++depth_;
  const Value value = evaluate_node(expression);
  --depth_;
  return value;
}

Value Analyser::evaluate_node(NodeId expression) {
  switch (tree_[expression].kind) {
    case Syntax::identifier: {
      const Value value = look_up(text(expression));
      if (value.kind == Kind::unknown && sounds_like_device(text(expression))) {
        return {.kind = Kind::device, .place = Place::cuda, .sure = Confidence::likely};
      }
      // What is called may be a builtin.
      return value.kind == Kind::unknown && tree_[expression].part != Part::function ? unknown_ : value;
    }
    case Syntax::attribute: return evaluate_attribute(expression);
    case Syntax::call: return evaluate_call(expression);
    case Syntax::subscript: return evaluate_subscript(expression);
    case Syntax::string: {
      bool has_values = false;
      for (NodeId at = first(expression); at != no_node; at = next(at)) {
        if (tree_[at].kind != Syntax::interpolation) continue;
        has_values = true;
        if (const NodeId shown = first(at); shown != no_node) read(evaluate(shown), shown, RuleId::format);
      }
      const Value value{.kind = Kind::host, .name = interned(literal(expression))};
      return has_values && place_of_name(value.name) == Place::unknown ? host() : value;
    }
    case Syntax::concatenated_string:
      for (NodeId at = first(expression); at != no_node; at = next(at)) evaluate(at);
      return host();
    case Syntax::integer: return integer();
    case Syntax::floating:
    case Syntax::true_:
    case Syntax::false_:
    case Syntax::none: return host();
    case Syntax::list:
    case Syntax::set:
    case Syntax::tuple:
    case Syntax::expression_list: {
      std::vector<Value> items;
      for (NodeId at = first(expression); at != no_node; at = next(at)) {
        const bool is_splat = tree_[at].kind == Syntax::list_splat;
        items.push_back(is_splat ? element_of(evaluate(first(at))) : evaluate(at));
      }
      return make_container(std::move(items), true);
    }
    case Syntax::dictionary: {
      std::vector<Value> items;
      std::vector<std::string_view> keys;
      for (NodeId at = first(expression); at != no_node; at = next(at)) {
        if (tree_[at].kind != Syntax::pair) {
          items.push_back(element_of(evaluate(first(at))));
          keys.emplace_back();
          continue;
        }
        const NodeId key = tree_.child(at, Part::key);
        evaluate(key);
        items.push_back(evaluate(tree_.child(at, Part::value)));
        keys.push_back(key == no_node ? std::string_view() : text(key));
      }
      const Value made = make_container(std::move(items), false);
      containers_[made.index].keys = std::move(keys);
      containers_[made.index].is_dictionary = true;
      return made;
    }
    case Syntax::unary_operator: {
      const Value value = evaluate(tree_.child(expression, Part::argument));
      return value.kind == Kind::host && !is_integer(value) ? host() : value;
    }
    case Syntax::binary_operator: return evaluate_operator(expression);
    case Syntax::comparison_operator: return evaluate_comparison(expression);
    case Syntax::boolean_operator: {
      const Value a = test(tree_.child(expression, Part::left), RuleId::branch);
      return joined(a, evaluate(tree_.child(expression, Part::right)));
    }
    case Syntax::not_operator: test(tree_.child(expression, Part::argument), RuleId::branch); return host();
    case Syntax::conditional_expression: {
      const NodeId body = first(expression);
      const NodeId condition = body == no_node ? no_node : next(body);
      const NodeId otherwise = condition == no_node ? no_node : next(condition);
      if (otherwise == no_node) return {};
      test(condition, RuleId::branch);
      const Value a = evaluate(body);
      return joined(a, evaluate(otherwise));
    }
    case Syntax::lambda: {
      Scope scope;
      scope.outer = scope_;
      const NodeId list = tree_.child(expression, Part::parameters);
      for (NodeId at = first(list); at != no_node; at = next(at)) {
        if (tree_[at].kind == Syntax::identifier) scope.names[text(at)] = {};
      }
      Scope* const outer = std::exchange(scope_, &scope);
      const Value value = evaluate(tree_.child(expression, Part::body));
      scope_ = outer;
      return value.kind == Kind::jax ? Value{.kind = Kind::jax_function} : Value{};
    }
    case Syntax::list_comprehension:
    case Syntax::set_comprehension:
    case Syntax::generator_expression:
    case Syntax::dictionary_comprehension: return evaluate_comprehension(expression);
    case Syntax::named_expression: {
      const Value value = evaluate(tree_.child(expression, Part::value));
      const NodeId name = tree_.child(expression, Part::name);
      if (name != no_node && tree_[name].kind == Syntax::identifier) bind(text(name), value);
      return value;
    }
    case Syntax::yield: {
      const NodeId shown = first(expression);
      Value value = shown == no_node ? host() : evaluate(shown);
      if (text(expression).starts_with("yield from")) value = element_of(value);
      if (function_ != nullptr) {
        function_->yielding = function_->is_yielding ? joined(function_->yielding, value) : value;
        function_->is_yielding = function_->is_generator = true;
      }
      return {};
    }
    case Syntax::await_:
    case Syntax::parenthesized_expression:
    case Syntax::type: return evaluate(first(expression));
    case Syntax::list_splat: return element_of(evaluate(first(expression)));
    case Syntax::error: return {};
    default:
      for (NodeId at = first(expression); at != no_node; at = next(at)) {
        if (tree_[at].kind != Syntax::operator_) evaluate(at);
      }
      return {};
  }
}

Value Analyser::combined(const Value& a, const Value& b) const {
  if (a.kind == Kind::jax || b.kind == Kind::jax) return a.kind == Kind::jax ? a : b;
  const bool is_a = a.kind == Kind::tensor;
  const bool is_b = b.kind == Kind::tensor;
  if (!is_a && !is_b) {
    if (a.kind == Kind::array || b.kind == Kind::array) return {.kind = Kind::array};
    if (a.kind != Kind::host || b.kind != Kind::host) return {};
    return is_integer(a) || is_integer(b) ? integer(lower(a.sure, b.sure)) : host();  // rank % torch.cuda.device_count()
  }
  if (!is_a || !is_b) {
    Value out = is_a ? a : b;
    if (out.place == Place::cpu && (is_a ? b : a).kind == Kind::unknown) out.place = Place::unknown;
    out.element = Element::number;
    out.loader = 0;
    out.pinned = pinned_after(out.pinned);
    if (!is_marked(out, guessed)) out.name = nullptr;  // it may be a number still
    return out;
  }
  Value out = a.place == Place::cuda && (b.place != Place::cuda || a.sure >= b.sure) ? a : b;
  if (a.place != Place::cuda && b.place != Place::cuda && a.place != b.place) out.place = Place::unknown;
  out.element = a.element == Element::boolean && b.element == Element::boolean ? Element::boolean : Element::number;
  out.is_scalar = a.is_scalar == Known::yes && b.is_scalar == Known::yes ? Known::yes
                  : a.is_scalar == Known::no || b.is_scalar == Known::no ? Known::no
                                                                         : Known::unknown;
  out.rank = std::max(a.rank, b.rank);
  out.loader = 0;
  out.pinned = pinned_after(joined(a, b).pinned);
  if (!is_marked(a, guessed) || !is_marked(b, guessed)) out.name = nullptr;
  return out;
}

Value Analyser::combined(const Arguments& arguments) const {
  Value out;
  bool is_first = true;
  for (const Argument& argument : arguments.all) {
    Value value = argument.value;
    if (value.kind == Kind::container) value = element_of(value);
    if (value.kind != Kind::tensor && value.kind != Kind::jax) continue;
    out = is_first ? value : combined(out, value);
    is_first = false;
  }
  out.is_scalar = Known::unknown;
  out.rank = -1;
  out.element = Element::unknown;
  out.loader = 0;
  out.name = nullptr;
  out.pinned = arguments.named("out") != nullptr ? Known::unknown : pinned_after(out.pinned);
  return out;
}

Value Analyser::evaluate_operator(NodeId expression) {
  const NodeId left = tree_.child(expression, Part::left);
  const NodeId right = tree_.child(expression, Part::right);
  const NodeId sign = tree_.child(expression, Part::operator_);
  const Value a = evaluate(left);
  const Value b = evaluate(right);
  const bool is_text = left != no_node && (tree_[left].kind == Syntax::string || tree_[left].kind == Syntax::concatenated_string);
  if (is_text && sign != no_node && text(sign) == "%") {
    read(b, right, RuleId::format);
    return named_device(a).kind == Kind::device ? a : host();
  }
  if (a.kind == Kind::host && named_device(a).kind == Kind::device && a.name != nullptr) return a;  // "cuda:" + str(rank)
  if (a.kind == Kind::container && b.kind == Kind::container) {
    std::vector<Value> items = containers_[a.index].items;
    items.insert(items.end(), containers_[b.index].items.begin(), containers_[b.index].items.end());
    return make_container(std::move(items), false);
  }
  if (a.kind == Kind::container && b.kind != Kind::tensor) return a;  // [x] * n
  return combined(a, b);
}

Value Analyser::evaluate_comparison(NodeId expression) {
  std::vector<std::pair<NodeId, Value>> operands;
  std::vector<std::string_view> signs;
  for (NodeId at = first(expression); at != no_node; at = next(at)) {
    if (tree_[at].part == Part::operators) {
      signs.push_back(text(at));
    } else {
      operands.emplace_back(at, evaluate(at));
    }
  }
  if (operands.size() < 2 || signs.empty()) return host();
  if (is_one_of(signs[0], {"in", "not in", "not"})) {
    const Value& within = operands[1].second;
    if (within.kind == Kind::tensor || within.kind == Kind::jax) test_value(within, expression, RuleId::branch);
    return host();
  }
  if (signs[0].starts_with("is")) return host();
  const Value result = combined(operands[0].second, operands[1].second);
  if (signs.size() > 1) {  // a < b < c tests a < b
    test_value(result, expression, RuleId::branch);
    return boolean(combined(operands[1].second, operands.back().second));
  }
  // A device or a dtype compared is the host's.
  if (result.kind != Kind::tensor && result.kind != Kind::jax && result.kind != Kind::array) return host();
  return boolean(result);
}

Value Analyser::evaluate_comprehension(NodeId expression) {
  Scope scope;
  scope.outer = scope_;
  Scope* const outer = std::exchange(scope_, &scope);
  ++loops_;
  for (NodeId at = first(expression); at != no_node; at = next(at)) {
    if (tree_[at].kind == Syntax::for_in_clause) {
      const Value over = evaluate(tree_.child(at, Part::right));
      if (const NodeId left = tree_.child(at, Part::left); left != no_node) assign(left, element_of(over), no_node);
    } else if (tree_[at].kind == Syntax::if_clause && first(at) != no_node) {
      test(first(at), RuleId::branch);
    }
  }
  const NodeId body = tree_.child(expression, Part::body);
  Value value;
  const bool is_dictionary = tree_[expression].kind == Syntax::dictionary_comprehension;
  if (is_dictionary && body != no_node) {
    evaluate(tree_.child(body, Part::key));
    value = evaluate(tree_.child(body, Part::value));
  } else {
    value = evaluate(body);
  }
  --loops_;
  scope_ = outer;
  const Value made = make_container({value}, false);
  containers_[made.index].is_dictionary = is_dictionary;
  return made;
}

Value Analyser::make_container(std::vector<Value> items, bool has_positions) {
  constexpr std::size_t told_apart = 64;
  Container made;
  made.items = std::move(items);
  for (Value& item : made.items) item.pinned = Known::unknown;  // others may put theirs in
  if (made.items.size() > told_apart) {
    Value any = made.items[0];
    for (const Value& item : made.items) any = joined(any, item);
    made.items.assign(1, any);
    has_positions = false;
  }
  made.has_positions = has_positions;
  containers_.push_back(std::move(made));
  return {.kind = Kind::container, .index = static_cast<std::uint32_t>(containers_.size() - 1)};
}

Value Analyser::element_of(const Value& value) const {
  switch (value.kind) {
    case Kind::container: {
      const Container& container = containers_[value.index];
      if (container.items.empty()) return {};
      Value out = container.items[0];
      for (const Value& item : container.items) out = joined(out, item);
      return out;
    }
    case Kind::loader: {
      Value batch = tensor(value.place == Place::cuda ? Place::cuda : Place::cpu, lower(value.sure, Confidence::likely));
      batch.loader = value.loader;
      return batch;
    }
    case Kind::dataset: return tensor(value.place, lower(value.sure, Confidence::likely));
    case Kind::instance: {
      const std::uint32_t items = method_of(value.index, "__iter__");
      return items != 0 && functions_[items - 1].is_generator ? functions_[items - 1].yielded : Value{};
    }
    case Kind::tensor: {
      Value out = value;
      out.name = nullptr;
      out.is_scalar = value.rank == 1 ? Known::yes : Known::unknown;
      out.rank = static_cast<std::int8_t>(value.rank > 0 ? value.rank - 1 : -1);
      return out;
    }
    case Kind::jax:
    case Kind::array:
    case Kind::host: return value.kind == Kind::host ? host() : value;
    case Kind::module: return value;
    default: return {};
  }
}

Value Analyser::evaluate_attribute(NodeId expression) {
  const NodeId object_node = tree_.child(expression, Part::object);
  const NodeId name_node = tree_.child(expression, Part::attribute);
  if (object_node == no_node || name_node == no_node) return {};
  const Value object = evaluate(object_node);
  const std::string_view name = text(name_node);
  const Value value = attribute_of(object, name);
  if (value.kind != Kind::unknown || object.kind == Kind::tensor) return value;
  if (sounds_like_device(name)) return {.kind = Kind::device, .place = Place::cuda, .sure = Confidence::likely};
  if (sounds_like_loader(name)) return {.kind = Kind::loader, .sure = Confidence::likely};
  return {};
}

// Where a module's parameters, buffers and children are: on a GPU, unless the file moves none of its instances there and gives
// them nothing that is there.
Place Analyser::place_of_parts(const Type& type) const {
  if (type.may_go_to_gpu) return Place::cuda;
  bool is_given_of_host = type.place == Place::cpu;
  for (const auto& [name, index] : type.methods) {
    for (const Parameter& parameter : functions_[index].parameters) {
      if (!parameter.is_called || parameter.called.kind != Kind::tensor) continue;
      if (parameter.called.place != Place::cpu) return Place::cuda;
      is_given_of_host = true;
    }
  }
  return is_given_of_host ? Place::cpu : Place::cuda;
}

Value Analyser::attribute_of_type(std::uint32_t type, std::string_view name) {
  const Type& own = types_[type];
  if (const auto found = own.attributes.find(name); found != own.attributes.end()) return found->second;
  for (const std::uint32_t base : own.bases) {
    const auto found = types_[base].attributes.find(name);
    if (found != types_[base].attributes.end() && found->second.kind != Kind::unknown) return found->second;
  }
  return {};
}

Value Analyser::attribute_of(const Value& object, std::string_view name) {
  switch (object.kind) {
    case Kind::name: {
      const std::string path = *object.name + "." + std::string(name);
      static const std::unordered_set<std::string_view> dtypes{
          "torch.float",  "torch.float16", "torch.float32", "torch.float64", "torch.bfloat16",  "torch.half",
          "torch.double", "torch.int",     "torch.int8",    "torch.int16",   "torch.int32",     "torch.int64",
          "torch.long",   "torch.short",   "torch.uint8",   "torch.bool",    "torch.complex64", "torch.complex128"};
      const bool is_dtype = dtypes.contains(path);
      return {.kind = is_dtype ? Kind::dtype : Kind::name, .name = interned(path)};
    }
    case Kind::tensor: {
      if (name == "device") return {.kind = Kind::device, .place = object.place, .sure = object.sure};
      if (name == "dtype") return {.kind = Kind::dtype};
      if (is_marked(object, moved_unseen) && is_one_of(name, {"training", "config"})) return {};
      if (is_one_of(name, {"shape",   "is_cuda",   "requires_grad", "ndim",        "names",        "layout",  "grad_fn",
                           "is_leaf", "itemsize",  "nbytes",        "is_sparse",   "is_quantized", "is_meta", "is_mps",
                           "is_cpu",  "is_nested", "placements",    "device_mesh", "is_xla",       "is_xpu"})) {
        return host();
      }
      Value out = object;
      out.pinned = Known::unknown;
      if (is_marked(object, moved_unseen)) {
        if (name == "module") return out;
        const bool is_of_tensors = sounds_like_data(name) || name == "weight" || name == "bias" ||
                                   is_one_of(name, {"data", "grad", "T", "mT", "H", "mH", "real", "imag"});
        if (!is_of_tensors) out.sure = Confidence::possible;
      }
      out.name = nullptr;
      if (name != "data" && name != "grad") out.rank = -1, out.is_scalar = Known::unknown;
      return out;
    }
    case Kind::jax:
      if (is_one_of(name, {"shape", "dtype", "ndim", "size", "sharding", "nbytes", "itemsize", "weak_type"})) return host();
      return object;
    case Kind::array: return is_one_of(name, {"T", "real", "imag"}) ? object : host();
    case Kind::device:
      if (name == "type" && object.place != Place::unknown)
        return {.kind = Kind::host, .sure = object.sure, .name = interned(object.place == Place::cuda ? "cuda" : "cpu")};
      return name == "type" || name == "index" ? host() : Value{};
    case Kind::module: {
      if (name == "training") return host();
      if (name == "weight" || name == "bias") return tensor(object.place, object.sure);
      if (name == "device")
        return {.kind = Kind::device,
                .place = object.place == Place::cpu ? Place::cpu : Place::cuda,
                .sure = lower(object.sure, Confidence::likely)};
      return {};
    }
    case Kind::instance: {
      const Type& type = types_[object.index];
      if (type.is_module && name == "training") return host();
      Value value = attribute_of_type(object.index, name);
      if (value.kind == Kind::unknown) {
        const std::uint32_t method = method_of(object.index, name);
        return method != 0 && functions_[method - 1].is_property ? call_function(method - 1, {}, true) : Value{};
      }
      // Parameters and buffers are where their module is.
      const bool is_part = value.kind == Kind::module || is_marked(value, held_by_module);
      if (is_part && type.is_module) {
        const Place place = place_of_parts(type);
        value.place = place == Place::cuda && is_setting_up() ? Place::unknown : place;
        value.sure =
            value.kind == Kind::tensor && place == Place::cuda && type.place == Place::cuda ? type.sure : Confidence::likely;
      }
      return value;
    }
    default: return {};
  }
}

Value Analyser::test(NodeId condition, RuleId rule) {
  if (condition == no_node || depth_ > deepest) return {};
  Value value = host();
  ++depth_;
  switch (tree_[condition].kind) {
    case Syntax::boolean_operator:
      value = test(tree_.child(condition, Part::left), rule);
      value = joined(value, test(tree_.child(condition, Part::right), rule));
      break;
    case Syntax::not_operator: test(tree_.child(condition, Part::argument), rule); break;
    case Syntax::parenthesized_expression: value = test(first(condition), rule); break;
    default: test_value(value = evaluate(condition), condition, rule);
  }
  --depth_;
  return value;
}

void Analyser::test_value(const Value& value, NodeId at, RuleId rule) {
  if (value.kind != Kind::tensor && value.kind != Kind::jax) return;
  Value read_value = value;
  const bool is_bare = tree_[at].kind == Syntax::identifier;
  if (is_bare && is_marked(value, guessed)) read_value.sure = Confidence::possible;  // a flag, as likely
  read(read_value, at, rule);
}

void Analyser::read(const Value& value, NodeId at, RuleId rule) {
  if (value.kind == Kind::container) {
    const Container& container = containers_[value.index];
    for (const Value& item : container.items) {
      if (item.kind == Kind::tensor || item.kind == Kind::jax) return read(item, at, rule);
    }
    return;
  }
  if (value.kind == Kind::jax) {
    report(rule == RuleId::branch || rule == RuleId::assertion ? RuleId::jax_branch : RuleId::jax_read, at,
           lower(value.sure, Confidence::likely));
  } else if (value.kind == Kind::tensor && value.place != Place::cpu) {
    // What may be no tensor at all may have nothing to read.
    const bool may_be_module = is_marked(value, moved_unseen) && rule != RuleId::python_scalar;
    const bool may_be_number = is_marked(value, guessed) && rule == RuleId::tensor_bounds;
    report(rule, at, may_be_module || may_be_number ? Confidence::possible : sure_of(value));
  }
}

}  // namespace tutti::lint
