// What compile, fit, evaluate and predict do, for any model: all of Model that does not depend on the network's type.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tutti/place/scope.h"
#include "tutti/train/batches.h"
#include "tutti/train/callbacks.h"
#include "tutti/train/compile.h"
#include "tutti/train/feed.h"
#include "tutti/train/progress.h"
#include "tutti/train/replayed.h"

namespace tutti {

struct FitOptions {
  std::int64_t epochs = 1;
  std::int64_t first_epoch = 0;  // what the data set's order and the numbers in messages begin with
  Batches validation = {};       // a data set, judged after every epoch
  Callbacks callbacks = {};
  Verbosity verbose = Verbosity::automatic;
  std::ostream* out = nullptr;  // null: std::cout
  std::string resume = {};      // goes on from this checkpoint, with the same bits as if it had never stopped
  // Else fit says once that the loss is not finite, and goes on. Over processes it ends with the epoch, in all of them.
  bool stop_at_nan = false;
  // Ctrl-C ends the training, not the program; a second one does. Over processes one that hears it stops all of them after the
  // same step, also those that do not listen themselves.
  bool stop_at_interrupt = true;
};

struct PredictOptions {
  std::int64_t batch = 256;  // so many examples at a time
};

namespace detail {

class Trainer {
 public:
  using Tensors = Batches::Tensors;
  using Call = std::function<Tensor(std::span<const Tensor> inputs)>;
  using NamedVariables = std::vector<std::pair<std::string, Variable>>;

  // Without a strategy the variables have one cell each, all on one device.
  Trainer(Call call, NamedVariables variables, std::optional<MirroredStrategy> strategy, Site site);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  ~Trainer() = default;

  void compile(const CompileOptions& options, Site site);
  History fit(const Batches& data, const FitOptions& options, Site site);
  NamedValues evaluate(const Batches& data, Site site);
  Tensor predict(const Tensors& inputs, const PredictOptions& options, Site site);

 private:
  friend class FitRun;

  // Sums over examples, on each replica's device: of the loss and of each metric.
  using Sums = Variable;

  void check_compiled(const char* asked, Site site) const;
  [[nodiscard]] Batches at_hand(const Batches& data, const char* asked, Site site) const;
  [[nodiscard]] std::size_t replicas() const noexcept { return strategy_ ? strategy_->replicas() : 1; }
  [[nodiscard]] std::size_t replicas_in_sync() const noexcept { return strategy_ ? strategy_->replicas_in_sync() : 1; }
  // Of a replica of this process among all.
  [[nodiscard]] std::size_t position(std::size_t replica) const {
    return strategy_ ? strategy_->mesh().local_positions()[replica] : 0;
  }
  [[nodiscard]] bool is_of_one_process() const noexcept { return replicas() == replicas_in_sync(); }
  // Calls function(replica) for each replica of this process, on its device.
  template <class F>
  void on_each_replica(F&& function) const {
    if (!strategy_) {
      const DeviceScope there(device_, site_);
      return function(std::size_t{0});
    }
    std::size_t next = 0;
    strategy_->run([&] { function(next++); });
  }

  [[nodiscard]] Tensor outputs_of(std::span<const Tensor> inputs) const;
  [[nodiscard]] Tensor loss_of(const Tensor& outputs, const Tensor& targets) const;
  // What a batch adds to the sums.
  [[nodiscard]] Tensor summands(const Tensor& loss, const Tensor& outputs, const Tensor& targets, std::int64_t rows) const;

  // A step: forward and backward for each replica, which gives its gradients and last what it adds to the sums; the exchange of
  // gradients; the update. In one process all of it is captured as one; else all but the exchange.
  void learn(const SharedBatch& batch);
  [[nodiscard]] std::vector<Tensors> slopes(const SharedBatch& batch) const;
  [[nodiscard]] Tensors slopes_of(const Tensors& part, std::int64_t rows) const;
  [[nodiscard]] std::vector<Tensors> exchanged(std::vector<Tensors> slopes) const;
  void update(const std::vector<Tensors>& slopes) const;
  void judge(const SharedBatch& batch) const;
  // Over a whole data set; gives its examples. `is_over` ends it early.
  std::int64_t judge_all(const Batches& data, const std::function<bool()>& is_over);

  // Of the replicas of this process, and of all; on the first device.
  [[nodiscard]] Tensor sums_here(const Sums& sums) const;
  [[nodiscard]] Tensor all_sums(const Sums& sums) const;
  // "loss" and the metrics.
  [[nodiscard]] std::vector<std::string> names() const;

  Call call_;
  NamedVariables variables_;
  std::optional<MirroredStrategy> strategy_;
  std::string device_;  // the first
  Destination destination_;
  Site site_;  // of the last call of the user's
  Loss loss_;
  std::set<const VariableCell*> learning_;  // when it was compiled
  std::vector<Metric> metrics_;
  std::shared_ptr<Optimizer> optimizer_;
  std::optional<Sums> learnt_;
  std::optional<Sums> judged_;
  std::optional<Replayed<void, SharedBatch>> learn_;
  std::optional<Replayed<std::vector<Tensors>, SharedBatch>> slopes_;
  std::optional<Replayed<void, std::vector<Tensors>>> update_;
  std::optional<Replayed<void, SharedBatch>> judge_;
  std::optional<Replayed<Tensor, Tensors>> predict_;
};

}  // namespace detail

}  // namespace tutti
