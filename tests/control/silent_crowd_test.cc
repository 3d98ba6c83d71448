// Strangers that connect and say nothing cost the coordinator no time.
#include <gtest/gtest.h>

#include <poll.h>
#include <time.h>

#include <memory>
#include <vector>

#include "control/open_files.h"
#include "control/raw_connection.h"
#include "control/served.h"

namespace tutti {
namespace {

milliseconds processor_time() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::duration_cast<milliseconds>(std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec));
}

TEST(Strangers, ByTheThousandThatSayNothingUseNoProcessorTime) {
  constexpr int strangers = 1'000;
  constexpr rlim_t needed = strangers * 2 + 200;
  if (!may_open(needed)) GTEST_SKIP() << "needs " << needed << " open files, which this user may not have";
  CoordinatorOptions options;
  options.greeting_limit = milliseconds(60'000);
  const Served served(1, options);
  std::vector<std::unique_ptr<RawConnection>> crowd;
  for (int i = 0; i < strangers; ++i) crowd.push_back(std::make_unique<RawConnection>(served.address()));
  // Nobody else in this process does anything meanwhile. They are let in by the hundred, every quarter of a second.
  constexpr milliseconds watched{1'000};
  const milliseconds before = processor_time();
  poll(nullptr, 0, static_cast<int>(watched.count()));
  const milliseconds used = processor_time() - before;
  EXPECT_LT(used, watched / 2);  // handshakes are begun with each, which takes a sanitizer a while
  EXPECT_NO_THROW(served.join(0)->put("key", "value"));
}

}  // namespace
}  // namespace tutti
