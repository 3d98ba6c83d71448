#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "tutti/lint/analyser.h"
#include "tutti/lint/names.h"

namespace tutti::lint {

namespace {

using Names = std::unordered_set<std::string_view>;

const Names filled{"zeros",        "ones",         "empty",         "full",           "rand",
                   "randn",        "randint",      "randperm",      "arange",         "linspace",
                   "logspace",     "eye",          "scalar_tensor", "range",          "empty_strided",
                   "tril_indices", "triu_indices", "hann_window",   "hamming_window", "complex"};
const Names checked_linalg{"inv",     "solve",       "cholesky", "eigh",      "eigvalsh",   "eig",
                           "eigvals", "svd",         "svdvals",  "lu_factor", "ldl_factor", "pinv",
                           "lstsq",   "matrix_rank", "cond",     "tensorinv", "tensorsolve"};
const Names checked_torch{"inverse", "cholesky", "svd", "pinverse", "cholesky_inverse"};
const Names host_functions{"is_tensor",
                           "is_floating_point",
                           "is_complex",
                           "numel",
                           "get_default_dtype",
                           "finfo",
                           "iinfo",
                           "is_grad_enabled",
                           "initial_seed",
                           "set_num_threads",
                           "get_num_threads",
                           "manual_seed",
                           "seed",
                           "set_grad_enabled",
                           "save",
                           "broadcast_shapes",
                           "Size",
                           "is_storage",
                           "use_deterministic_algorithms",
                           "set_float32_matmul_precision",
                           "typename",
                           "result_type",
                           "can_cast",
                           "promote_types"};
const Names boolean_functions{"isnan", "isinf", "isfinite",    "eq",         "ne",          "lt",          "le",
                              "gt",    "ge",    "logical_and", "logical_or", "logical_not", "logical_xor", "isclose",
                              "isin",  "any",   "all",         "signbit",    "greater",     "less"};
const Names reducing{"sum",    "mean", "max", "min",    "prod",          "std",   "var", "norm", "argmax",
                     "argmin", "any",  "all", "median", "count_nonzero", "trace", "dot", "dist"};
constexpr std::string_view with_own_numbers[] = {"Chi2", "HalfNormal", "HalfCauchy"};
const Names validated{"Normal",
                      "Categorical",
                      "Bernoulli",
                      "Beta",
                      "Gamma",
                      "Dirichlet",
                      "Exponential",
                      "Laplace",
                      "LogNormal",
                      "MultivariateNormal",
                      "Multinomial",
                      "OneHotCategorical",
                      "Poisson",
                      "Uniform",
                      "Binomial",
                      "Cauchy",
                      "Gumbel",
                      "HalfNormal",
                      "StudentT",
                      "Geometric",
                      "Weibull",
                      "NegativeBinomial",
                      "Chi2",
                      "HalfCauchy",
                      "InverseGamma",
                      "Kumaraswamy",
                      "Pareto",
                      "VonMises",
                      "FisherSnedecor",
                      "ContinuousBernoulli",
                      "RelaxedBernoulli",
                      "RelaxedOneHotCategorical",
                      "LogisticNormal",
                      "LowRankMultivariateNormal"};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

}  // namespace

Value Analyser::device_of(const Argument* argument) const {
  if (argument == nullptr) return {};
  if (argument->value.kind != Kind::unknown) return named_device(argument->value);
  const std::string_view name = text(argument->node);
  if (sounds_like_rank(name.substr(name.rfind('.') + 1)))
    return {.kind = Kind::device, .place = Place::cuda, .sure = Confidence::likely};
  return {};
}

Known Analyser::pinned_by(const Arguments& arguments, Known otherwise) const {
  const Argument* const given = arguments.named("pin_memory");
  if (arguments.named("out") != nullptr || (given == nullptr && arguments.has_splat)) return Known::unknown;
  if (given == nullptr) return otherwise;
  const Syntax kind = tree_[given->node].kind;
  return kind == Syntax::true_ ? Known::yes : kind == Syntax::false_ ? otherwise : Known::unknown;
}

Element Analyser::element_of_dtype(const Arguments& arguments) const {
  const Argument* const dtype = arguments.named("dtype");
  if (dtype == nullptr || dtype->value.kind != Kind::dtype || dtype->value.name == nullptr) return Element::unknown;
  return dtype->value.name->ends_with(".bool") ? Element::boolean : Element::number;
}

Value Analyser::make_tensor(NodeId call, const Arguments& arguments, bool is_copied) {
  const Argument* const data = arguments.find(0, "data");
  const Argument* const to = arguments.named("device");
  Value device = to == nullptr ? default_device_ : device_of(to);
  const bool is_tensor = data != nullptr && data->value.kind == Kind::tensor;
  if (is_tensor && device.kind == Kind::unknown) return data->value;
  Value out = tensor(device.kind == Kind::device ? device.place
                     : to != nullptr             ? Place::unknown
                                                 : Place::cpu,
                     device.kind == Kind::device ? device.sure : Confidence::certain);
  out.element = element_of_dtype(arguments);
  if (data == nullptr) return out;
  const Syntax kind = tree_[data->node].kind;
  const NodeId literal = kind == Syntax::unary_operator ? tree_.child(data->node, Part::argument) : data->node;
  const bool is_number =
      literal != no_node && (tree_[literal].kind == Syntax::integer || tree_[literal].kind == Syntax::floating ||
                             tree_[literal].kind == Syntax::true_ || tree_[literal].kind == Syntax::false_);
  if (is_number) out.is_scalar = Known::yes, out.rank = 0;
  out.pinned = pinned_by(arguments, is_number || kind == Syntax::list ? Known::no : Known::unknown);
  // Numbers that are tensors are read one by one.
  if (data->value.kind == Kind::container) {
    if (const Value item = element_of(data->value); item.kind == Kind::tensor) read(item, call, RuleId::python_scalar);
  }
  if (kind == Syntax::list && out.element == Element::unknown) {
    const NodeId item = first(data->node);
    const bool is_truth = item != no_node && (tree_[item].kind == Syntax::true_ || tree_[item].kind == Syntax::false_);
    out.element = is_truth ? Element::boolean : Element::number;
    out.is_scalar = Known::no;
  }
  if (out.place != Place::cuda || is_tensor) return out;
  std::vector<Edit> fix;
  const NodeId callee = tree_.child(call, Part::function);
  const Value from = tree_[callee].kind == Syntax::attribute ? evaluate(tree_.child(callee, Part::object)) : Value{};
  bool is_plain = is_copied && is_number && from.kind == Kind::name && *from.name == "torch" && arguments.positions == 1 &&
                  !arguments.has_splat;
  for (const Argument& argument : arguments.all) {
    is_plain = is_plain && (argument.keyword.empty() || argument.keyword == "device" || argument.keyword == "dtype" ||
                            argument.keyword == "requires_grad");
  }
  if (is_plain) {
    const Node& name = tree_[tree_.child(callee, Part::attribute)];
    const std::uint32_t before = tree_[data->node].begin;
    fix = {{name.begin, name.end, "full"}, {before, before, "(), "}};
  }
  report(RuleId::create_from_host, call, out.sure, std::move(fix));
  return out;
}

Value Analyser::make_filled(std::string_view name, const Arguments& arguments) {
  const Argument* const to = arguments.named("device");
  const Value device = to == nullptr ? default_device_ : device_of(to);
  Value out = tensor(device.kind == Kind::device ? device.place
                     : to != nullptr             ? Place::unknown
                                                 : Place::cpu,
                     device.kind == Kind::device ? device.sure
                     : to != nullptr             ? Confidence::possible
                                                 : Confidence::certain);
  out.element = element_of_dtype(arguments);
  if (out.element == Element::unknown && arguments.named("dtype") == nullptr && name != "full") out.element = Element::number;
  out.pinned = pinned_by(arguments, Known::no);
  std::int8_t rank = 0;
  bool is_rank_known = true;
  const bool has_sizes = name == "zeros" || name == "ones" || name == "empty" || name == "rand" || name == "randn";
  for (const Argument& argument : arguments.all) {
    if (!argument.keyword.empty()) continue;
    const Syntax kind = tree_[argument.node].kind;
    if (kind == Syntax::tuple || kind == Syntax::list) {
      for (NodeId at = first(argument.node); at != no_node; at = next(at)) ++rank;
    } else {
      is_rank_known = is_rank_known && kind == Syntax::integer && has_sizes;
      ++rank;
    }
    // A size is a number of the host.
    if (argument.value.kind == Kind::tensor && name != "full" && name != "complex")
      read(argument.value, argument.node, RuleId::tensor_bounds);
  }
  if (name == "full" && arguments.at(0) != nullptr && tree_[arguments.at(0)->node].kind == Syntax::tuple) {
    is_rank_known = true;
    rank = 0;
    for (NodeId at = first(arguments.at(0)->node); at != no_node; at = next(at)) ++rank;
  }
  if (name == "arange" || name == "linspace" || name == "randperm") is_rank_known = true, rank = 1;
  if (name == "scalar_tensor") is_rank_known = true, rank = 0;
  if (is_rank_known) {
    out.rank = rank;
    out.is_scalar = rank == 0 ? Known::yes : Known::no;
  }
  return out;
}

Value Analyser::make_optimizer(const Arguments& arguments) const {
  Value out{.kind = Kind::optimizer, .is_quiet = Known::no};
  const Argument* const fused = arguments.named("fused");
  if (fused != nullptr && tree_[fused->node].kind != Syntax::false_ && tree_[fused->node].kind != Syntax::none)
    out.is_quiet = tree_[fused->node].kind == Syntax::true_ ? Known::yes : Known::unknown;
  const bool may_be_spread = fused == nullptr && arguments.has_splat;
  if (may_be_spread && tree_.source().find("fused") != std::string_view::npos) out.is_quiet = Known::unknown;
  return out;
}

// `is_of_cuda`: torch.cuda.amp's, which is given no device.
Value Analyser::make_scaler(bool is_of_cuda, const Arguments& arguments) const {
  Value out{.kind = Kind::scaler, .sure = Confidence::likely, .is_quiet = Known::no};
  const Argument* const enabled = arguments.find(is_of_cuda ? 4 : 5, "enabled");
  const Value device = is_of_cuda ? Value{} : device_of(arguments.find(0, "device"));
  const bool is_off = enabled != nullptr && tree_[enabled->node].kind == Syntax::false_;
  if (is_off || (device.kind == Kind::device && device.place == Place::cpu)) out.is_quiet = Known::yes;
  return out;
}

Value Analyser::make_distribution(NodeId call, const Arguments& arguments) {
  const Value over = combined(arguments);
  const Argument* const validates = arguments.named("validate_args");
  const bool is_checked = validates_distributions_ && (validates == nullptr || tree_[validates->node].kind != Syntax::false_);
  const std::string_view callee = text(tree_.child(call, Part::function));
  if (is_checked) {
    read(over, call, RuleId::distribution_check);
  } else if (over.kind == Kind::tensor && may_be_on_gpu(over)) {
    // A number among tensors, the caller's or the class's own, becomes a tensor beside them.
    const bool has_own = std::ranges::any_of(with_own_numbers, [&](std::string_view each) { return callee.ends_with(each); });
    const bool has_number = std::ranges::any_of(arguments.all, [&](const Argument& each) {
      return each.keyword != "validate_args" && is_host_number(each.node, each.value);
    });
    if (has_own || has_number) report(RuleId::create_from_host, call, sure_of(over));
  }
  Value out{
      .kind = Kind::distribution, .place = over.place, .sure = over.place == Place::cuda ? over.sure : Confidence::possible};
  out.is_scalar = is_checked && over.place == Place::cuda ? Known::yes : Known::no;  // whether log_prob checks, too
  if (over.kind != Kind::tensor || over.place == Place::cpu) return {.kind = Kind::distribution, .place = Place::cpu};
  if (callee.ends_with("Normal") && !callee.ends_with("LogNormal") && !callee.ends_with("MultivariateNormal") &&
      !callee.ends_with("HalfNormal")) {
    out.name = interned("Normal");
  }
  return out;
}

Value Analyser::call_torch_op(std::string_view name, NodeId call, const Arguments& arguments) {
  Value out = combined(arguments);
  const Argument* const given = arguments.at(0);
  const Value object = given == nullptr                       ? Value{}
                       : given->value.kind == Kind::container ? element_of(given->value)
                                                              : given->value;
  const auto say = [&](RuleId rule) {
    if (out.kind == Kind::tensor && out.place != Place::cpu)
      report(rule, call, out.place == Place::cuda ? out.sure : Confidence::possible);
  };
  if (object.kind == Kind::tensor) {
    bool is_known = false;
    const Value shaped = shaped_by_values(object, name, call, arguments, 1, is_known);
    if (is_known) return shaped;
  }
  if (name == "where" && arguments.all.size() == 1) say(RuleId::nonzero);
  if (name == "combinations") say(RuleId::masked_select);
  if (name == "normal" && (arguments.find(1, "std") != nullptr && arguments.find(1, "std")->value.kind == Kind::tensor))
    say(RuleId::sampling_check);
  if (checked_torch.contains(name)) say(RuleId::linalg_check);
  if (name == "normal" && out.kind != Kind::tensor) return make_filled("full", arguments);
  if (name.ends_with("_like")) {
    if (const Argument* const to = arguments.named("device"); to != nullptr) {
      const Value device = device_of(to);
      if (device.kind == Kind::device) out = tensor(device.place, device.sure);
    } else if (given != nullptr && given->value.kind == Kind::tensor) {
      out = given->value;
      out.loader = 0;
    }
    out.pinned = pinned_by(arguments, pinned_after(out.pinned));
    out.element = element_of_dtype(arguments);
    return out;
  }
  if (boolean_functions.contains(name)) out.element = Element::boolean;
  if (reducing.contains(name) && arguments.all.size() == 1 && out.kind == Kind::tensor) {
    out.is_scalar = Known::yes;
    out.rank = 0;
  }
  if (name.starts_with("arg")) out.element = Element::number;
  return out;
}

Value Analyser::call_torch(std::string_view name, NodeId call, const Arguments& arguments) {
  const auto is = [&](std::string_view prefix) { return name.starts_with(prefix); };
  const Argument* const given = arguments.at(0);
  if (name == "tensor" || name == "as_tensor" || name == "asarray") return make_tensor(call, arguments, name == "tensor");
  if (filled.contains(name)) return make_filled(name, arguments);
  if (name == "from_numpy" || name == "frombuffer" || name == "from_file") return tensor(Place::cpu);
  if (name == "device") {
    const Argument* const type = arguments.find(0, "type");
    const Value device = device_of(type);
    if (device.kind == Kind::device) return device;
    const bool is_text = type != nullptr && type->value.kind == Kind::host && type->value.name != nullptr;
    return {.kind = Kind::device, .place = is_text ? Place::unknown : Place::cuda, .sure = Confidence::likely};
  }
  if (name == "save" && given != nullptr && weight() != Weight::once)
    read(given->value.kind == Kind::container ? element_of(given->value) : given->value, call, RuleId::save);
  if (host_functions.contains(name)) return host();
  if (name == "set_default_device") {
    default_device_ = device_of(given);
    return host();
  }
  if (name == "compile" || name == "jit.script" || name == "nn.DataParallel" || name == "nn.parallel.DistributedDataParallel") {
    return given == nullptr ? Value{} : given->value;
  }
  if (name == "accelerator.current_accelerator") return {.kind = Kind::device, .place = Place::cuda, .sure = Confidence::likely};
  if (name == "cuda.synchronize" || name == "accelerator.synchronize" || name == "cuda.device_synchronize") {
    report(RuleId::synchronize, call, Confidence::certain);
    return host();
  }
  if (name == "cuda.empty_cache" || name == "cuda.memory.empty_cache" || name == "accelerator.empty_cache") {
    report(RuleId::empty_cache, call, Confidence::certain);
    return host();
  }
  if (name == "cuda.Stream" || name == "cuda.Event" || name == "cuda.current_stream" || name == "cuda.default_stream" ||
      name == "Event" || name == "Stream") {
    return {.kind = Kind::stream};
  }
  if (is("cuda.") && name.ends_with("Tensor")) {
    if (given != nullptr && (given->value.kind == Kind::container || given->value.kind == Kind::array))
      report(RuleId::create_from_host, call, Confidence::certain);
    return tensor(Place::cuda);
  }
  if (name == "cuda.amp.GradScaler" || name == "cuda.amp.grad_scaler.GradScaler") return make_scaler(true, arguments);
  if (name == "amp.GradScaler" || name == "amp.grad_scaler.GradScaler") return make_scaler(false, arguments);
  if (is("cuda.") || is("backends.") || is("profiler.") || is("version."))
    return name == "cuda.current_device" ? Value{.kind = Kind::device, .place = Place::cuda} : host();
  if (is("utils.data.")) {
    const std::string_view last = name.substr(name.rfind('.') + 1);
    if (last == "DataLoader") return make_loader(call, arguments);
    if (is_one_of(last, {"TensorDataset", "Subset", "ConcatDataset", "StackDataset", "random_split"}))
      return make_dataset(last, arguments);
  }
  if (is("optim.") && name.find("lr_scheduler") == std::string_view::npos && is_upper(name[name.rfind('.') + 1]))
    return make_optimizer(arguments);
  if (name == "load") {
    const Argument* const there = arguments.find(1, "map_location");
    const Value device = device_of(there);
    return device.kind == Kind::device && device.place == Place::cuda ? tensor(Place::cuda, Confidence::possible) : Value{};
  }
  if (name == "utils.tensorboard.SummaryWriter" || is("optim.") || is("amp.") || is("utils.")) return {};
  if (is("distributions.")) {
    const std::string_view last = name.substr(name.rfind('.') + 1);
    if (name.ends_with("set_default_validate_args"))
      validates_distributions_ = given == nullptr || tree_[given->node].kind != Syntax::false_;
    return validated.contains(last) ? make_distribution(call, arguments) : Value{};
  }
  if (is("distributed.")) {
    if (name == "distributed.barrier" || name == "distributed.monitored_barrier")
      report(RuleId::barrier, call, Confidence::certain);
    if (name.ends_with("_object") || name.ends_with("_object_list")) report(RuleId::object_collective, call, Confidence::likely);
    return {};
  }
  if (name == "testing.assert_close") return call_torch_op("allclose", call, arguments);
  if (is("linalg.")) {
    const Value out = combined(arguments);
    if (checked_linalg.contains(name.substr(7))) read(out, call, RuleId::linalg_check);
    return out;
  }
  if (name == "nn.Parameter" || name == "nn.parameter.Parameter") {
    Value out = given != nullptr && given->value.kind == Kind::tensor ? given->value : tensor(Place::cpu);
    out.name = interned(held_by_module);
    return out;
  }
  if (name == "nn.utils.clip_grad_norm_" || name == "nn.utils.clip_grad.clip_grad_norm_") {
    const Argument* const parameters = arguments.find(0, "parameters");
    const Value clipped = parameters == nullptr                       ? Value{}
                          : parameters->value.kind == Kind::container ? element_of(parameters->value)
                                                                      : parameters->value;
    if (clipped.kind == Kind::tensor && clipped.place == Place::cpu) return tensor(Place::cpu, clipped.sure);
    const Argument* const raises = arguments.find(3, "error_if_nonfinite");
    if (raises != nullptr && tree_[raises->node].kind == Syntax::true_) report(RuleId::clip_grad_check, call, Confidence::likely);
    return tensor(Place::cuda, Confidence::likely);
  }
  if (name == "nn.utils.rnn.pack_padded_sequence") {
    const Argument* const sorted = arguments.find(3, "enforce_sorted");
    if (given != nullptr && sorted != nullptr && tree_[sorted->node].kind == Syntax::false_)
      read(given->value, call, RuleId::host_lengths);
  }
  if (name == "nn.functional.ctc_loss" || name == "ctc_loss") read_ctc_lengths(call, arguments);
  if (is("nn.functional.")) {
    const std::string_view function = name.substr(14);
    if (function == "one_hot") {
      const Argument* const classes = arguments.find(1, "num_classes");
      const bool is_given = classes != nullptr && text(classes->node) != "-1";
      if (!is_given && given != nullptr) read(given->value, call, RuleId::one_hot);
    }
    Value out = combined(arguments);
    const bool is_loss = function.find("loss") != std::string_view::npos || function.find("entropy") != std::string_view::npos;
    if (is_loss && arguments.named("reduction") == nullptr) out.is_scalar = Known::yes;
    return out;
  }
  if (name.find(".calculate_") != std::string_view::npos || name.find("._calculate_") != std::string_view::npos) return host();
  if (is("nn.init.") || is("nn.utils.")) return given == nullptr ? Value{} : given->value;
  if (is("nn.") && is_upper(name[name.rfind('.') + 1])) {
    const Argument* const to = arguments.named("device");
    const Value device = to == nullptr ? default_device_ : device_of(to);
    Value out{.kind = Kind::module, .place = to == nullptr && !arguments.has_splat ? Place::cpu : Place::unknown};
    if (device.kind == Kind::device) out.place = device.place, out.sure = device.sure;
    if (name.ends_with(".CTCLoss")) out.name = interned(ctc_loss);
    return out;
  }
  if (name.find('.') == std::string_view::npos && !is_upper(name[0])) return call_torch_op(name, call, arguments);
  return {};
}

// nn.CTCLoss and its function read the lengths that are on the GPU.
void Analyser::read_ctc_lengths(NodeId call, const Arguments& arguments) {
  for (const Argument* const lengths : {arguments.find(2, "input_lengths"), arguments.find(3, "target_lengths")}) {
    if (lengths != nullptr) read(lengths->value, call, RuleId::host_lengths);
  }
}

Value Analyser::call_jax(std::string_view name, NodeId call, const Arguments& arguments) {
  const Value array{.kind = Kind::jax, .sure = Confidence::likely};
  const Argument* const given = arguments.at(0);
  if (name == "device_get") {
    report(RuleId::jax_read, call, Confidence::likely);
    return {.kind = Kind::array};
  }
  if (name == "block_until_ready") {
    report(RuleId::jax_block, call, Confidence::likely);
    return given == nullptr ? Value{} : given->value;
  }
  for (const std::string_view makes :
       {"jit", "grad", "value_and_grad", "vmap", "pmap", "jacfwd", "jacrev", "hessian", "checkpoint"}) {
    if (name == makes) return {.kind = Kind::jax_function};
  }
  if (name.starts_with("numpy.") && is_static_fact(name.substr(6))) return host();
  if (name.starts_with("numpy.") || name.starts_with("random.") || name.starts_with("nn.") || name.starts_with("lax.") ||
      name == "device_put")
    return array;
  return {};
}

Value Analyser::call_qualified(std::string_view path, NodeId call, const Arguments& arguments) {
  const auto is = [&](std::string_view prefix) { return path.starts_with(prefix); };
  if (is("torch.")) return call_torch(path.substr(6), call, arguments);
  if (is("jax.")) return call_jax(path.substr(4), call, arguments);
  if (is("numpy.")) {
    if (is_static_fact(path.substr(6))) return host();
    const Argument* const given = arguments.at(0);
    const bool is_list =
        given != nullptr && given->value.kind == Kind::container && !containers_[given->value.index].is_dictionary;
    const Value numbers = given == nullptr ? Value{} : is_list ? element_of(given->value) : given->value;
    if (numbers.kind == Kind::jax) read(numbers, call, RuleId::jax_read);
    return {.kind = Kind::array};
  }
  if (is("math.")) {
    for (const Argument& argument : arguments.all) {
      if (argument.value.kind == Kind::tensor || argument.value.kind == Kind::jax)
        read(argument.value, call, RuleId::python_scalar);
    }
    return host();
  }
  if (is("tqdm.") || is("rich.progress.")) {
    const Argument* const over = arguments.find(0, "iterable");
    return over == nullptr ? Value{} : over->value;
  }
  if (is("itertools.")) {
    const Argument* const over = arguments.at(0);
    const bool passes_on = is_one_of(path.substr(10), {"islice", "cycle"});
    return passes_on && over != nullptr ? over->value : Value{};
  }
  if (path == "functools.partial") {
    if (arguments.at(0) == nullptr) return {};
    Partial made{arguments.at(0)->value, arguments};
    const auto callee = std::find_if(made.arguments.all.begin(), made.arguments.all.end(),
                                     [](const Argument& each) { return each.keyword.empty(); });
    made.arguments.all.erase(callee);
    --made.arguments.positions;
    partials_.push_back(std::move(made));
    return {.kind = Kind::partial, .index = static_cast<std::uint32_t>(partials_.size() - 1)};
  }
  if (is("einops.")) return combined(arguments);
  if (is("copy.")) return arguments.at(0) == nullptr ? Value{} : arguments.at(0)->value;
  if (is("time.") || is("os.") || is("random.") || is("sys.") || is("json.") || is("re.")) return host();
  const std::string_view last = path.substr(path.rfind('.') + 1);
  if (last == "Accelerator") return {.kind = Kind::accelerator};
  if (last == "DataLoader") return {.kind = Kind::loader, .sure = Confidence::possible};  // of what, only its module knows
  if (sounds_like_module(last) && combined(arguments).kind == Kind::tensor)
    return call_value({.kind = Kind::module, .sure = Confidence::likely}, call, arguments);
  return call_value({}, call, arguments);
}

}  // namespace tutti::lint
