#include "tutti/train/trainer.h"

#include <algorithm>
#include <array>
#include <set>

#include "tutti/base/text.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/reading.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/variable_cell.h"
#include "tutti/place/scope.h"
#include "tutti/train/fit_run.h"
#include "tutti/train/parameters.h"
#include "tutti/train/tape.h"

namespace tutti::detail {

namespace {

std::string shapes_of(std::span<const Tensor> tensors) {
  std::string out;
  for (const Tensor& each : tensors)
    out += text(out.empty() ? "" : " and ", to_string(each.dtype()), " ", to_string(each.shape()));
  return out;
}

// What goes wrong inside is told with what the function was given.
template <class F>
Tensor explained(const std::string& given, F&& function) {
  try {
    return function();
  } catch (const ShapeError& error) {
    throw ShapeError(text(given, ": ", error.message()), error.site());
  } catch (const DTypeError& error) {
    throw DTypeError(text(given, ": ", error.message()), error.site());
  }
}

bool can_learn(const Variable& variable) { return is_floating(variable.dtype()) && variable.is_trainable(); }

}  // namespace

Trainer::Trainer(Call call, NamedVariables variables, std::optional<MirroredStrategy> strategy, Site site)
    : call_(std::move(call)),
      variables_(std::move(variables)),
      strategy_(std::move(strategy)),
      device_(variables_.empty() ? std::string() : variables_[0].second.device(site)),
      destination_(strategy_, device_, site),
      site_(site) {
  if (variables_.empty()) throw InvalidArgument("the model has no variables: there is nothing in it that could learn", site);
  if (!strategy_ && !variables_[0].second.cell()->others().empty()) {
    throw InvalidArgument(
        "the variables of this model are mirrored; give the model their strategy: Model(strategy, [] { return Net(); })", site);
  }
}

void Trainer::compile(const CompileOptions& options, Site site) {
  site_ = site;
  if (!options.optimizer) throw InvalidArgument("compile: an optimizer is needed, as in {.optimizer = tt::sgd(0.1), ...}", site);
  if (!options.loss.is_defined()) throw InvalidArgument("compile: a loss is needed, as in {.loss = tt::mse_loss, ...}", site);
  std::set<std::string> known{"loss"};
  for (const Metric& metric : options.metrics) {
    if (metric.function == nullptr || metric.name.empty())
      throw InvalidArgument("compile: a metric needs a name and a function", site);
    if (metric.name.starts_with("val_"))
      throw InvalidArgument(text("compile: \"", metric.name, "\" is what the value of validation data would be called"), site);
    if (!known.insert(metric.name).second)
      throw InvalidArgument(text("compile: two values would have the name \"", metric.name, "\""), site);
  }
  std::vector<Variable> learning;
  learning_.clear();
  for (const auto& [name, variable] : variables_) {
    if (can_learn(variable) && learning_.insert(variable.cell().get()).second) learning.push_back(variable);
  }
  std::optional<MirroredStrategy::Scope> mirrored;
  if (strategy_) mirrored.emplace(*strategy_, site);
  const DeviceScope there(device_, site);
  optimizer_ = options.optimizer(std::move(learning), site);
  loss_ = options.loss;
  metrics_ = options.metrics;
  const auto new_sums = [&] {
    Variable sums(zeros({static_cast<std::int64_t>(metrics_.size()) + 1}, DType::f64, site), site);
    sums.set_trainable(false);
    return sums;
  };
  learnt_ = new_sums();
  judged_ = new_sums();
  learn_.reset();
  slopes_.reset();
  update_.reset();
  if (is_of_one_process()) {
    learn_.emplace(
        "the step of fit", [this](const SharedBatch& batch) { update(exchanged(slopes(batch))); }, site);
  } else {
    slopes_.emplace(
        "the gradient of fit", [this](const SharedBatch& batch) { return slopes(batch); }, site);
    update_.emplace(
        "the update of fit", [this](const std::vector<Tensors>& all) { update(all); }, site);
  }
  judge_.emplace(
      "the step of evaluate", [this](const SharedBatch& batch) { judge(batch); }, site);
}

void Trainer::check_compiled(const char* asked, Site site) const {
  if (!optimizer_)
    throw InvalidState(text(asked, ": the model was not compiled; call compile({.optimizer = ..., .loss = ...}) first"), site);
}

Batches Trainer::at_hand(const Batches& data, const char* asked, Site site) const {
  if (data.batches() == 0) {
    throw InvalidArgument(text(asked, ": the data set has no batches; it has ", data.examples(), " examples"), site);
  }
  return destination_.prefetched(data, site);
}

Tensor Trainer::outputs_of(std::span<const Tensor> inputs) const {
  return explained(text("the model was called with ", shapes_of(inputs)), [&] { return call_(inputs); });
}

Tensor Trainer::loss_of(const Tensor& outputs, const Tensor& targets) const {
  const std::array<Tensor, 2> both{outputs, targets};
  Tensor loss =
      explained(text("the loss of outputs and targets, ", shapes_of(both)), [&] { return loss_(outputs, targets, site_); });
  if (loss.size() != 1 || !is_floating(loss.dtype())) {
    throw ShapeError(text("the loss must be one number, a mean over the batch; of outputs and targets, ", shapes_of(both),
                          ", it gave ", to_string(loss.dtype()), " ", to_string(loss.shape())),
                     site_);
  }
  return loss;
}

Tensor Trainer::summands(const Tensor& loss, const Tensor& outputs, const Tensor& targets, std::int64_t rows) const {
  std::vector<Tensor> values;
  const auto add = [&](const Tensor& given) {
    const Tensor value = given.dtype() == DType::f32 || given.dtype() == DType::f64 ? given : cast(given, DType::f32, site_);
    values.push_back(reshape(value.size() == 1 ? value : mean(value, site_), {1}, site_));
  };
  add(loss);
  for (const Metric& metric : metrics_) {
    const std::array<Tensor, 2> both{outputs, targets};
    add(explained(text("the metric ", metric.name, " of outputs and targets, ", shapes_of(both)),
                  [&] { return metric.function(outputs, targets); }));
  }
  const Tensor all = values.size() == 1 ? values[0] : concat(values, 0, site_);
  return multiply(all, static_cast<double>(rows), site_);
}

Trainer::Tensors Trainer::slopes_of(const Tensors& part, std::int64_t rows) const {
  const std::vector<Variable>& parameters = optimizer_->parameters();
  const std::int64_t own = SharedBatch::rows_of(part);
  Tensors out;
  if (own == 0) {
    for (const Variable& each : parameters) out.push_back(zeros(each.shape(), each.dtype(), site_));
    out.push_back(zeros(learnt_->shape(), DType::f64, site_));
    return out;
  }
  Tape tape;
  std::vector<Tape::Wanted> wanted;
  for (const Variable& each : parameters) {
    tape.watch_leaf(each);
    wanted.push_back({.variable = &each});
  }
  Tensor outputs;
  Tensor loss;
  {
    const Tape::Recording on(tape);
    outputs = outputs_of({part.data(), part.size() - 1});
    loss = loss_of(outputs, part.back());
  }
  // The loss is a mean, and a part counts by its rows.
  const Tensor share = own == rows ? Tensor() : full_like(loss, static_cast<double>(own) / static_cast<double>(rows), {}, site_);
  out = tape.gradients(loss, wanted, share, true, site_);
  out.push_back(summands(loss, outputs, part.back(), own));
  return out;
}

std::vector<Trainer::Tensors> Trainer::slopes(const SharedBatch& batch) const {
  std::vector<Tensors> out(batch.parts.size());
  on_each_replica([&](std::size_t replica) { out[replica] = slopes_of(batch.parts[replica], batch.rows); });
  return out;
}

std::vector<Trainer::Tensors> Trainer::exchanged(std::vector<Tensors> slopes) const {
  if (!strategy_ || strategy_->replicas_in_sync() == 1) return slopes;
  Tensors added;
  for (Tensors& each : slopes) {
    added.push_back(std::move(each.back()));
    each.pop_back();
  }
  std::vector<Tensors> out = strategy_->all_reduce(PerReplica<Tensors>(std::move(slopes)), Reduction::sum, site_).values();
  for (std::size_t i = 0; i < out.size(); ++i) out[i].push_back(std::move(added[i]));
  return out;
}

void Trainer::update(const std::vector<Tensors>& slopes) const {
  on_each_replica([&](std::size_t replica) {
    const Tensors& mine = slopes[replica];
    learnt_->assign_add(mine.back(), site_);
    optimizer_->update(std::span(mine.data(), mine.size() - 1), site_);
  });
}

void Trainer::learn(const SharedBatch& batch) {
  if (learn_) return (*learn_)(batch);
  (*update_)(exchanged((*slopes_)(batch)));
}

void Trainer::judge(const SharedBatch& batch) const {
  on_each_replica([&](std::size_t replica) {
    const Tensors& part = batch.parts[replica];
    if (SharedBatch::rows_of(part) == 0) return;
    const Evaluation mode;
    const Tensor outputs = outputs_of({part.data(), part.size() - 1});
    const Tensor loss = loss_of(outputs, part.back());
    judged_->assign_add(summands(loss, outputs, part.back(), SharedBatch::rows_of(part)), site_);
  });
}

std::int64_t Trainer::judge_all(const Batches& data, const std::function<bool()>& is_over) {
  judged_->assign(0, site_);
  std::int64_t examples = 0;
  Destination::Feed feed(destination_, data, {}, site_);
  while (!is_over()) {
    const std::optional<SharedBatch> batch = feed.next();
    if (!batch) break;
    (*judge_)(*batch);
    examples += batch->rows;
  }
  return examples;
}

Tensor Trainer::sums_here(const Sums& sums) const {
  Tensor out;
  std::vector<Tensor> others;
  on_each_replica([&](std::size_t replica) {
    if (replica == 0) {
      out = sums.value(site_);
    } else {
      others.push_back(sums.value(site_));
    }
  });
  const DeviceScope first(device_, site_);
  for (const Tensor& each : others) out = add(std::move(out), copy_to(each, device_, site_), site_);
  return out;
}

Tensor Trainer::all_sums(const Sums& sums) const {
  if (is_of_one_process()) return sums_here(sums);
  return strategy_->reduce(strategy_->run([&] { return sums.value(site_); }), Reduction::sum, site_);
}

std::vector<std::string> Trainer::names() const {
  std::vector<std::string> out{"loss"};
  for (const Metric& metric : metrics_) out.push_back(metric.name);
  return out;
}

History Trainer::fit(const Batches& data, const FitOptions& options, Site site) {
  check_compiled("fit", site);
  for (const auto& [name, variable] : variables_) {
    const bool learns = learning_.count(variable.cell().get()) > 0;
    if (can_learn(variable) == learns) continue;
    throw InvalidState(text("fit: \"", name, "\" ", learns ? "no longer learns" : "learns",
                            " since the model was compiled (freeze, set_trainable); call "
                            "compile again, which begins the optimizer anew"),
                       site);
  }
  site_ = site;
  return FitRun(*this, data, options, site).run();
}

NamedValues Trainer::evaluate(const Batches& data, Site site) {
  check_compiled("evaluate", site);
  site_ = site;
  const std::int64_t examples = judge_all(at_hand(data, "evaluate", site), [] { return false; });
  const std::vector<double> sums = read<double>(all_sums(*judged_), site);
  NamedValues out;
  const std::vector<std::string> all = names();
  for (std::size_t i = 0; i < all.size(); ++i) out[all[i]] = sums[i] / static_cast<double>(examples);
  return out;
}

Tensor Trainer::predict(const Tensors& inputs, const PredictOptions& options, Site site) {
  site_ = site;
  if (options.batch < 1) throw InvalidArgument(text("predict: a batch of ", options.batch, " examples"), site);
  for (const Tensor& each : inputs) {
    if (each.rank(site) == 0 || each.shape()[0] == 0 || each.shape()[0] != inputs[0].shape()[0])
      throw ShapeError(text("predict takes one row per example, and at least one; it was given ", shapes_of(inputs)), site);
  }
  if (!predict_) {
    predict_.emplace(
        "predict",
        [this](const Tensors& batch) {
          const DeviceScope there(device_, site_);
          const Evaluation mode;
          return outputs_of(batch);
        },
        site);
  }
  const std::int64_t rows = inputs[0].shape()[0];
  std::vector<Tensor> parts;
  for (std::int64_t begin = 0; begin < rows; begin += options.batch) {
    Tensors batch;
    for (const Tensor& each : inputs) {
      const Tensor part = slice(each, 0, {begin, std::min(begin + options.batch, rows)}, site);
      batch.push_back(part.device() == device_ ? part : copy_to(part, device_, site));
    }
    parts.push_back((*predict_)(batch));
  }
  const DeviceScope there(device_, site);
  return parts.size() == 1 ? parts[0] : concat(parts, 0, site);
}

}  // namespace tutti::detail
