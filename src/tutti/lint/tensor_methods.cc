#include "tutti/lint/tensor_methods.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "tutti/lint/analyser.h"
#include "tutti/lint/names.h"

namespace tutti::lint {

namespace {

const std::unordered_set<std::string_view>& host_methods() {
  static const std::unordered_set<std::string_view> all{"size",         "dim",           "ndimension",        "numel",
                                                        "nelement",     "stride",        "storage_offset",    "data_ptr",
                                                        "element_size", "is_contiguous", "is_floating_point", "is_complex",
                                                        "is_pinned",    "get_device",    "is_signed",         "is_shared",
                                                        "backward",     "register_hook", "record_stream",     "untyped_storage",
                                                        "storage",      "share_memory_", "retain_grad",       "is_inference",
                                                        "is_same_size", "is_set_to",     "has_names",         "dense_dim",
                                                        "sparse_dim",   "__len__"};
  return all;
}

const std::unordered_set<std::string_view>& boolean_methods() {
  static const std::unordered_set<std::string_view> all{"isnan",      "isinf",       "isfinite",    "eq",       "ne",
                                                        "lt",         "le",          "gt",          "ge",       "logical_and",
                                                        "logical_or", "logical_not", "logical_xor", "bool",     "isclose",
                                                        "isin",       "any",         "all",         "signbit",  "greater",
                                                        "less",       "not_equal",   "isposinf",    "isneginf", "greater_equal",
                                                        "less_equal"};
  return all;
}

const std::unordered_set<std::string_view>& reductions() {
  static const std::unordered_set<std::string_view> all{
      "sum", "mean",   "max",  "min",  "prod",  "std",           "var",    "norm",    "argmax",    "argmin", "any",
      "all", "median", "amax", "amin", "trace", "count_nonzero", "nansum", "nanmean", "logsumexp", "aminmax"};
  return all;
}

// The others, each between spaces.
constexpr std::string_view other_methods =
    " abs absolute add addmm allclose argsort argwhere baddbmm bernoulli bincount bitwise_and bitwise_not bitwise_or bmm "
    "bucketize cdist ceil cholesky chunk clamp clip clone conj contiguous copysign cos cosh cpu cross cuda cummax cummin "
    "cumprod cumsum deg2rad det detach diag diag_embed diagonal diff div divide double dot dsplit equal erf exp expand "
    "expand_as expm1 flatten flip fliplr flipud float floor floor_divide fmod frac gather half hardshrink heaviside "
    "histc hsplit index_add index_copy index_fill index_put index_select inner int inverse is_nonzero item items keys "
    "kthvalue lerp log log10 log1p log2 log_softmax logaddexp logcumsumexp logdet long lu masked_fill masked_scatter "
    "masked_select matmul maximum minimum mm mode moveaxis movedim mul multinomial multiply mv nan_to_num narrow neg "
    "negative new_empty new_full new_ones new_tensor new_zeros nonzero numpy outer permute pin_memory pow put qr quantile "
    "reciprocal relu remainder renorm repeat repeat_interleave reshape reshape_as resolve_conj roll rot90 round rsqrt "
    "scatter scatter_add scatter_reduce select short sigmoid sign sin sinh slice_scatter softmax sort split sqrt square "
    "squeeze sub subtract sum_to_size svd swapaxes swapdims t take take_along_dim tan tanh tensor_split tile to to_dense "
    "to_sparse tolist topk transpose tril triu true_divide trunc type type_as unbind unflatten unfold unique "
    "unique_consecutive unsqueeze values view view_as vsplit where xlogy ";

}  // namespace

bool is_tensor_method(std::string_view name) {
  const bool is_in_place = name.ends_with('_') && !name.starts_with('_');
  return is_in_place || host_methods().contains(name) || boolean_methods().contains(name) || reductions().contains(name) ||
         other_methods.find(" " + std::string(name) + " ") != std::string_view::npos;
}

bool Analyser::does_not_block(const Arguments& arguments, std::size_t position) const {
  if (const Argument* const named = arguments.named("non_blocking"); named != nullptr)
    return tree_[named->node].kind != Syntax::false_;
  if (arguments.has_splat) return true;  // it may be among them
  const Argument* const given = arguments.at(position);
  return given != nullptr && tree_[given->node].kind != Syntax::false_;
}

std::vector<Edit> Analyser::with_argument(NodeId call, const Arguments& arguments, std::string_view argument) const {
  const NodeId list = tree_.child(call, Part::arguments);
  if (list == no_node || arguments.has_splat || tree_[list].kind != Syntax::argument_list || tree_[list].is_broken) return {};
  NodeId last = no_node;
  for (NodeId at = first(list); at != no_node; at = next(at)) last = at;
  if (last != no_node && tree_[last].kind == Syntax::generator_expression) return {};
  if (last == no_node) return {{tree_[list].end - 1, tree_[list].end - 1, std::string(argument)}};
  return {{tree_[last].end, tree_[last].end, ", " + std::string(argument)}};
}

std::vector<Edit> Analyser::without_blocking(NodeId call, const Arguments& arguments, std::size_t position) const {
  const Argument* const given = arguments.find(position, "non_blocking");
  if (given == nullptr) return with_argument(call, arguments, "non_blocking=True");
  if (arguments.has_splat || tree_[given->node].kind != Syntax::false_) return {};
  return {{tree_[given->node].begin, tree_[given->node].end, "True"}};
}

Value Analyser::move(const Value& object, NodeId object_node, const Value& device, NodeId call, const Arguments& arguments,
                     std::size_t flag) {
  const bool is_quiet = does_not_block(arguments, flag);
  Value out = object;
  out.pinned = Known::unknown;
  if (device.kind != Kind::device || device.place == Place::unknown) {
    out.loader = 0;
    if (device.kind == Kind::device && out.place == Place::cpu) out.place = Place::unknown;
    return out;
  }
  out.place = device.place;
  out.sure = device.sure;
  if (device.place == Place::cuda) {
    if (object.place == Place::cuda) {
      out.sure = std::max(object.sure, device.sure);
      return out;
    }
    if (object.loader != 0) {
      Loader& loader = loaders_[object.loader - 1];
      loader.is_used = true;
      loader.sure = std::max(loader.sure, lower(device.sure, Confidence::likely));
    }
    out.loader = 0;
    // Pageable memory has been copied aside when the call returns.
    const bool is_pageable = object.place == Place::cpu && object.pinned == Known::no && object.sure == Confidence::certain;
    const bool is_batch = object.loader != 0 && loaders_[object.loader - 1].makes_batches;
    const bool is_safe = is_pageable || (is_batch && is_reporting_ && muted_ == 0 && is_last_use(object_node, call));
    if (is_safe) safe_copies_.insert(call);
    const Confidence source = object.place == Place::cpu ? object.sure : Confidence::possible;
    if (!is_quiet) {
      report(RuleId::blocking_copy, call, lower(device.sure, source),
             is_safe ? without_blocking(call, arguments, flag) : std::vector<Edit>{});
    }
  } else if (object.place != Place::cpu && !is_quiet) {
    // Who writes cpu() expects to be elsewhere.
    report(RuleId::to_cpu, call, object.place == Place::cuda ? object.sure : Confidence::likely);
  }
  return out;
}

Value Analyser::call_to(const Value& object, NodeId object_node, NodeId call, const Arguments& arguments) {
  const Argument* const named = arguments.named("device");
  const Argument* const given = named != nullptr ? named : arguments.at(0);
  Value out = object;
  if (const Argument* const dtype = arguments.named("dtype"); dtype != nullptr) out.element = element_of_dtype(arguments);
  if (given == nullptr) return out;
  if (given->value.kind == Kind::dtype) {
    out.element = given->value.name != nullptr && given->value.name->ends_with("bool") ? Element::boolean : Element::number;
    return out;
  }
  if (given->value.kind == Kind::tensor) {
    return move(out, object_node, {.kind = Kind::device, .place = given->value.place, .sure = given->value.sure}, call, arguments,
                1);
  }
  const Value device = device_of(given);
  if (device.kind != Kind::device) {
    if (object.place == Place::cpu) out.place = Place::unknown;
    out.sure = lower(out.sure, Confidence::likely);
    return out;
  }
  return move(out, object_node, device, call, arguments, 2);
}

// Ops, as functions and as methods, whose result's shape the host must know. `first`: where their arguments begin.
Value Analyser::shaped_by_values(const Value& object, std::string_view name, NodeId call, const Arguments& arguments,
                                 std::size_t first_argument, bool& is_known) {
  is_known = true;
  Value out = object;
  out.rank = -1;
  out.is_scalar = Known::no;
  const auto say = [&](RuleId rule) {
    if (object.kind == Kind::tensor && object.place != Place::cpu) report(rule, call, sure_of(object));
  };
  if (name == "nonzero" || name == "argwhere") {
    say(RuleId::nonzero);
    out.element = Element::number;
  } else if (name == "masked_select") {
    say(RuleId::masked_select);
  } else if (name == "unique" || name == "unique_consecutive") {
    say(RuleId::unique);
  } else if (name == "bincount") {
    say(RuleId::bincount);
  } else if (name == "histc") {
    if (arguments.named("max") == nullptr && arguments.at(first_argument + 2) == nullptr) say(RuleId::bincount);
  } else if (name == "repeat_interleave") {
    const Argument* const repeats = arguments.find(first_argument, "repeats");
    const bool is_sized = arguments.named("output_size") != nullptr;
    const Value by = repeats == nullptr ? object : repeats->value;
    if (!is_sized && (by.kind == Kind::tensor) && by.place != Place::cpu) say(RuleId::repeat_interleave);
  } else if (name == "equal" || name == "allclose") {
    say(RuleId::allclose);
    return host();
  } else if (name == "is_nonzero") {
    say(RuleId::python_scalar);
    return host();
  } else if (name == "inverse" || name == "cholesky" || name == "svd" || name == "pinverse") {
    say(RuleId::linalg_check);
  } else {
    is_known = false;
  }
  return out;
}

Value Analyser::call_tensor(const Value& object, NodeId object_node, std::string_view name, NodeId call,
                            const Arguments& arguments) {
  if (host_methods().contains(name)) return host();
  bool is_known = false;
  const Value shaped = shaped_by_values(object, name, call, arguments, 0, is_known);
  if (is_known) return shaped;
  Value out = object;
  out.loader = name == "items" || name == "values" ? object.loader : 0;
  out.name = nullptr;
  out.pinned = pinned_after(object.pinned);
  if (name == "item") {
    if (arguments.all.empty() || arguments.positions == 1) read(object, call, RuleId::item);
    return host();
  }
  if (name == "tolist") {
    read(object, call, RuleId::tolist);
    return host();
  }
  if (name == "numpy") {
    const Argument* const force = arguments.find(0, "force");
    if (force != nullptr && tree_[force->node].kind == Syntax::true_) read(object, call, RuleId::numpy);
    return {.kind = Kind::array};
  }
  if (name == "cpu") return move(object, object_node, {.kind = Kind::device, .place = Place::cpu}, call, arguments, 1);
  if (name == "cuda") return move(object, object_node, {.kind = Kind::device, .place = Place::cuda}, call, arguments, 1);
  if (name == "to") return call_to(object, object_node, call, arguments);
  if (name == "items") return make_container({make_container({host(), out}, true)}, false);  // a batch that is a dictionary
  if (name == "keys") return host();
  if (name == "pin_memory") {
    const NodeId sent = tree_.child(tree_[call].parent, Part::attribute);  // x.pin_memory().to(device)
    const bool is_sent = sent != no_node && is_one_of(text(sent), {"to", "cuda"});
    if (is_sent && object.place == Place::cpu && object.pinned != Known::yes && weight() != Weight::once)
      report(RuleId::pin_memory, call, object.sure);
    out.pinned = Known::yes;
    return out;
  }
  if (name == "type") {
    const Argument* const given = arguments.at(0);
    if (given == nullptr) return host();
    if (given->value.kind == Kind::name && given->value.name->starts_with("torch.cuda.")) {
      out.place = Place::cuda;
    } else if (given->value.kind == Kind::name && given->value.name->ends_with("Tensor")) {
      read(object, call, RuleId::type_to_cpu);
      out.place = Place::cpu;
      out.sure = Confidence::certain;
    }
    return out;
  }
  if (name == "copy_") {
    const Argument* const from = arguments.find(0, "src");
    if (from == nullptr || from->value.kind != Kind::tensor || does_not_block(arguments, 1)) return object;
    const Value& source = from->value;
    if (object.place == Place::cuda && source.place == Place::cpu) {
      report(RuleId::blocking_copy, call, lower(object.sure, source.sure));
    } else if (object.place == Place::cpu && source.place == Place::cuda) {
      report(RuleId::to_cpu, call, lower(object.sure, source.sure));
    }
    return object;
  }
  if (name == "new_tensor") {
    read(object, call, RuleId::create_from_host);
    return out;
  }
  if (name.starts_with("new_")) {
    out.element = element_of_dtype(arguments);
    out.rank = -1;
    out.is_scalar = Known::unknown;
    out.pinned = pinned_by(arguments, out.pinned);
    const Value device = device_of(arguments.named("device"));
    if (device.kind == Kind::device) out.place = device.place, out.sure = device.sure;
    return out;
  }
  const bool is_reduced = reductions().contains(name) && arguments.all.empty();
  if (is_reduced) {
    out.is_scalar = Known::yes;
    out.rank = 0;
  } else if (!name.ends_with("_") && !boolean_methods().contains(name) && name != "detach" && name != "clone" &&
             name != "contiguous" && name != "long" && name != "float" && name != "half" && name != "int" && name != "abs") {
    out.is_scalar = Known::unknown;
    out.rank = -1;
  }
  if (boolean_methods().contains(name)) {
    out.element = Element::boolean;
  } else if (name == "float" || name == "long" || name == "int" || name == "half" || name == "double" ||
             name.starts_with("arg") || is_reduced) {
    out.element = Element::number;
  }
  return out;
}

}  // namespace tutti::lint
