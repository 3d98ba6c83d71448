// A tape: an executor that keeps what gradients need of the calls made while it records, and works them out afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/inline_vector.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/gradient.h"
#include "tutti/ops/flatten.h"
#include "tutti/ops/variable.h"

namespace tutti {

// What is differentiated has no rule for it, or no number to begin with.
struct NoGradient : Error {
  using Error::Error;
};

// Of one thread. What depends on a watched tensor or variable is kept until the tape ends, as far as rules read it:
//   Tape tape;
//   tape.watch(w);
//   Tensor loss;
//   { const Tape::Recording on(tape); loss = mean(square(matmul(x, w) - y)); }
//   const Tensor slope = tape.gradient(loss, w);
class Tape final : public Executor {
 public:
  Tape() = default;

  // While it lives, the calls of this thread are recorded.
  class Recording {
   public:
    explicit Recording(Tape& tape) noexcept : scope_(tape) {}

   private:
    ExecutorScope scope_;
  };

  // While it lives, calls of this thread that reach a tape pass it by; which of its tensors they take is noted, each once.
  class Unseen {
   public:
    explicit Unseen(std::vector<Tensor>& taken) noexcept : before_(std::exchange(taken_by_unseen, &taken)) {}
    ~Unseen() { taken_by_unseen = before_; }
    Unseen(const Unseen&) = delete;
    Unseen& operator=(const Unseen&) = delete;

   private:
    std::vector<Tensor>* const before_;
  };

  // Gradients of every tensor and variable in these, with floating dtypes, can be asked for. Before they are used.
  template <class... T>
  void watch(const T&... values) {
    (each_leaf(values, [this](const auto& leaf) { this->watch_leaf(leaf); }), ...);
  }
  void watch_leaf(const Tensor& x);
  void watch_leaf(const Variable& x);

  // How much `of`, or the sum of its elements weighted with `weights`, changes with each element: of the shape, dtype and device
  // of what was watched; zeros where it does not depend on it. Runs ops on the calling thread's streams and waits for nothing.
  // May be asked again, and under an outer tape.
  [[nodiscard]] Tensor gradient(const Tensor& of, const Tensor& with_respect_to, const Tensor& weights = {}, Site site = {});
  [[nodiscard]] Tensor gradient(const Tensor& of, const Variable& with_respect_to, const Tensor& weights = {}, Site site = {});

  // As above for many at once. `is_last`: what was kept is let go of on the way, and nothing can be asked afterwards.
  struct Wanted {
    const Tensor* tensor = nullptr;
    const Variable* variable = nullptr;
  };
  [[nodiscard]] std::vector<Tensor> gradients(const Tensor& of, std::span<const Wanted> with_respect_to,
                                              const Tensor& weights = {}, bool is_last = false, Site site = {}) {
    return gradients({&of, 1}, with_respect_to, {&weights, 1}, is_last, site);
  }
  // Of the sum of several, each with its weights.
  [[nodiscard]] std::vector<Tensor> gradients(std::span<const Tensor> of, std::span<const Wanted> with_respect_to,
                                              std::span<const Tensor> weights, bool is_last = false, Site site = {});

  void run(OpCall& call) override;

 private:
  using Slot = std::uint32_t;
  static constexpr Slot none = ~Slot{0};

  // A recorded call: what its rule reads, and where its inputs and outputs stand on the tape.
  struct Node {
    const OpRow* op;
    Site site;
    Attributes attributes;
    std::shared_ptr<const CallData> data;
    std::vector<GradientInput> inputs;
    LogicalDevice* on = nullptr;              // where it ran, and its rule will
    InlineVector<LogicalDevice*, 3> devices;  // of the inputs
    std::vector<Tensor> outputs;
    InlineVector<Slot, 3> from;
    InlineVector<Slot, 1> to;
  };
  struct Watched {
    std::shared_ptr<VariableCell> cell;
    Slot first;    // its value when it was watched
    Slot current;  // its value now
  };

  static thread_local std::vector<Tensor>* taken_by_unseen;  // null: calls are seen

  [[nodiscard]] Slot slot_of(const TensorImpl* x) const;
  void note_taken(const OpCall& call) const;
  void watch_cell(const std::shared_ptr<VariableCell>& cell);
  Slot new_slot() { return slots_++; }
  void read_variable(OpCall& call);
  void update_variable(OpCall& call);
  void record(OpCall& call);
  template <class Scope>
  void step_back(Node& node, std::vector<Tensor>& gradients, Scope& on, Site site);

  std::unordered_map<std::uint64_t, Slot> known_;    // by the tensor's identity
  std::unordered_map<std::uint64_t, Slot> watched_;  // the same, of those that were watched
  std::unordered_map<const VariableCell*, Watched> variables_;
  std::vector<Node> nodes_;
  Slot slots_ = 0;
};

}  // namespace tutti
