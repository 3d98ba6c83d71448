// Which op made the first NaN or infinity: an executor that looks at what every call gives, on the device, and tells when asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tutti/exec/dispatch.h"

namespace tutti {

struct NonFinite {
  std::string op;          // the function that was called: "log"
  Site site;               // where; in a gradient, that of the call which is differentiated
  std::size_t output = 0;  // of its outputs; an assignment's is the variable
  std::uint64_t call = 0;  // how many calls came before it since the last report
};
// "output 0 of log at step.cc:12 is the first that is not finite (call 7)"
std::string to_string(const NonFinite& found);

struct FindNonFiniteOptions {
  bool infinities = true;  // false: NaNs alone, for programs that mask with infinities
};

// Of one thread. Costs four small kernels a call and no wait; what it keeps grows with the lines of the program, not with its
// calls. Around value_and_grad it sees the gradients too, and around the call of a captured function, or around fit(), all of its
// ops: they run op by op then. Of while_loop, custom_gradient and checkpoint it sees what they give.
//   FindNonFinite finder;
//   { const FindNonFinite::Watching on(finder); step(); }
//   if (const auto found = finder.report()) std::cerr << to_string(*found) << "\n";
class FindNonFinite final : public Executor {
 public:
  explicit FindNonFinite(const FindNonFiniteOptions& options = {}) noexcept : options_(options) {}

  // While it lives, the calls of this thread are looked at.
  class Watching {
   public:
    explicit Watching(FindNonFinite& finder) noexcept : scope_(finder) {}

   private:
    ExecutorScope scope_;
  };

  // The first since the last report, or nothing. Reads one number of each device, with one sync.
  [[nodiscard]] std::optional<NonFinite> report(Site site = {});

  void run(OpCall& call) override;

 private:
  // What a call is, apart from when: one for each line of the program.
  struct Place {
    const OpRow* op;
    Site site;
    std::size_t output;
  };

  [[nodiscard]] std::uint64_t number_of(const Place& place);
  void look_at(const Tensor& output, std::int64_t mark, Site site);

  FindNonFiniteOptions options_;
  std::uint64_t calls_ = 0;
  std::vector<Place> places_;
  std::unordered_multimap<std::size_t, std::uint64_t> numbers_;  // of places, by hash
  std::map<LogicalDevice*, Tensor> first_;                       // the lowest mark so far, on each device
};

}  // namespace tutti
