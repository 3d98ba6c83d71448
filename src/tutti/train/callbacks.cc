#include "tutti/train/callbacks.h"

#include <cmath>

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti {

namespace {

class AtEpochs final : public Callback {
 public:
  explicit AtEpochs(std::function<void(Training&)> function) : function_(std::move(function)) {}
  void on_epoch_end(Training& training) override { function_(training); }

 private:
  std::function<void(Training&)> function_;
};

class AtSteps final : public Callback {
 public:
  explicit AtSteps(std::function<void(Training&)> function) : function_(std::move(function)) {}
  void on_step_end(Training& training) override { function_(training); }
  [[nodiscard]] bool reads_epochs() const override { return false; }

 private:
  std::function<void(Training&)> function_;
};

class EarlyStopping final : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options) : options_(std::move(options)) {}

  void on_begin(Training& training) override {
    monitor_ = options_.monitor;
    best_.reset();
    worse_ = 0;
    kept_.assign(options_.restore_best ? training.variables().size() : 0, Tensor());
    names_.clear();
    for (const auto& [name, variable] : training.variables()) names_.push_back(name);
    if (training.history().epochs() == 0) return;
    choose(training.history().values.contains("val_loss"));
    for (const double value : training.history().at(monitor_)) take(value);
    stop_if_no_better(training);
  }

  void on_epoch_end(Training& training) override {
    choose(training.values().contains("val_loss"));
    const auto found = training.values().find(monitor_);
    if (found == training.values().end()) static_cast<void>(training.history().at(monitor_));  // says what there is
    if (take(found->second)) {
      for (std::size_t i = 0; i < kept_.size(); ++i) kept_[i] = training.variables()[i].second.value();
    } else {
      stop_if_no_better(training);
    }
  }

  void on_end(Training& training) override {
    if (training.history().was_interrupted) return;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i].is_defined()) training.variables()[i].second.assign(kept_[i]);
    }
  }

  void each_state(const std::function<void(const std::string& name, Tensor& state)>& visit) override {
    for (std::size_t i = 0; i < kept_.size(); ++i) visit("best." + names_[i], kept_[i]);
  }

 private:
  void choose(bool is_validated) {
    if (monitor_.empty()) monitor_ = is_validated ? "val_loss" : "loss";
  }
  void stop_if_no_better(Training& training) const {
    if (worse_ <= options_.patience) return;
    training.stop(text(monitor_, " was no better than ", best_ ? text(*best_) : "nothing", " for ", worse_,
                       worse_ == 1 ? " epoch" : " epochs"));
  }
  // Whether it is the best so far.
  bool take(double value) {
    const double change = !best_ ? 0 : options_.larger_is_better ? value - *best_ : *best_ - value;
    const bool is_better = !std::isnan(value) && (!best_ || (change > 0 && change >= options_.least_change));
    worse_ = is_better ? 0 : worse_ + 1;
    if (is_better) best_ = value;
    return is_better;
  }

  EarlyStoppingOptions options_;
  std::string monitor_;
  std::optional<double> best_;
  std::int64_t worse_ = 0;  // epochs since the best
  std::vector<std::string> names_;
  std::vector<Tensor> kept_;
};

class Checkpoints final : public Callback {
 public:
  Checkpoints(std::string path, const CheckpointOptions& options) : path_(std::move(path)), options_(options) {}

  void on_step_end(Training& training) override {
    if (options_.every_steps > 0 && training.step() % options_.every_steps == 0) training.save(path_);
  }
  void after_epoch(Training& training) override {
    if (options_.every_epochs > 0 && (training.epoch() + 1) % options_.every_epochs == 0) training.save(path_);
  }
  void on_end(Training& training) override {
    if (training.history().was_interrupted) training.save(path_);
  }
  [[nodiscard]] bool reads_epochs() const override { return options_.every_epochs > 0; }

 private:
  std::string path_;
  CheckpointOptions options_;
};

}  // namespace

std::shared_ptr<Callback> on_epoch_end(std::function<void(Training&)> function) {
  return std::make_shared<AtEpochs>(std::move(function));
}

std::shared_ptr<Callback> on_step_end(std::function<void(Training&)> function) {
  return std::make_shared<AtSteps>(std::move(function));
}

std::shared_ptr<Callback> early_stopping(const EarlyStoppingOptions& options) {
  if (options.patience < 0) throw InvalidArgument(text("early_stopping: a patience of ", options.patience, " epochs"), Site());
  return std::make_shared<EarlyStopping>(options);
}

std::shared_ptr<Callback> checkpoints(std::string path, const CheckpointOptions& options) {
  if (options.every_epochs < 0 || options.every_steps < 0)
    throw InvalidArgument("checkpoints: every so many epochs or steps, which cannot be below 0", Site());
  return std::make_shared<Checkpoints>(std::move(path), options);
}

}  // namespace tutti
