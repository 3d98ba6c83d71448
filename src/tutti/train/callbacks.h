// What a training tells while it runs, and who listens: functions of yours, early stopping, checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tutti/ops/variable.h"
#include "tutti/train/history.h"

namespace tutti {

// A training under way, for callbacks.
class Training {
 public:
  Training() = default;
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
  virtual ~Training() = default;

  [[nodiscard]] virtual std::int64_t epoch() const = 0;  // from 0
  [[nodiscard]] virtual std::int64_t step() const = 0;   // how many were submitted, of all epochs
  // Means over this epoch so far, as they were when they last reached the host: a step ago or more; empty until some have. Over
  // processes, of the examples of this one. At the end of an epoch, for callbacks that read epochs, of the whole epoch and of all
  // processes, with those of the validation data. Nothing waits for them.
  [[nodiscard]] virtual const NamedValues& values() const = 0;
  [[nodiscard]] virtual const History& history() const = 0;
  // All variables of the model.
  [[nodiscard]] virtual const std::vector<std::pair<std::string, Variable>>& variables() const = 0;
  // No further step. Over processes all must call it after the same step.
  virtual void stop(std::string why) = 0;
  // All that FitOptions::resume needs. Waits once for the values. Over processes all must call it, and the first writes.
  virtual void save(const std::string& path) = 0;
};

class Callback {
 public:
  Callback() = default;
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  virtual ~Callback() = default;

  virtual void on_begin(Training&) {}
  virtual void on_step_end(Training&) {}
  virtual void on_epoch_end(Training&) {}
  // When on_epoch_end of all callbacks was: for what keeps their state.
  virtual void after_epoch(Training&) {}
  virtual void on_end(Training&) {}
  // Whether on_epoch_end wants the values of the epoch: fit then waits for them, once an epoch.
  [[nodiscard]] virtual bool reads_epochs() const { return true; }
  // What checkpoints keep for it beside the history: tensors, by name. Undefined ones are left out.
  virtual void each_state(const std::function<void(const std::string& name, Tensor& state)>&) {}
};
using Callbacks = std::vector<std::shared_ptr<Callback>>;

std::shared_ptr<Callback> on_epoch_end(std::function<void(Training&)> function);
std::shared_ptr<Callback> on_step_end(std::function<void(Training&)> function);

struct EarlyStoppingOptions {
  std::string monitor = {};   // empty: "val_loss" where there are validation data, else "loss"
  std::int64_t patience = 0;  // so many epochs in a row may be no better than the best
  double least_change = 0;    // what is better by less than this is no better
  bool larger_is_better = false;
  bool restore_best = false;  // the model ends with the values of the best epoch, unless it was interrupted
};
std::shared_ptr<Callback> early_stopping(const EarlyStoppingOptions& options = {});

struct CheckpointOptions {
  std::int64_t every_epochs = 1;  // 0: not at the ends of epochs
  std::int64_t every_steps = 0;   // 0: not within epochs
};
// The file is there as a whole or as it was before. Also written when Ctrl-C ends the training.
std::shared_ptr<Callback> checkpoints(std::string path, const CheckpointOptions& options = {});

}  // namespace tutti
