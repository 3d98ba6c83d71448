// Waits of Tutti's own make no call into the driver; a recorder in the same process hears of them all the same.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tutti/trace/trace_report.h"
#include "tutti/tutti.h"

namespace tutti::tracing {
namespace {

#ifndef TUTTI_TEST_RECORDER
#define TUTTI_TEST_RECORDER ""
#define TUTTI_TEST_CUPTI ""
#endif

TEST(DoorWaits, AreRecordedAtTheirLine) {
  if (std::string(TUTTI_TEST_RECORDER).empty()) GTEST_SKIP() << "this build has no recorder";
  for (const char* const library : {TUTTI_TEST_RECORDER, TUTTI_TEST_CUPTI}) {
    if (!std::filesystem::exists(library)) GTEST_SKIP() << library << " is not here: these tests run without their build folder";
  }
  std::string folder = std::filesystem::temp_directory_path() / "tutti-door-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ::setenv(recorder_variable, ("waits:" + folder).c_str(), 1);
  ASSERT_NE(::dlopen(TUTTI_TEST_CUPTI, RTLD_NOW | RTLD_GLOBAL), nullptr) << ::dlerror();
  void* recorder = ::dlopen(TUTTI_TEST_RECORDER, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(recorder, nullptr) << ::dlerror();
  EXPECT_EQ(reinterpret_cast<int (*)()>(::dlsym(recorder, "InitializeInjection"))(), 1);

  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  Tensor x = ones({256, 256});
  for (int i = 0; i < 20; ++i) x = matmul(x, x) * 0.01F;
  (void)item<float>(sum(x));
  const auto line = static_cast<std::uint32_t>(__LINE__ - 1);

  const TraceReport report = make_report(read_traces(folder));
  std::filesystem::remove_all(folder);
  const bool is_found = std::any_of(report.sites.begin(), report.sites.end(), [&](const WaitSite& site) {
    return site.key.place.line == line && site.kind == WaitKind::door && site.key.api == "value read" &&
           site.time + site.warm_up_time > 0;
  });
  EXPECT_TRUE(is_found) << report.to_text();
}

}  // namespace
}  // namespace tutti::tracing
