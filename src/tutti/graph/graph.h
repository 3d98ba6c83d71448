// A record made ready to run again: operands are resolved once, and each replay is one submission per stream.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tutti/exec/generator.h"
#include "tutti/graph/fusion.h"
#include "tutti/graph/plan.h"
#include "tutti/graph/tiles.h"
#include "tutti/hal/access_observer.h"
#include "tutti/hal/op_name.h"
#include "tutti/hal/stream_graph.h"

namespace tutti::graph {

// Any thread may replay it; replays of one graph are handed over one after the other. Everything it uses lives as long as it does
// or any replay is under way.
class Graph : public std::enable_shared_from_this<Graph> {
 public:
  Graph(std::unique_ptr<Record> record, Site captured);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  // The results, in memory of their own. Waits for nothing but room on a stream and memory.
  [[nodiscard]] std::vector<Tensor> replay(std::span<const Tensor* const> inputs);

  [[nodiscard]] const Record& record() const noexcept { return *record_; }
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  // Of the kernel that a launch begins; empty: it begins none.
  [[nodiscard]] std::string source_at(std::size_t launch) const;
  // Where devices have graphs of their own: whether a submission of several kernels is none.
  [[nodiscard]] bool is_one_by_one(std::size_t segment) const;
  [[nodiscard]] std::uint64_t replays() const noexcept { return replays_.load(std::memory_order_relaxed); }

 private:
  friend struct ReplayWork;

  // A kernel with its operands.
  struct Prepared {
    KernelCall call;
    Kernel kernel = nullptr;
    std::size_t operand_count = 0;
    std::size_t launch = 0;
    std::string device;
    std::size_t fused = 0;     // the group that begins here, from 1 on; 0: none does
    std::size_t compiled = 0;  // the one it is a part of, likewise, where groups are kernels
  };
  // A group that is one kernel.
  struct Compiled {
    std::unique_ptr<FusedKernel> kernel;
    std::vector<const Operand*> operands;
    std::size_t first;  // of its calls
    bool runs = false;  // what is being issued needs no other launch for it
  };
  // An operand in memory that is another one in every replay.
  struct Patch {
    Operand* operand;
    std::size_t changing;
    std::ptrdiff_t offset;
  };
  struct DrawPatch {
    Attributes* attributes;
    std::size_t draw;
  };
  struct Part {
    std::mutex mutex;  // short: whoever runs it, or looks at how it ended
    std::vector<Prepared> calls;
    std::vector<TiledGroup> groups;
    std::vector<Compiled> compiled;
    std::vector<Patch> patches;
    std::vector<DrawPatch> draws;
    std::unique_ptr<StreamGraph> graph;    // where the device has graphs; null: the kernels one after the other
    std::vector<std::size_t> addresses;    // changing slots: the graph's first values, and then two for each draw
    std::vector<std::uint64_t> made_with;  // those addresses when the graph was made
  };
  struct CellUse {
    std::size_t slot;
    bool is_written;
  };
  // What one replay has of its own.
  struct Flight {
    std::shared_ptr<Graph> graph;
    std::uint64_t number = 0;
    std::vector<Buffer*> memory;  // by changing slot, as all three
    std::vector<std::byte*> bases;
    std::vector<FailureCell*> failures;
    std::vector<Generator::Reserved> draws;
    std::vector<void*> launched;  // by segment: what a device's graph wants to be given when it is done
    std::vector<char> is_graph;   // by segment: it was launched
    std::atomic<std::size_t> segments_left{0};
  };

  void prepare();
  // Where devices have graphs of their own: by launch, whether it cannot be a part of one.
  [[nodiscard]] std::vector<bool> find_alone() const;
  void make_device_graphs();
  // What a replay gives to the graph of a part; false: its kernels would not run on these addresses.
  static bool values_of(const Part& part, const Flight& flight, std::vector<std::uint64_t>& values);
  [[nodiscard]] Buffer& memory_of(std::size_t slot, const Flight& flight) const;
  [[nodiscard]] std::unique_ptr<Flight> take_flight();
  void land(Flight* flight) noexcept;
  [[nodiscard]] bool can_run_in_caller(const Flight& flight) const;
  void run_in_caller(Flight& flight);
  void submit(std::unique_ptr<Flight> flight);
  TimelinePoint submit_segment(std::size_t number, Flight& flight, Points after);
  [[nodiscard]] std::vector<Tensor> results(std::span<const Tensor* const> inputs, const std::vector<Ref<Buffer>>& made) const;
  void tell_of_use(const Segment& segment, const Flight& flight, std::vector<MemoryUse>& uses) const;

  void prepare_groups(Part& part);
  // By call of a part: the earlier ones whose memory it uses, but for those that others wait for already. Empty: one after the
  // other.
  [[nodiscard]] std::vector<std::vector<std::size_t>> order_within(const Part& part) const;
  // Kernels for the groups of a part whose operands have addresses.
  void compile_groups(Part& part, DeviceStream& stream);
  // Whether the call is launched with its group.
  static bool is_launched(Part& part, std::size_t call, DeviceStream& stream);
  // Those of its calls that have no fault and no failed input; `tell` gets the failures that arise, with their calls.
  template <class FaultOf, class Tell>
  static void run_group(const Part& part, std::size_t first, KernelContext& context, const FaultOf& fault_of, const Tell& tell);

  // With the part's mutex held:
  static void patch(Part& part, const Flight& flight) noexcept;
  // Reports all failures but the first, which it returns.
  FailureRef run(std::size_t segment, const Flight& flight, KernelContext& context, DeviceStream& stream, TimelinePoint point,
                 const FailureRef& fault);
  [[nodiscard]] FailureRef with_number(const FailureRef& failure, const Flight& flight) const;

  std::unique_ptr<Record> record_;
  Plan plan_;
  const Site captured_;
  std::vector<Ref<Buffer>> arenas_;
  std::unique_ptr<FailureCell[]> value_failures_;  // by slot
  std::vector<std::vector<Operand>> operands_;     // by launch
  std::vector<Attributes> attributes_;
  std::vector<std::unique_ptr<Part>> parts_;  // by segment
  std::vector<std::size_t> changing_;         // by slot: its number among those that change; nowhere: it does not
  std::vector<std::size_t> result_slots_;     // behind the inputs, in the order of their changing numbers
  std::vector<Ref<Buffer>> variables_;        // by slot: the memory of its cell
  std::vector<CellUse> cells_;                // in the order in which they are held
  std::vector<std::size_t> drawing_;          // launches, in the order of the program
  std::vector<OpName> made_by_;               // by slot: the op that writes it last
  std::exception_ptr objection_;              // of a race detector to the replay being handed over
  bool may_run_in_caller_ = false;
  std::mutex mutex_;  // held while a replay is handed over
  std::mutex spare_mutex_;
  std::vector<std::unique_ptr<Flight>> spare_;
  std::atomic<std::uint64_t> replays_{0};
};

}  // namespace tutti::graph
