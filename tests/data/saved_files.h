// Files in a folder of the test's own, and safetensors files written by hand.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::testing_data {

class SavedFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name = "weights.safetensors") const { return (folder_ / name).string(); }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator{});
  }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / ("tutti_train_" + std::to_string(::getpid()));
};

inline std::string content_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}
inline void put(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string file_of(const std::string& json, const std::string& data, std::uint64_t length) {
  std::string out;
  for (unsigned i = 0; i < 8; ++i) out += static_cast<char>(length >> (8 * i) & 0xFFU);
  return out + json + data;
}
inline std::string file_of(const std::string& json, const std::string& data) { return file_of(json, data, json.size()); }

// The elements as they lie in memory.
inline std::string bytes_of(const Tensor& x) {
  const Tensor host = detail::to_host(x, SyncReason::value_read, Intent::unstated, {});
  return {reinterpret_cast<const char*>(host.impl().address()), static_cast<std::size_t>(host.size()) * size_of(host.dtype())};
}

inline void expect_same(const Tensor& found, const Tensor& wanted) {
  EXPECT_EQ(found.dtype(), wanted.dtype());
  EXPECT_EQ(found.shape(), wanted.shape());
  EXPECT_EQ(bytes_of(found), bytes_of(wanted));
}

inline constexpr DType every_dtype[] = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                                        DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};

}  // namespace tutti::testing_data
