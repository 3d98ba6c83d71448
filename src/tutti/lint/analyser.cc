#include "tutti/lint/analyser.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "tutti/lint/names.h"

namespace tutti::lint {

namespace {

// What flows from a call into a function, and from there into another, is known after so many. More than the fewest are for
// functions that call others whose arguments or results were still another thing.
constexpr int fewest_rounds = 3;
constexpr int most_rounds = 6;

// Modules that make tensors, or are made of such.
constexpr std::string_view frameworks[] = {"accelerate",
                                           "apex",
                                           "bitsandbytes",
                                           "catalyst",
                                           "composer",
                                           "deepspeed",
                                           "detectron2",
                                           "diffusers",
                                           "e3nn",
                                           "einops",
                                           "equinox",
                                           "espnet",
                                           "fairseq",
                                           "fastai",
                                           "flax",
                                           "flair",
                                           "gpytorch",
                                           "haiku",
                                           "ignite",
                                           "kornia",
                                           "lightning",
                                           "mmcv",
                                           "mmengine",
                                           "monai",
                                           "nemo",
                                           "open_clip",
                                           "optax",
                                           "optimum",
                                           "peft",
                                           "pyro",
                                           "safetensors",
                                           "segmentation_models_pytorch",
                                           "sentence_transformers",
                                           "skorch",
                                           "speechbrain",
                                           "stable_baselines3",
                                           "stanza",
                                           "tensordict",
                                           "timm",
                                           "transformers",
                                           "triton",
                                           "trl",
                                           "ultralytics",
                                           "vllm",
                                           "whisper",
                                           "xformers"};

bool contains(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

// Runs when things are made or loaded, before they are moved.
bool is_for_setup(std::string_view name) {
  return contains(name, "init") || contains(name, "reset") || contains(name, "load") || contains(name, "convert") ||
         contains(name, "save") || contains(name, "export");
}

}  // namespace

bool Analyser::is_jit(NodeId decorator) const {
  if (contains(text(decorator), "jax.jit") || contains(text(decorator), "pmap")) return true;
  NodeId name = first(decorator);
  if (name != no_node && tree_[name].kind == Syntax::call) {  // @jit(...), @partial(jit, ...)
    const NodeId callee = tree_.child(name, Part::function);
    const bool is_partial = callee != no_node && text(callee).ends_with("partial");
    name = is_partial ? first(tree_.child(name, Part::arguments)) : callee;
  }
  const Value value = name != no_node && tree_[name].kind == Syntax::identifier ? look_up(text(name)) : Value{};
  return value.kind == Kind::name && value.name->starts_with("jax.") && value.name->ends_with("jit");  // numba has one, too
}

bool Analyser::is_setting_up() const { return function_ != nullptr && is_for_setup(function_->name); }

NodeId Analyser::first(NodeId of) const {
  const NodeId at = of == no_node ? no_node : tree_[of].first;
  return at != no_node && tree_[at].kind == Syntax::comment ? next(at) : at;
}

NodeId Analyser::next(NodeId after) const {
  NodeId at = tree_[after].next;
  while (at != no_node && tree_[at].kind == Syntax::comment) at = tree_[at].next;
  return at;
}

const std::string* Analyser::interned(std::string_view text) { return &*strings_.emplace(text).first; }

std::string Analyser::literal(NodeId string) const {
  std::string_view all = text(string);
  while (!all.empty() && all.front() != '"' && all.front() != '\'') all.remove_prefix(1);
  const std::size_t quotes = all.size() >= 6 && all.substr(0, 3) == std::string(3, all[0]) ? 3 : 1;
  return all.size() < 2 * quotes ? std::string() : std::string(all.substr(quotes, all.size() - 2 * quotes));
}

Value Analyser::look_up(std::string_view name) const {
  for (const Scope* at = scope_; at != nullptr; at = at->outer) {
    const auto found = at->names.find(name);
    const bool is_given = at->given != nullptr && at->given->known.contains(name);
    if (found == at->names.end() && !is_given) continue;
    if (!is_given) return found->second;
    const Value& given = at->given->known.find(name)->second;
    return found == at->names.end() ? given : joined(found->second, given);
  }
  return {};
}

void Analyser::bind(std::string_view name, const Value& value) {
  if (const auto found = scope_->elsewhere.find(name); found != scope_->elsewhere.end()) found->second->add(name, value);
  auto [at, is_new] = scope_->names.try_emplace(name);
  scope_->undo.emplace_back(name, at->second);
  at->second = value;
}

Value Analyser::annotated(std::string_view annotation) const {
  while (!annotation.empty() && (annotation.front() == '"' || annotation.front() == '\'')) annotation.remove_prefix(1);
  for (const std::string_view many :
       {"List", "list", "Sequence", "Tuple", "tuple", "Dict", "dict", "Iterable", "Mapping", "Callable"}) {
    if (annotation.starts_with(many) || contains(annotation.substr(0, 40), "[" + std::string(many))) return {};
  }
  if (contains(annotation, "Cache")) return {};
  if (contains(annotation, "Tensor") &&
      (contains(annotation, "Union[") || (contains(annotation, "|") && !contains(annotation, "None")))) {
    return tensor(Place::unknown, Confidence::possible);
  }
  if (contains(annotation, "torch.cuda.")) return tensor(Place::cuda);
  if (contains(annotation, "BoolTensor")) return boolean(tensor(Place::unknown, Confidence::likely));
  if (contains(annotation, "Tensor")) return tensor(Place::unknown, Confidence::likely);
  if (contains(annotation, "jax.Array") || contains(annotation, "jnp.ndarray"))
    return {.kind = Kind::jax, .sure = Confidence::likely};
  if (contains(annotation, "ndarray")) return {.kind = Kind::array};
  if (contains(annotation, "torch.device")) return {.kind = Kind::device, .place = Place::cuda, .sure = Confidence::likely};
  if (contains(annotation, "DataLoader")) return {.kind = Kind::loader, .sure = Confidence::likely};
  if (contains(annotation, "Module")) return {.kind = Kind::module, .place = Place::cuda, .sure = Confidence::likely};
  for (const std::string_view plain :
       {"int", "float", "str", "bool", "Optional[int]", "Optional[float]", "Optional[str]", "Optional[bool]"}) {
    if (annotation == plain || annotation.starts_with(std::string(plain) + " |"))
      return contains(plain, "int") ? integer(Confidence::likely) : host();
  }
  return {};
}

void Analyser::declare_parameters(Function& function, bool is_method) {
  const NodeId list = tree_.child(function.node, Part::parameters);
  const bool is_module = function.type != 0 && types_[function.type - 1].is_module;
  const bool is_forward = function.name == "forward" && function.type != 0;
  for (NodeId at = first(list); at != no_node; at = next(at)) {
    NodeId name = tree_[at].kind == Syntax::identifier ? at : tree_.child(at, Part::name);
    if (tree_[at].kind == Syntax::typed_parameter) name = first(at);
    if (name == no_node || tree_[name].kind != Syntax::identifier) {  // *args, **kwargs, /, *
      if (tree_[at].kind == Syntax::list_splat_pattern) break;
      continue;
    }
    Parameter parameter{.name = text(name), .value = {}, .called = {}, .calling = {}};
    const bool is_first = function.parameters.empty();
    if (is_method && is_first) {
      function.is_bound = true;
      parameter.value = {.kind = Kind::instance, .index = function.type - 1};
      function.parameters.push_back(parameter);
      continue;
    }
    const NodeId type = tree_.child(at, Part::type);
    const NodeId given = tree_.child(at, Part::value);
    if (type != no_node) parameter.value = annotated(text(type));
    const bool is_tensor = parameter.value.kind == Kind::tensor;
    const bool is_none_else = given != no_node && tree_[given].kind == Syntax::none;
    if (parameter.value.kind == Kind::device && is_none_else) parameter.value.sure = Confidence::possible;  // the CPU, as a rule
    if (is_tensor && is_module && parameter.value.place == Place::unknown) parameter.value.place = Place::cuda;
    if (parameter.value.kind == Kind::unknown && type == no_node) {
      if (sounds_like_device(parameter.name)) {
        const Confidence sure = is_none_else ? Confidence::possible : Confidence::likely;
        parameter.value = {.kind = Kind::device, .place = Place::cuda, .sure = sure};
      } else if (sounds_like_module(parameter.name)) {
        parameter.value = {.kind = Kind::module,
                           .place = is_for_setup(function.name) ? Place::unknown : Place::cuda,
                           .sure = Confidence::likely};
      } else if (sounds_like_loader(parameter.name)) {
        parameter.value = {.kind = Kind::loader, .sure = Confidence::likely};
      } else if (is_forward && given == no_node && !sounds_like_host(parameter.name)) {
        const bool has_tensor = std::any_of(function.parameters.begin(), function.parameters.end(),
                                            [](const Parameter& each) { return each.value.kind == Kind::tensor; });
        parameter.value = tensor(Place::cuda, Confidence::likely);
        if (has_tensor) parameter.value.name = interned(guessed);
      }
    }
    if (given != no_node && parameter.value.kind != Kind::tensor) {
      const Value by_default = evaluate(given);
      const Value device = named_device(by_default);
      const bool is_on_host = device.kind == Kind::device && device.place == Place::cpu;
      if (is_on_host && parameter.value.kind == Kind::device) parameter.value.place = Place::unknown;
      if (tree_[given].kind != Syntax::none && !is_on_host)
        parameter.value = parameter.value.kind == Kind::unknown ? by_default : joined(parameter.value, by_default);
    } else if (given != no_node && tree_[given].kind == Syntax::none && type == no_node) {
      parameter.value.sure = Confidence::possible;
    }
    function.parameters.push_back(parameter);
  }
}

void Analyser::add_base(Type& type, std::uint32_t base) {
  const bool is_new = std::find(type.bases.begin(), type.bases.end(), base) == type.bases.end();
  if (is_new && type.bases.size() < std::size_t{deepest}) type.bases.push_back(base);
}

std::uint32_t Analyser::declare_function(NodeId definition, std::uint32_t type, bool is_jitted) {
  const auto [found, is_new] = function_at_.try_emplace(definition, static_cast<std::uint32_t>(functions_.size()));
  if (!is_new) return found->second;
  Function& function = functions_.emplace_back();
  const std::uint32_t index = found->second;
  function.node = definition;
  const NodeId name = tree_.child(definition, Part::name);
  function.name = name == no_node ? std::string_view() : text(name);
  function.type = type;
  function.is_jitted = is_jitted;
  return index;
}

void Analyser::declare_type(NodeId definition) {
  const auto [found, is_new] = type_at_.try_emplace(definition, static_cast<std::uint32_t>(types_.size()));
  const NodeId name = tree_.child(definition, Part::name);
  if (name == no_node) return;
  if (is_new) {
    Type& type = types_.emplace_back();
    type.name = text(name);
    bool has_bases = false;
    for (NodeId base = first(tree_.child(definition, Part::superclasses)); base != no_node; base = next(base)) {
      has_bases = true;
      const Value value = tree_[base].kind == Syntax::identifier ? look_up(text(base)) : Value{};
      if (value.kind == Kind::type && value.index != found->second) {
        type.is_module = type.is_module || types_[value.index].is_module;
        add_base(type, value.index);
        for (const std::uint32_t above : types_[value.index].bases) add_base(type, above);
      }
      type.is_module = type.is_module || text(base).ends_with("Module");
    }
    const NodeId body = tree_.child(definition, Part::body);
    for (NodeId at = first(body); at != no_node; at = next(at)) {
      const NodeId method = tree_[at].kind == Syntax::decorated_definition ? tree_.child(at, Part::definition) : at;
      if (method == no_node || tree_[method].kind != Syntax::function_definition) continue;
      const NodeId method_name = tree_.child(method, Part::name);
      if (method_name != no_node && text(method_name) == "forward" && has_bases) type.is_module = true;
    }
    for (NodeId at = first(body); at != no_node; at = next(at)) {
      const bool is_decorated = tree_[at].kind == Syntax::decorated_definition;
      const NodeId method = is_decorated ? tree_.child(at, Part::definition) : at;
      if (method == no_node || tree_[method].kind != Syntax::function_definition) continue;
      const std::uint32_t index = declare_function(method, found->second + 1, is_decorated && is_jit(first(at)));
      functions_[index].is_property = is_decorated && contains(text(first(at)), "property");
      declare_parameters(functions_[index], !is_decorated || !contains(text(first(at)), "staticmethod"));
      types_[found->second].methods[functions_[index].name] = index;
    }
  }
  bind(text(name), {.kind = Kind::type, .index = found->second});
}

void Analyser::run_function(std::uint32_t index, Scope* outer) {
  if (depth_ > 60) return;
  ++depth_;
  Function& function = functions_[index];
  function.is_queued = false;
  Scope scope;
  scope.outer = outer;
  scope.given = &function.given;
  for (const Parameter& parameter : function.parameters) {
    Value value = parameter.value;
    const bool is_known = parameter.is_called && parameter.called.kind != Kind::unknown;
    if (is_known) value = parameter.called;
    value.pinned = Known::unknown;  // other files may call it
    scope.names.emplace(parameter.name, value);
  }
  Scope* const outer_scope = std::exchange(scope_, &scope);
  Function* const outer_function = std::exchange(function_, &function);
  const std::vector<std::uint32_t> outer_nested = std::exchange(nested_, {});
  const int loops = std::exchange(loops_, function.is_in_loop ? 1 : 0);
  const int steps = std::exchange(steps_, sounds_like_step(function.name) ? 1 : 0);
  const int sometimes = std::exchange(sometimes_, 0);
  muted_ += function.is_jitted ? 1 : 0;
  const NodeId body = tree_.child(function.node, Part::body);
  if (body != no_node) execute_all(body);
  const std::vector<std::uint32_t> inner = std::exchange(nested_, {});
  for (const std::uint32_t each : inner) run_function(each, &scope);
  muted_ -= function.is_jitted ? 1 : 0;
  sometimes_ = sometimes;
  steps_ = steps;
  loops_ = loops;
  nested_ = outer_nested;
  function_ = outer_function;
  scope_ = outer_scope;
  --depth_;
}

// Whether something is known now that was not.
bool Analyser::finish_round() {
  bool has_changed = false;
  const auto differs = [](const Value& a, const Value& b) { return a.kind != b.kind || a.place != b.place || a.sure != b.sure; };
  for (Function& function : functions_) {
    has_changed = has_changed || differs(function.returned, function.returning);
    for (Parameter& parameter : function.parameters) {
      has_changed = has_changed || differs(parameter.called, parameter.calling);
      parameter.called = parameter.calling;
      parameter.is_called = parameter.is_calling;
      parameter.calling = {};
      parameter.is_calling = false;
    }
    function.returned = function.returning;
    function.has_returned = function.is_returning;
    function.returning = {};
    function.is_returning = false;
    has_changed = has_changed || differs(function.yielded, function.yielding);
    function.yielded = function.yielding;
    function.yielding = {};
    function.is_yielding = false;
    function.given.finish_round();
  }
  for (Type& type : types_) {
    type.given.finish_round();
    type.is_known = true;
    for (const auto& [name, value] : type.assigned) {
      Value& known = type.attributes[name];
      if (known.kind == Kind::container || value.kind == Kind::container || value.kind == Kind::unknown) continue;
      has_changed = has_changed || differs(known, value);
      known = value;
    }
    type.assigned.clear();
  }
  globals_.finish_round();
  return has_changed;
}

// Whether the source imports PyTorch, JAX or something built on them, by what it is called.
bool Analyser::imports_framework() const {
  for (NodeId id = 0; id < tree_.size(); ++id) {
    if (tree_[id].kind != Syntax::dotted_name || tree_[id].part == Part::alias) continue;
    const NodeId above = tree_[id].parent;
    const NodeId statement = tree_[above].kind == Syntax::aliased_import ? tree_[above].parent : above;
    const bool is_from = tree_[statement].kind == Syntax::import_from_statement;
    if (tree_[statement].kind != Syntax::import_statement && !(is_from && tree_[id].part == Part::module_name)) continue;
    const std::string_view path = text(id);
    const std::string_view root = path.substr(0, path.find('.'));
    if (contains(path, "torch") || contains(path, "jax")) return true;
    if (std::find(std::begin(frameworks), std::end(frameworks), root) != std::end(frameworks)) return true;
  }
  return false;
}

std::vector<Finding> Analyser::run() {
  if (tree_[tree_.root()].kind != Syntax::module) return {};  // nothing of it parsed
  bool has_changed = true;
  for (int round = 0; !is_reporting_; ++round) {
    is_reporting_ = round + 1 >= fewest_rounds && (!has_changed || round + 1 == most_rounds);
    default_device_ = {};
    validates_distributions_ = true;
    module_ = Scope();
    module_.given = &globals_;
    scope_ = &module_;
    function_ = nullptr;
    nested_.clear();
    execute_all(tree_.root());
    const std::vector<std::uint32_t> outer = std::exchange(nested_, {});
    for (const std::uint32_t each : outer) run_function(each, &module_);
    for (std::uint32_t i = 0; i < functions_.size(); ++i) {
      if (functions_[i].type != 0) run_function(i, &module_);
    }
    if (!is_reporting_) has_changed = finish_round();
  }
  report_loaders();
  if (!imports_framework()) {
    for (Finding& finding : findings_) {
      finding.confidence = Confidence::possible;
      finding.fix.clear();
    }
  }
  std::sort(findings_.begin(), findings_.end(),
            [](const Finding& a, const Finding& b) { return std::tie(a.begin, a.rule) < std::tie(b.begin, b.rule); });
  return std::move(findings_);
}

Weight Analyser::weight() const {
  if (sometimes_ > 0 && (loops_ > 0 || steps_ > 0)) return Weight::sometimes;
  return steps_ > 0 ? Weight::step : loops_ > 0 ? Weight::loop : Weight::once;
}

void Analyser::report(RuleId rule, NodeId at, Confidence sure, std::vector<Edit> fix) {
  if (!is_reporting_ || muted_ > 0 || !reported_.emplace(at, rule).second) return;
  const Node& node = tree_[at];
  Finding finding{
      .rule = rule, .confidence = sure, .weight = weight(), .begin = node.begin, .end = node.end, .fix = std::move(fix)};
  // In characters, as editors count them.
  const auto place = [&](std::uint32_t byte, std::uint32_t from, std::uint32_t line, std::uint32_t& out_line,
                         std::uint32_t& out_column) {
    const std::string_view source = tree_.source();
    std::size_t start = source.rfind('\n', byte == 0 ? 0 : byte - 1);
    start = start == std::string_view::npos || start >= byte ? 0 : start + 1;
    out_line = line + 1 + static_cast<std::uint32_t>(std::count(source.begin() + from, source.begin() + byte, '\n'));
    out_column = 1;
    for (std::size_t i = start; i < byte; ++i) out_column += (static_cast<unsigned char>(source[i]) & 0xc0U) != 0x80U ? 1 : 0;
  };
  place(node.begin, node.begin, node.line, finding.line, finding.column);
  place(node.end, node.begin, node.line, finding.end_line, finding.end_column);
  findings_.push_back(std::move(finding));
}

void Analyser::report_loaders() {
  const bool has_loose_copies = Analyser::has_loose_copies();
  for (const Loader& loader : loaders_) {
    if (!loader.is_used || loader.is_pinned != Known::no || loader.is_on_gpu) continue;
    steps_ = loops_ = sometimes_ = 0;
    report(RuleId::unpinned_loader, loader.call, loader.sure, has_loose_copies ? std::vector<Edit>{} : loader.fix);
  }
}

}  // namespace tutti::lint
