// What a process keeps on disk, the algorithms of products and compiled code, gives the next one the same bits from its first
// call.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "cuda/gpu.h"

namespace tutti::testing_cuda {
namespace {

constexpr int no_gpu = 77;
constexpr int calls = 3;  // the first is recorded, the others are replays

int write_results(const std::string& folder, const std::string& to) {
  ::setenv("TUTTI_CACHE_DIR", folder.c_str(), 1);
  if (!find_gpu()) return no_gpu;
  const DeviceScope on("GPU:0");
  const auto step =
      capture([](const Tensor& x, const Tensor& w, const Tensor& bias) { return softmax(gelu(matmul(x, w) + bias) * 0.5); });
  const Tensor x = normal({64, 512}, {.key = 1});
  const Tensor w = normal({512, 96}, {.key = 2});
  const Tensor bias = normal({96}, {.key = 3});
  std::ofstream out(to, std::ios::binary);
  for (int i = 0; i < calls; ++i) {
    const std::vector<float> values = read<float>(step(x, w, bias));
    out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  }
  return out.flush() ? 0 : 1;
}

class SecondProcess : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tutti_second_process_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The driver does not survive a fork, so only children use it. Results call by call; nothing: no GPU.
  std::vector<std::vector<float>> run(const std::string& name) {
    const std::string to = folder_ + "/" + name;
    const pid_t child = ::fork();
    if (child == 0) {
      int status = 1;
      try {
        status = write_results(cache(), to);
      } catch (const std::exception& error) {
        std::cerr << error.what() << std::endl;
      }
      ::_exit(status);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == no_gpu) return {};
    EXPECT_EQ(status, 0);
    std::vector<std::vector<float>> out(calls, std::vector<float>(std::size_t{64} * 96));
    std::ifstream in(to, std::ios::binary);
    for (std::vector<float>& each : out)
      in.read(reinterpret_cast<char*>(each.data()), static_cast<std::streamsize>(each.size() * sizeof(float)));
    EXPECT_TRUE(in.good());
    return out;
  }
  [[nodiscard]] std::string cache() const { return folder_ + "/cache"; }

 private:
  std::string folder_;
};

TEST_F(SecondProcess, HasTheBitsOfTheFirstFromItsFirstCallOnAndSurvivesDamagedFiles) {
  const std::vector<std::vector<float>> first = run("first");
  if (first.empty()) GTEST_SKIP() << "no CUDA GPU here";
  EXPECT_EQ(first[1], first[2]);
  std::size_t kept = 0;
  for (const auto& each : std::filesystem::directory_iterator(cache())) kept += each.file_size() > 0 ? 1 : 0;
  EXPECT_GE(kept, 2U) << "an algorithm, and compiled code";
  for (const std::vector<float>& each : run("second")) EXPECT_EQ(each, first[2]);
  for (const auto& each : std::filesystem::directory_iterator(cache())) {
    std::fstream file(each.path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(each.file_size() / 2));
    file << "damage";
  }
  const std::vector<std::vector<float>> third = run("third");
  for (std::size_t i = 0; i < first[2].size(); ++i) EXPECT_NEAR(third[2][i], first[2][i], 1e-5);
}

}  // namespace
}  // namespace tutti::testing_cuda
