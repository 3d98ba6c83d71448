// For tests written with GoogleTest: EXPECT_THAT(step, tutti::makes_no_demand_sync()). Needs no header of GoogleTest itself.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>

namespace tutti {

// Matches a function of no arguments, which it calls once: does the calling thread make this many demand syncs in it?
class DemandSyncMatcher {
 public:
  using is_gtest_matcher = void;  // how GoogleTest knows it

  explicit DemandSyncMatcher(std::uint64_t syncs) noexcept : syncs_(syncs) {}

  // Explains with reason, op and site of each sync that was made.
  bool MatchAndExplain(const std::function<void()>& function, std::ostream* out) const;
  void DescribeTo(std::ostream* out) const;
  void DescribeNegationTo(std::ostream* out) const;

 private:
  std::uint64_t syncs_;
};

inline DemandSyncMatcher makes_no_demand_sync() noexcept { return DemandSyncMatcher(0); }
inline DemandSyncMatcher makes_demand_syncs(std::uint64_t syncs) noexcept { return DemandSyncMatcher(syncs); }

}  // namespace tutti
