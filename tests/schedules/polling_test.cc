// A host that only asks, and never waits, sees the stepped scheduler get on with the work.
#include <gtest/gtest.h>

#include "schedules/scenario.h"
#include "tutti/tutti.h"

namespace tutti::schedules {
namespace {

constexpr int patience = 10'000;

template <class Ask>
bool comes_true(Ask&& ask) {
  for (int polls = 0; polls < patience; ++polls) {
    if (ask()) return true;
  }
  return false;
}

std::string poll_everything() {
  Tensor there;
  {
    const DeviceScope on("GPU:1");
    there = ones({100});
    for (int i = 0; i < 20; ++i) there = there + 1;
  }
  const Tensor here = copy_to(there, "GPU:0") * 2;
  if (!comes_true([&] { return here.is_ready(); })) return "is_ready never came true";
  std::optional<std::vector<float>> values;
  if (!comes_true([&] { return (values = try_read<float>(here)).has_value(); })) return "try_read never had a value";
  if (*values != std::vector<float>(100, 42.F)) return "wrong values";
  Stream stream("GPU:0");
  Event event;
  {
    const StreamScope on(stream);
    (void)(here + 1);
    event.record(stream);
  }
  if (!comes_true([&] { return event.is_done(); })) return "is_done never came true";
  const Pending<float> later = read_async<float>(sum(here));
  if (!comes_true([&] { return later.is_ready(); })) return "read_async never became ready";
  (void)(here + 1);
  if (!comes_true([&] { return default_stream("GPU:0").is_idle(); })) return "is_idle never came true";
  return "";
}

TEST(Polling, LetsTheScheduleGoOnAndReplaysWithTheSeed) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Outcome first = run(poll_everything, seed);
    EXPECT_TRUE(first.is_right) << "seed " << seed << ": " << first.complaint;
    EXPECT_EQ(run(poll_everything, seed).schedule, first.schedule) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tutti::schedules
