// What a misuse must come to: an Error of the right kind that names the line of the call, nothing leaked, all still usable.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tutti/tutti.h"

namespace tutti {

// Live bytes of every device, after everything in flight is done. What failed in flight has been reported by its reader.
inline std::uint64_t bytes_in_use() {
  try {
    sync_devices();
  } catch (const AsyncError&) {
    clear_errors();
  }
  std::uint64_t out = 0;
  for (const LogicalDeviceInfo& device : list_logical_devices()) out += memory_info(device.name).in_use;
  return out;
}

inline void expect_usable() { EXPECT_EQ(item<float>(sum(ones({3}) + 1)), 6.F); }

template <class E, class Call>
void expect_refused_at(const char* file, int line, const char* part, Call&& call) {
  SCOPED_TRACE(std::string(file) + ":" + std::to_string(line));
  const std::uint64_t before = bytes_in_use();
  try {
    call();
    ADD_FAILURE() << "was accepted";
  } catch (const E& e) {
    EXPECT_EQ(e.site().line(), static_cast<std::uint32_t>(line)) << e.what();
    EXPECT_STREQ(e.site().file(), file) << e.what();
    EXPECT_NE(std::string(e.what()).find(std::string(file) + ":" + std::to_string(line)), std::string::npos) << e.what();
    EXPECT_NE(e.message().find(part), std::string::npos) << e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another error: " << e.what();
  }
  EXPECT_EQ(bytes_in_use(), before);
  expect_usable();
}

}  // namespace tutti

// The expression must stand on one line.
#define EXPECT_REFUSED(Kind, part, ...) \
  ::tutti::expect_refused_at<Kind>(__FILE__, __LINE__, part, [&] { static_cast<void>(__VA_ARGS__); })
