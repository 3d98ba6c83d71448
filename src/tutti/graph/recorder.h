// Records what a function does while it runs as it would without a record.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/exec/dispatch.h"
#include "tutti/graph/record.h"
#include "tutti/hal/sync_mode.h"

namespace tutti {

// The function cannot be captured: its message tells all that stands in the way, each with the op, the line and the rule.
struct CaptureRefused : InvalidState {
  using InvalidState::InvalidState;
};

namespace graph {

class Recorder final : public Executor, public LaunchListener {
 public:
  explicit Recorder(bool keeps_calls) : keeps_calls_(keeps_calls), first_cell_(VariableCell::next_number()) {}

  // What a replay gets other values for. `is_own`: the tensor was made for the function, and nobody holds it when that is done.
  void add_input(const Tensor& x, bool is_own);

  void run(OpCall& call) override;
  void launched(const Launched& launch) override;
  void launched_elsewhere(const KernelCall& call, std::span<const Use> uses) override;
  void refuse(const char* op, Site site, const std::string& rule) override;
  void heard_sync(const SyncRequest& request);

  // When the function has returned these, and its arguments are gone. Throws CaptureRefused. Null: it made a variable that lives
  // on, as a first call may; the next call makes the record.
  std::unique_ptr<Record> finish(std::span<const Tensor> results, Site captured);
  // Where it was made.
  [[nodiscard]] Site lasting_variable() const noexcept { return lasting_variable_; }

 private:
  struct Made {
    Tensor tensor;  // held, so that no two tensors have one address
    const OpRow* op;
    Site site;
  };
  struct Offender {
    std::string op;
    Site site;
    std::string rule;
  };
  // What another thread wrote while the function ran.
  struct Stranger {
    const char* op;
    Site site;
    Site allocated;  // else the memory is somebody else's by now
  };
  // The call that is passed on: the slots of its inputs.
  struct Current {
    const OpCall* call = nullptr;
    std::vector<std::pair<const Buffer*, std::size_t>> inputs;
  };

  std::size_t add_slot(Slot slot, const Buffer& memory);
  std::size_t slot_of(const TensorImpl& tensor);
  std::size_t slot_of(const Use& use, std::size_t input, bool is_own_op);
  std::size_t bind(const std::shared_ptr<VariableCell>& cell, Site site);
  void note_outputs(OpCall& call);
  void note_call(const OpCall& call);
  // In the order in which calls name them, which is the same in every run; slots also tell what the runtime does on the way.
  std::size_t name_of(const TensorImpl& tensor);
  std::string name_of(const VariableCell& cell);
  void order(OpCall& call);
  // Which draw of this op these are the numbers of, as in a gradient of dropout; nowhere: none.
  [[nodiscard]] std::size_t drawn_before(const OpRow& op, const Attributes& attributes) const;
  void hold_stream(DeviceStream& stream);
  void add_offender(std::vector<Offender>& to, const char* op, Site site, const std::string& rule) const;
  void look_for_kept(std::span<const Tensor> results, Site captured);
  [[nodiscard]] std::ptrdiff_t start_of(std::size_t slot) const { return starts_[slot]; }

  const bool keeps_calls_;
  const std::uint64_t first_cell_;  // those with higher numbers were made by the function
  std::unique_ptr<Record> record_ = std::make_unique<Record>();
  std::vector<std::ptrdiff_t> starts_;  // of inputs: where the tensor begins in its memory
  std::unordered_map<const TensorImpl*, std::size_t> by_tensor_;
  std::unordered_map<const Buffer*, std::size_t> by_memory_;
  std::unordered_map<const TensorImpl*, std::size_t> names_;
  std::vector<Tensor> named_;             // what is held for its name alone
  std::vector<std::uint64_t> new_cells_;  // their numbers
  std::vector<Tensor> inputs_;
  std::vector<bool> is_own_;                // by input
  std::vector<std::size_t> shared_inputs_;  // of these, whose tensor is another input too
  std::vector<Made> made_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> events_;  // by the points they got
  struct Drawn {
    const OpRow* op;
    Generator::Reserved numbers;
  };
  std::vector<Drawn> drawn_;
  std::vector<Offender> offenders_;
  Site lasting_variable_;
  Current current_;
  const std::thread::id thread_ = std::this_thread::get_id();
  // Held by the thread of the function where it changes by_memory_ and slots, and by others that look at them.
  std::mutex mutex_;
  std::unordered_map<const Buffer*, Stranger> strangers_;
  std::vector<Offender> offenders_elsewhere_;
};

// While it lives, the thread's calls and launches are recorded.
class Recording {
 public:
  Recording(Recorder& recorder, Site site);
  ~Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  ExecutorScope calls_;
  detail::OpenSyncScope syncs_;
  Heard launches_;
};

}  // namespace graph

}  // namespace tutti
