// Where modules go: to(), cuda(), what Accelerate prepares; and the scaler that looks at their gradients.
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/lint/analyser.h"
#include "tutti/lint/names.h"

namespace tutti::lint {

Value Analyser::moved_device(std::string_view method, const Arguments& arguments) const {
  if (method == "cuda" || method == "cpu") return {.kind = Kind::device, .place = method == "cpu" ? Place::cpu : Place::cuda};
  return method == "to" || method == "to_empty" ? device_of(arguments.find(0, "device")) : Value{};
}

// Modules move as they are: whatever holds it holds the moved one.
Value Analyser::move_module(const Value& object, NodeId object_node, const Value& device) {
  if (object.kind == Kind::instance) {
    Type& type = types_[object.index];
    type.place = device.place;
    type.sure = device.sure;
    if (device.place == Place::cuda) {
      type.may_go_to_gpu = true;
      for (const std::uint32_t base : type.bases) types_[base].may_go_to_gpu = true;
    }
    return object;
  }
  Value out = object;
  out.place = device.place;
  out.sure = device.sure;
  const Syntax kind = tree_[object_node].kind;
  if (kind == Syntax::identifier || kind == Syntax::attribute) assign(object_node, out, no_node);
  return out;
}

Value Analyser::call_scaler(const Value& object, std::string_view name, NodeId call, const Arguments& arguments) {
  if (name == "scale") return combined(arguments);
  if (object.is_quiet == Known::yes) return name == "get_scale" ? host() : Value{};
  Confidence sure = lower(object.sure, Confidence::likely);
  if (name == "step") {
    const Argument* const optimizer = arguments.find(0, "optimizer");
    const Known is_fused =
        optimizer != nullptr && optimizer->value.kind == Kind::optimizer ? optimizer->value.is_quiet : Known::no;
    if (is_fused == Known::unknown) sure = Confidence::possible;
    if (is_fused != Known::yes) report(RuleId::grad_scaler, call, sure);
  } else if (name == "get_scale" || name == "state_dict") {
    report(RuleId::grad_scaler, call, sure);
    return name == "get_scale" ? host() : Value{};
  }
  return {};
}

// What prepare() of Accelerate gives back for an argument: modules and batches are on the GPU.
Value Analyser::prepared(const Argument& argument) {
  const Value device{.kind = Kind::device, .place = Place::cuda, .sure = Confidence::likely};
  const Value loader{.kind = Kind::loader, .place = Place::cuda, .sure = Confidence::likely};
  Value out = argument.value;
  std::string_view name = text(argument.node);
  name = name.substr(name.rfind('.') + 1);
  switch (out.kind) {
    case Kind::instance: return types_[out.index].is_module ? move_module(out, argument.node, device) : out;
    case Kind::module: out.place = device.place, out.sure = device.sure; return out;
    case Kind::loader: return loader;
    case Kind::unknown:
      if (sounds_like_loader(name)) return loader;
      return sounds_like_module(name) ? Value{.kind = Kind::module, .place = device.place, .sure = device.sure} : out;
    default: return out;
  }
}

Value Analyser::call_accelerator(std::string_view name, const Arguments& arguments) {
  if (is_one_of(name, {"prepare", "prepare_model", "prepare_data_loader"})) {
    std::vector<Value> items;
    for (const Argument& argument : arguments.all) {
      if (argument.keyword.empty()) items.push_back(prepared(argument));
    }
    if (items.empty() || arguments.has_splat) return {};
    return items.size() == 1 ? items[0] : make_container(std::move(items), true);
  }
  const bool passes_on = is_one_of(name, {"gather", "gather_for_metrics", "reduce", "unwrap_model"});
  if (name == "print") {
    for (const Argument& argument : arguments.all) read(argument.value, argument.node, RuleId::print);
  }
  return passes_on && arguments.at(0) != nullptr ? arguments.at(0)->value : Value{};
}

// What an import gives when it is called with nothing, or with words and numbers alone.
bool Analyser::is_imported_model(NodeId node) {
  if (tree_[node].kind != Syntax::call) return false;
  const NodeId callee = tree_.child(node, Part::function);
  for (NodeId at = first(tree_.child(node, Part::arguments)); at != no_node; at = next(at)) {
    const Syntax kind = tree_[at].kind;
    if (kind != Syntax::string && kind != Syntax::integer && kind != Syntax::keyword_argument) return false;
  }
  ++muted_;
  const Value made_by = evaluate(callee);
  --muted_;
  return made_by.kind == Kind::name && !made_by.name->starts_with("torch.");
}

}  // namespace tutti::lint
