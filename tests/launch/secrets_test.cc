// Copies of a job's secret do not outlive their use.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "launch/started_coordinators.h"
#include "tutti/mesh/control/coordinator_child.h"
#include "tutti/mesh/control/job_file.h"
#include "tutti/mesh/wire/secret.h"

namespace launch_tests {
namespace {

// What was there when it was overwritten.
struct Overwritten {
  std::mutex mutex;
  std::vector<std::string> texts;

  std::ptrdiff_t count(std::string_view secret) {
    const std::lock_guard lock(mutex);
    return std::ranges::count_if(texts, [&](const std::string& each) { return each.find(secret) != std::string::npos; });
  }
};
Overwritten overwritten;

}  // namespace
}  // namespace launch_tests

// Instead of OpenSSL's, in this program.
extern "C" void OPENSSL_cleanse(void* at, size_t bytes) {
  const std::lock_guard lock(launch_tests::overwritten.mutex);
  launch_tests::overwritten.texts.emplace_back(static_cast<const char*>(at), bytes);
  for (volatile char* each = static_cast<char*>(at); bytes-- > 0;) *each++ = 0;
}

namespace launch_tests {
namespace {

constexpr const char* secret = "7b1f60c29ad8e354 of this test";

TEST(ASecret, IsOverwrittenWhereverACopyOfItGoes) {
  {
    tutti::wire::Secret first(secret);
    const tutti::wire::Secret second = first;
    first = "another";
    EXPECT_EQ(overwritten.count(secret), 1);
    const tutti::wire::Secret third = std::move(first);
    EXPECT_EQ(third, "another");
  }
  EXPECT_EQ(overwritten.count(secret), 2);
  EXPECT_EQ(overwritten.count("another"), 1);
}

TEST(ASecret, IsOverwrittenInWhatAJobFileWasReadFromAndWrittenWith) {
  const JobFolder jobs;
  tutti::JobFile writer("of secrets");
  ASSERT_TRUE(writer.claim());
  writer.write({"127.0.0.1:4000", secret});
  EXPECT_EQ(overwritten.count(std::string(secret) + "\nend\n"), 1);
  EXPECT_TRUE(tutti::JobFile("of secrets").read());
  EXPECT_EQ(overwritten.count(std::string(secret) + "\nend\n"), 2);
}

TEST(ASecret, IsOverwrittenInTheVariablesThatACoordinatorWasStartedWith) {
  const JobFolder jobs;
  tutti::CoordinatorChild child;
  child.job = "of secrets";
  child.secret = secret;
  child.job_file = (jobs.path() / "note").string();
  start_coordinator(child, tutti::deadline_after(std::chrono::seconds(60)));
  EXPECT_EQ(overwritten.count(std::string("TUTTI_JOB_SECRET=") + secret), 1);
}

}  // namespace
}  // namespace launch_tests
