// One model on several devices: every device has the variables and works on its part of the batch, gradients are added up between
// them, and every device makes the same update.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/mesh.h"
#include "tutti/ops/flatten.h"
#include "tutti/ops/replica.h"
#include "tutti/place/scope.h"
#include "tutti/train/per_replica.h"

namespace tutti {

struct MirroredOptions {
  // Gradients are reduced together up to this size. More starts later and costs less.
  std::size_t bucket_bytes = std::size_t{4} << 20U;
};

// A replica is a device with a cell of every variable. One thread submits the work of all of them, and none of it waits; GPUs
// work at the same time, and so do CPU devices. Copies are the same strategy, and strategies over the same devices, in the same
// order, have the same variables.
//   const MirroredStrategy strategy;
//   const Net net = [&] { const MirroredStrategy::Scope in(strategy); return Net(); }();
//   const auto losses = strategy.run([&](const Tensor& x) { return loss_of(net(x)); }, strategy.split(batch));
class MirroredStrategy {
 public:
  // Over every GPU of this process; where there is none, over the CPU devices.
  explicit MirroredStrategy(Site site = {});
  // Devices of this process.
  explicit MirroredStrategy(const std::vector<std::string>& devices, const MirroredOptions& options = {}, Site site = {});
  // A mesh of one dimension, which may be over many processes: each makes the same calls in the same order.
  explicit MirroredStrategy(const Mesh& mesh, const MirroredOptions& options = {}, Site site = {});
  MirroredStrategy(const MirroredStrategy&) = default;  // declared, so that there is no move that would leave one of no use
  MirroredStrategy& operator=(const MirroredStrategy&) = default;

  // Of this process.
  [[nodiscard]] std::size_t replicas() const noexcept;
  // Of all processes.
  [[nodiscard]] std::size_t replicas_in_sync() const noexcept;
  // Of this process, by their full names.
  [[nodiscard]] const std::vector<std::string>& devices() const noexcept;
  [[nodiscard]] const Mesh& mesh() const noexcept;

  // Variables that its thread makes while it lives, outside run(), are mirrored: their first value is made once and copied to
  // every device, of the first process to those of the others. May stand within one of the same strategy.
  class Scope {
   public:
    explicit Scope(const MirroredStrategy& strategy, Site site = {});
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    struct Open;
    std::unique_ptr<const Open> open_;
  };

  // Calls fn once for each replica, with ops on its device and variables meaning its own cells; of a PerReplica argument it gets
  // its part, and any other as it is. What the calls gave, if they give anything. Variables that are not mirrored can be read and
  // not assigned, but for those that fn makes itself. Random draws differ from replica to replica.
  template <class F, class... Args>
  auto run(F&& fn, const Args&... args) const {
    using Result = std::remove_cvref_t<decltype(fn(detail::part_for(0, args)...))>;
    (check_argument(args), ...);
    const Running all(*this);
    if constexpr (std::is_void_v<Result>) {
      for (std::size_t i = 0; i < replicas(); ++i) {
        const RunningAs replica(*this, i);
        fn(detail::part_for(i, args)...);
      }
    } else {
      std::vector<Result> out;
      out.reserve(replicas());
      for (std::size_t i = 0; i < replicas(); ++i) {
        const RunningAs replica(*this, i);
        out.push_back(fn(detail::part_for(i, args)...));
      }
      return PerReplica<Result>(std::move(out));
    }
  }

  // The rows of every tensor in a batch shared out over all replicas, each part on its device. n rows over R replicas: the first
  // n % R get one more than the others, which may leave some with none. Over processes each gives the whole batch and gets the
  // parts of its own replicas.
  template <class Batch>
  [[nodiscard]] PerReplica<Batch> split(const Batch& batch, Site site = {}) const {
    std::optional<std::int64_t> rows;
    each_leaf(batch, [&](const auto& leaf) {
      if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Tensor>) count_rows(leaf, rows, site);
    });
    std::vector<Batch> out(replicas(), batch);
    for (std::size_t i = 0; i < out.size(); ++i) {
      each_leaf(out[i], [&](auto& leaf) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Tensor>) leaf = rows_of(leaf, i, site);
      });
    }
    return PerReplica<Batch>(std::move(out));
  }

  // All replicas' tensors, which have one shape and dtype, as one on the first device.
  [[nodiscard]] Tensor reduce(const PerReplica<Tensor>& values, Reduction reduction, Site site = {}) const;

  // Every replica brings a list of tensors, of the same shapes and dtypes, and gets the list with each reduced over all replicas,
  // with the same bits everywhere. The tensors go in buckets, the last first, on streams beside those they were made on: a bucket
  // is under way as soon as its tensors are there, while the rest of a backward pass goes on. Over processes all floating tensors
  // go together, after one roll call.
  [[nodiscard]] PerReplica<std::vector<Tensor>> all_reduce(const PerReplica<std::vector<Tensor>>& lists, Reduction reduction,
                                                           Site site = {}) const;

 private:
  struct State;

  // The thread runs the function for all replicas, and for one of them.
  class Running {
   public:
    explicit Running(const MirroredStrategy& strategy);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    bool was_synchronous_;
  };
  class RunningAs {
   public:
    RunningAs(const MirroredStrategy& strategy, std::size_t index);
    ~RunningAs();
    RunningAs(const RunningAs&) = delete;
    RunningAs& operator=(const RunningAs&) = delete;

   private:
    detail::Replica replica_;
    DeviceScope on_;
  };

  template <class T>
  void check_argument(const T& argument) const {
    if constexpr (detail::IsPerReplica<T>::value) check_size("run", argument.size(), site());
  }
  [[nodiscard]] Site site() const noexcept;
  void check_size(const char* function, std::size_t given, Site site) const;
  static void count_rows(const Tensor& x, std::optional<std::int64_t>& rows, Site site);
  [[nodiscard]] Tensor rows_of(const Tensor& x, std::size_t replica, Site site) const;

  std::shared_ptr<const State> state_;
};

}  // namespace tutti
