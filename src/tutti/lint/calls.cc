#include <algorithm>
#include <utility>

#include "tutti/lint/analyser.h"
#include "tutti/lint/names.h"

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
      evaluate(first(at));
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
    case Kind::jax_function: return {.kind = Kind::jax, .sure = Confidence::likely};
    case Kind::module: {
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
  return function.has_returned ? function.returned : Value{};
}

Value Analyser::instantiate(std::uint32_t type, const Arguments& arguments) {
  if (const std::uint32_t method = method_of(type, "__init__"); method != 0) call_function(method - 1, arguments, true);
  return {.kind = Kind::instance, .index = type};
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
  if (name == "enumerate") return make_container({make_container({host(), element_of(value)}, true)}, false);
  if (name == "zip") {
    std::vector<Value> items;
    for (const Argument& argument : arguments.all) items.push_back(element_of(argument.value));
    return make_container({make_container(std::move(items), true)}, false);
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
  const auto moved_to = [&](Place place, Confidence sure) {
    if (object.kind == Kind::instance) {
      types_[object.index].place = place;
      types_[object.index].sure = sure;
      return object;
    }
    Value out = object;
    out.place = place;
    out.sure = sure;
    if (tree_[object_node].kind == Syntax::identifier) bind(text(object_node), out);  // modules move as they are
    return out;
  };
  switch (object.kind) {
    case Kind::tensor: return call_tensor(object, object_node, name, call, arguments);
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
    case Kind::scaler:
      if (name == "step") report(RuleId::grad_scaler, call, lower(object.sure, Confidence::likely));
      return name == "scale" ? combined(arguments) : Value{};
    case Kind::distribution:
      if (is_one_of(name, {"log_prob", "cdf", "icdf"}) && object.is_scalar == Known::yes)
        report(RuleId::distribution_check, call, object.sure);
      if (name == "sample" && object.name != nullptr && *object.name == "Normal")
        report(RuleId::sampling_check, call, object.sure);
      return tensor(object.place, object.sure);
    case Kind::device:
    case Kind::dtype: return host();
    case Kind::module:
      if (name == "cuda") return moved_to(Place::cuda, Confidence::certain);
      if (name == "cpu") return moved_to(Place::cpu, Confidence::certain);
      if (name == "to" || name == "to_empty") {
        const Value device = device_of(arguments.find(0, "device"));
        return device.kind == Kind::device ? moved_to(device.place, device.sure) : object;
      }
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
          value.name = interned("buffer");
          type.attributes[*arguments.at(0)->value.name] = value;
          return host();
        }
        const Value as_module{.kind = Kind::module, .place = type.place, .sure = type.sure};
        const Value out = call_method(as_module, object_node, name, call, arguments);
        if (out.kind == Kind::module) return moved_to(out.place, out.sure);
        return out;
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
  const Value as_tensor = tensor(Place::unknown, Confidence::possible);
  const bool is_in_module = function_ != nullptr && function_->type != 0 && types_[function_->type - 1].is_module;
  // What a script moves to its device comes from the host.
  const Value as_source = sounds_like_data(receiver) && !is_in_module ? tensor(Place::cpu, Confidence::likely) : as_tensor;
  // What only tensors have, or nearly so.
  if (is_one_of(name, {"item", "cpu", "detach", "nonzero", "masked_select", "repeat_interleave", "masked_fill", "unsqueeze",
                       "backward", "numpy"})) {
    return call_tensor(as_tensor, object_node, name, call, arguments);
  }
  if (name == "cuda") return call_tensor(as_source, object_node, name, call, arguments);
  if (name == "to") {
    const Value device = device_of(arguments.find(0, "device"));
    if (device.kind != Kind::device) return {};
    return call_tensor(device.place == Place::cuda ? as_source : as_tensor, object_node, name, call, arguments);
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
