#include <algorithm>
#include <utility>

#include "tutti/lint/analyser.h"
#include "tutti/lint/names.h"
#include "tutti/lint/tensor_methods.h"

namespace tutti::lint {

const Argument* Arguments::at(std::size_t position) const {
  for (const Argument& argument : all) {
    if (argument.keyword.empty() && position-- == 0) return &argument;
  }
  return nullptr;
}

const Argument* Arguments::named(std::string_view keyword) const {
  for (const Argument& argument : all) {
    if (argument.keyword == keyword) return &argument;
  }
  return nullptr;
}

const Argument* Arguments::find(std::size_t position, std::string_view keyword) const {
  const Argument* const found = named(keyword);
  return found != nullptr ? found : at(position);
}

Arguments Analyser::arguments_of(NodeId call) {
  Arguments out;
  const NodeId list = tree_.child(call, Part::arguments);
  if (list == no_node) return out;
  if (tree_[list].kind == Syntax::generator_expression) {
    out.all.push_back({{}, list, evaluate(list)});
    out.positions = 1;
    return out;
  }
  for (NodeId at = first(list); at != no_node; at = next(at)) {
    const Syntax kind = tree_[at].kind;
    if (kind == Syntax::keyword_argument) {
      const NodeId value = tree_.child(at, Part::value);
      const NodeId name = tree_.child(at, Part::name);
      if (name != no_node) out.all.push_back({text(name), value, evaluate(value)});
    } else if (kind == Syntax::list_splat || kind == Syntax::dictionary_splat) {
      out.has_splat = true;
      const Value spread = evaluate(first(at));
      if (kind == Syntax::list_splat) out.spread.push_back({{}, first(at), element_of(spread)});
    } else {
      out.all.push_back({{}, at, evaluate(at)});
      ++out.positions;
    }
  }
  return out;
}

Value Analyser::evaluate_call(NodeId call) {
  const NodeId callee = tree_.child(call, Part::function);
  if (callee == no_node) return {};
  if (tree_[callee].kind == Syntax::attribute) {
    const NodeId object_node = tree_.child(callee, Part::object);
    const NodeId name_node = tree_.child(callee, Part::attribute);
    if (object_node == no_node || name_node == no_node) return {};
    const Value object = evaluate(object_node);
    const Arguments arguments = arguments_of(call);
    const std::string_view name = text(name_node);
    if (check_logging(object, object_node, name, call, arguments)) return {};
    if (object.kind == Kind::name) return call_qualified(*object.name + "." + std::string(name), call, arguments);
    return call_method(object, object_node, name, call, arguments);
  }
  const Value value = evaluate(callee);
  const Arguments arguments = arguments_of(call);
  if (value.kind == Kind::unknown && tree_[callee].kind == Syntax::identifier) return call_builtin(text(callee), call, arguments);
  return call_value(value, call, arguments);
}

Value Analyser::call_value(const Value& callee, NodeId call, const Arguments& arguments) {
  switch (callee.kind) {
    case Kind::name: return call_qualified(*callee.name, call, arguments);
    case Kind::function: return call_function(callee.index, arguments, false);
    case Kind::type: return instantiate(callee.index, arguments);
    case Kind::partial: {
      const Partial made = partials_[callee.index];
      Arguments all = made.arguments;
      for (const Argument& argument : arguments.all) {
        std::erase_if(all.all, [&](const Argument& each) { return !each.keyword.empty() && each.keyword == argument.keyword; });
        all.all.push_back(argument);
      }
      all.positions += arguments.positions;
      all.has_splat = all.has_splat || arguments.has_splat;
      return made.callee.kind == Kind::partial ? Value{} : call_value(made.callee, call, all);
    }
    case Kind::tensor: {
      // Tensors are not called, so it is a module; of what else is called and to() was called of, no more than usual is known.
      if (!is_marked(callee, moved_unseen) || callee.place != Place::cuda) return call_value({}, call, arguments);
      return tensor(Place::cuda, lower(callee.sure, Confidence::likely));
    }
    case Kind::jax_function: return {.kind = Kind::jax, .sure = Confidence::likely};
    case Kind::module: {
      if (callee.name != nullptr && *callee.name == ctc_loss) read_ctc_lengths(call, arguments);
      Value out = combined(arguments);
      if (out.kind != Kind::tensor) out = tensor(callee.place, lower(callee.sure, Confidence::likely));
      if (callee.place == Place::cuda && out.place != Place::cuda)
        out = tensor(Place::cuda, lower(callee.sure, Confidence::likely));
      return out;
    }
    case Kind::instance: {
      const Type& type = types_[callee.index];
      const std::uint32_t method = method_of(callee.index, type.is_module ? "forward" : "__call__");
      if (method != 0) return call_function(method - 1, arguments, true);
      return type.is_module ? combined(arguments) : Value{};
    }
    default: {
      Value out = combined(arguments);  // of an unknown function: likely no more than that
      out.sure = Confidence::possible;
      return out.kind == Kind::tensor ? out : Value{};
    }
  }
}

std::uint32_t Analyser::method_of(std::uint32_t type, std::string_view name) const {
  const Type& own = types_[type];
  if (const auto found = own.methods.find(name); found != own.methods.end()) return found->second + 1;
  for (const std::uint32_t base : own.bases) {
    if (const auto found = types_[base].methods.find(name); found != types_[base].methods.end()) return found->second + 1;
  }
  return 0;
}

Value Analyser::call_function(std::uint32_t index, const Arguments& arguments, bool is_bound) {
  Function& function = functions_[index];
  std::size_t position = function.is_bound && is_bound ? 1 : 0;
  const auto give = [](Parameter& parameter, const Value& value) {
    parameter.calling = parameter.is_calling ? joined(parameter.calling, value) : value;
    parameter.is_calling = true;
  };
  for (const Argument& argument : arguments.all) {
    if (argument.keyword.empty()) {
      if (position < function.parameters.size()) give(function.parameters[position], argument.value);
      ++position;
      continue;
    }
    for (Parameter& parameter : function.parameters) {
      if (parameter.name == argument.keyword) give(parameter, argument.value);
    }
  }
  if (loops_ > 0 || steps_ > 0) function.is_in_loop = true;
  if (function.is_jitted) return {.kind = Kind::jax, .sure = Confidence::likely};
  if (function.is_generator) return make_container({function.yielded}, false);
  return function.has_returned ? function.returned : Value{};
}

Value Analyser::instantiate(std::uint32_t type, const Arguments& arguments) {
  if (const std::uint32_t method = method_of(type, "__init__"); method != 0) {
    call_function(method - 1, arguments, true);
  } else {
    give_fields(types_[type], arguments);
  }
  return {.kind = Kind::instance, .index = type};
}

// What a dataclass holds is what it is given.
void Analyser::give_fields(Type& type, const Arguments& arguments) {
  if (arguments.positions > 0 || arguments.has_splat) return;
  for (const auto& [name, by_default] : type.fields) {
    const Argument* const given = arguments.named(name);
    const Value& value = given == nullptr ? by_default : given->value;
    type.given.add(name, value);
    type.attributes[name] = type.given.finding[name];
  }
}

bool Analyser::check_logging(const Value& object, NodeId object_node, std::string_view name, NodeId call,
                             const Arguments& arguments) {
  if (object.kind == Kind::tensor || object.kind == Kind::jax || object.kind == Kind::array) return false;
  const std::string_view receiver = text(object_node);
  const bool may_be_silent = is_logger(receiver, name);
  const bool is_wandb =
      name == "log" && (receiver == "wandb" || receiver == "mlflow" || receiver.ends_with("run") || receiver.ends_with("logger"));
  if (!is_writer(name) && !may_be_silent && !is_wandb) return false;
  for (const Argument& argument : arguments.all) {
    Value value = argument.value;
    // A logger that is not listening formats nothing.
    if (may_be_silent) value.sure = lower(value.sure, name == "debug" ? Confidence::possible : Confidence::likely);
    if (value.kind == Kind::tensor || value.kind == Kind::container || value.kind == Kind::jax) {
      const std::size_t before = findings_.size();
      read(value, call, RuleId::log_value);
      if (findings_.size() != before) break;
    }
  }
  return true;
}

Value Analyser::call_builtin(std::string_view name, NodeId call, const Arguments& arguments) {
  const Argument* const given = arguments.at(0);
  const Value value = given == nullptr ? Value{} : given->value;
  const auto read_all = [&](RuleId rule) {
    for (const Argument& argument : arguments.all) {
      if (argument.keyword.empty()) read(argument.value, argument.node, rule);
    }
    for (const Argument& argument : arguments.spread) read(argument.value, argument.node, rule);
    return host();
  };
  if (name == "print") return read_all(RuleId::print);
  if (is_one_of(name, {"float", "int", "bool", "complex"})) {
    if (value.kind == Kind::tensor || value.kind == Kind::jax) read(value, call, RuleId::python_scalar);
    return name == "int" ? integer() : host();
  }
  if (is_one_of(name, {"str", "repr", "format"})) {
    read(value, call, RuleId::format);
    return host();
  }
  if (name == "range") {
    for (const Argument& argument : arguments.all) {
      if (argument.value.kind == Kind::tensor) read(argument.value, argument.node, RuleId::tensor_bounds);
    }
    return host();
  }
  if (is_one_of(name, {"max", "min", "sorted", "any", "all"})) {
    Value compared = value;
    if (arguments.positions == 1) compared = element_of(value);
    for (const Argument& argument : arguments.all) {
      if (argument.keyword.empty() && arguments.positions > 1) compared = combined(compared, argument.value);
    }
    const bool has_key = arguments.named("key") != nullptr;
    if ((compared.kind == Kind::tensor || compared.kind == Kind::jax) && !has_key) read(compared, call, RuleId::min_max);
    if (name == "any" || name == "all") return host();
    return name == "sorted" ? make_container({compared}, false) : compared;
  }
  if (name == "sum") {
    const Value element = element_of(value);
    return element.kind == Kind::tensor || element.kind == Kind::jax ? element : element.kind == Kind::host ? host() : Value{};
  }
  if (is_one_of(name, {"abs", "round", "pow"})) return value;
  if (is_one_of(name, {"list", "tuple", "reversed", "iter", "set", "deque"})) {
    if (value.kind == Kind::container || (value.kind == Kind::loader && is_one_of(name, {"reversed", "iter"}))) return value;
    return make_container(given == nullptr ? std::vector<Value>{} : std::vector<Value>{element_of(value)}, false);
  }
  if (name == "next") return element_of(value);
  if (name == "map") {
    const Argument* const over = arguments.at(1);
    if (over == nullptr) return {};
    const Value element = element_of(over->value);
    const bool is_tensor = element.kind == Kind::tensor || element.kind == Kind::jax;
    if (is_tensor && is_one_of(text(given->node), {"float", "int", "bool", "complex"}))
      read(element, call, RuleId::python_scalar);
    if (is_tensor && is_one_of(text(given->node), {"str", "repr"})) read(element, call, RuleId::format);
    if (value.kind == Kind::unknown) return make_container({host()}, false);
    Arguments of_one;
    of_one.all.push_back({{}, over->node, element});
    of_one.positions = 1;
    return make_container({value.kind == Kind::function ? call_value(value, call, of_one) : Value{}}, false);
  }
  if (name == "enumerate" || name == "zip") {
    std::vector<Value> items;
    bool has_batches = false;
    if (name == "enumerate") items.push_back(host());
    for (const Argument& argument : arguments.all) {
      if (!argument.keyword.empty()) continue;
      const Value& over = argument.value;
      has_batches =
          has_batches || over.kind == Kind::loader || (over.kind == Kind::container && containers_[over.index].has_batches);
      if (name == "zip" || items.size() == 1) items.push_back(element_of(over));
    }
    const Value made = make_container({make_container(std::move(items), true)}, false);
    containers_[made.index].has_batches = has_batches;
    return made;
  }
  if (is_one_of(name, {"len", "isinstance", "hasattr", "id", "type", "issubclass", "callable", "open", "input", "ord", "chr",
                       "hash", "dir"}))
    return host();
  if (name == "dict") {
    std::vector<Value> items;
    for (const Argument& argument : arguments.all)
      items.push_back(argument.keyword.empty() ? element_of(argument.value) : argument.value);
    const Value made = make_container(std::move(items), false);
    containers_[made.index].is_dictionary = true;
    return made;
  }
  if (sounds_like_module(name))
    return call_value({.kind = Kind::module, .place = Place::unknown, .sure = Confidence::likely}, call, arguments);
  return call_value({}, call, arguments);
}

Value Analyser::call_container(const Value& object, std::string_view name, const Arguments& arguments) {
  Container& container = containers_[object.index];
  const Argument* const given = arguments.at(0);
  if (is_one_of(name, {"append", "add", "extend", "insert"})) {
    const Argument* const added = name == "insert" ? arguments.at(1) : given;
    if (added != nullptr && container.items.size() < 64) {
      Value value = name == "extend" ? element_of(added->value) : added->value;
      value.pinned = Known::unknown;
      container.has_positions = false;
      container.items.push_back(value);
    }
    return host();
  }
  const Value element = element_of(object);
  if (name == "items") return make_container({make_container({host(), element}, true)}, false);
  if (name == "values" || name == "copy") return name == "copy" ? object : make_container({element}, false);
  if (name == "keys") return host();
  return is_one_of(name, {"pop", "get", "popleft", "setdefault", "popitem"}) ? element : Value{};
}

Value Analyser::call_method(const Value& object, NodeId object_node, std::string_view name, NodeId call,
                            const Arguments& arguments) {
  switch (object.kind) {
    case Kind::tensor:
      if (is_marked(object, moved_unseen)) {
        // What only modules have, and what leaves a module a module.
        const Value as_module{.kind = Kind::module, .place = object.place, .sure = lower(object.sure, Confidence::likely)};
        if (is_one_of(name, {"eval", "train", "parameters", "named_parameters", "buffers", "named_buffers", "state_dict",
                             "load_state_dict", "modules", "children", "named_modules"})) {
          return call_method(as_module, object_node, name, call, arguments);
        }
        if (is_one_of(name, {"half", "float", "double", "bfloat16", "requires_grad_", "compile"})) return object;
        for (const std::string_view starts : {"get_", "set_", "num_", "count_p", "save", "load"}) {
          if (name.starts_with(starts)) return {};
        }
        Value as_tensor = object;
        if (!is_tensor_method(name) && name != "generate") {
          as_tensor.sure = Confidence::possible;
        } else if (!is_one_of(name, {"to", "cuda", "cpu"})) {  // which modules have, too
          as_tensor.name = nullptr;
        }
        return call_tensor(as_tensor, object_node, name, call, arguments);
      }
      return call_tensor(object, object_node, name, call, arguments);
    case Kind::container: return call_container(object, name, arguments);
    case Kind::jax:
      if (name == "block_until_ready") {
        report(RuleId::jax_block, call, lower(object.sure, Confidence::likely));
        return object;
      }
      if (is_one_of(name, {"item", "tolist", "__array__"})) {
        report(RuleId::jax_read, call, lower(object.sure, Confidence::likely));
        return host();
      }
      return object;
    case Kind::array: return is_one_of(name, {"item", "tolist"}) ? host() : object;
    case Kind::host:
      if (name == "format") {
        for (const Argument& argument : arguments.all) read(argument.value, argument.node, RuleId::format);
        if (named_device(object).kind == Kind::device) return object;  // "cuda:{}"
      }
      return host();
    case Kind::stream:
      if (name == "synchronize") report(RuleId::synchronize, call, object.sure);
      if (name == "query") check_query(call, object.sure);
      return name == "record_event" ? object : host();
    case Kind::scaler: return call_scaler(object, name, call, arguments);
    case Kind::accelerator: return call_accelerator(name, arguments);
    case Kind::distribution:
      if (is_one_of(name, {"log_prob", "cdf", "icdf"}) && object.is_scalar == Known::yes)
        report(RuleId::distribution_check, call, object.sure);
      if (name == "sample" && object.name != nullptr && *object.name == "Normal")
        report(RuleId::sampling_check, call, object.sure);
      return tensor(object.place, object.sure);
    case Kind::device:
    case Kind::dtype: return host();
    case Kind::module:
      if (const Value device = moved_device(name, arguments); device.kind == Kind::device)
        return move_module(object, object_node, device);
      if (name == "to" || name == "to_empty") return object;
      if (is_one_of(name, {"parameters", "buffers"})) return make_container({tensor(object.place, object.sure)}, false);
      if (is_one_of(name, {"named_parameters", "named_buffers"})) {
        return make_container({make_container({host(), tensor(object.place, object.sure)}, true)}, false);
      }
      if (is_one_of(name, {"eval", "train", "half", "float", "double", "bfloat16", "requires_grad_", "compile", "apply"}))
        return object;
      if (name == "state_dict") {
        // Often that of a module that is loaded and not moved yet.
        const Value made = make_container({tensor(object.place, less_sure(object.sure))}, false);
        containers_[made.index].is_dictionary = true;
        return made;
      }
      if (is_one_of(name, {"load_state_dict", "modules", "children", "named_modules"})) return {};
      return call_value({}, call, arguments);
    case Kind::instance: {
      Type& type = types_[object.index];
      if (const std::uint32_t method = method_of(object.index, name); method != 0)
        return call_function(method - 1, arguments, true);
      if (const Value held = attribute_of(object, name); held.kind != Kind::unknown) return call_value(held, call, arguments);
      if (type.is_module) {
        if (name == "register_buffer" && arguments.at(0) != nullptr && arguments.at(0)->value.name != nullptr) {
          const Argument* const buffer = arguments.find(1, "tensor");
          Value value = buffer != nullptr && buffer->value.kind == Kind::tensor ? buffer->value : tensor(Place::cpu);
          value.name = interned(held_by_module);
          type.attributes[*arguments.at(0)->value.name] = value;
          return host();
        }
        if (const Value device = moved_device(name, arguments); device.kind == Kind::device)
          return move_module(object, object_node, device);
        const Value as_module{.kind = Kind::module, .place = type.place, .sure = type.sure};
        const Value out = call_method(as_module, object_node, name, call, arguments);
        return out.kind == Kind::module ? object : out;
      }
      return {};
    }
    case Kind::type: {
      const std::uint32_t method = method_of(object.index, name);
      return method != 0 ? call_function(method - 1, arguments, false) : Value{};
    }
    default: return call_unknown(object_node, name, call, arguments);
  }
}

Value Analyser::call_unknown(NodeId object_node, std::string_view name, NodeId call, const Arguments& arguments) {
  std::string_view receiver = text(object_node);
  if (const std::size_t dot = receiver.rfind('.'); dot != std::string_view::npos) receiver.remove_prefix(dot + 1);
  const bool is_module = sounds_like_module(receiver);
  if (is_module)
    return call_method({.kind = Kind::module, .place = Place::unknown, .sure = Confidence::likely}, object_node, name, call,
                       arguments);
  if (receiver.find("ccelerator") != std::string_view::npos && name.starts_with("prepare"))
    return call_accelerator(name, arguments);
  const Value moved_to = moved_device(name, arguments);
  if (moved_to.place == Place::cpu && is_imported_model(object_node)) return {.kind = Kind::module, .place = Place::cpu};
  const Value as_tensor = tensor(Place::unknown, Confidence::possible);
  const bool is_in_module = function_ != nullptr && function_->type != 0 && types_[function_->type - 1].is_module;
  // What a script moves to its device comes from the host.
  const Value as_source = sounds_like_data(receiver) && !is_in_module ? tensor(Place::cpu, Confidence::likely) : as_tensor;
  // What only tensors have, or nearly so.
  if (is_one_of(name, {"item", "cpu", "detach", "nonzero", "masked_select", "repeat_interleave", "masked_fill", "unsqueeze",
                       "backward", "numpy"})) {
    return call_tensor(as_tensor, object_node, name, call, arguments);
  }
  if (name == "cuda" || name == "to") {
    if (moved_to.kind != Kind::device) return {};
    Value out = call_tensor(moved_to.place == Place::cuda ? as_source : as_tensor, object_node, name, call, arguments);
    const bool gives_pictures = text(object_node).find("ipe") != std::string_view::npos;  // a pipeline
    if (out.kind != Kind::tensor || gives_pictures) return out;
    out.name = interned(moved_unseen);
    // Nothing takes the result, so it moved in place, as modules do.
    const NodeId parent = tree_[call].parent;
    if (parent != no_node && tree_[parent].kind == Syntax::expression_statement)
      move_module({.kind = Kind::module}, object_node,
                  {.kind = Kind::device, .place = out.place, .sure = lower(out.sure, Confidence::likely)});
    return out;
  }
  if (name == "block_until_ready") {
    report(RuleId::jax_block, call, Confidence::likely);
    return {.kind = Kind::jax, .sure = Confidence::likely};
  }
  const bool is_named = receiver.find("stream") != std::string_view::npos || receiver.find("event") != std::string_view::npos;
  const Confidence by_name = is_named ? Confidence::likely : Confidence::possible;
  if (name == "synchronize") report(RuleId::synchronize, call, by_name);
  if (name == "query" && arguments.all.empty() && !arguments.has_splat) check_query(call, by_name);
  return {};
}

}  // namespace tutti::lint
