// What a call that must be refused throws: the type, the caller's line, a part of the message.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tutti::testing_ops {

template <class E, class Call>
void expect_refused(Call&& call, const char* file, std::uint32_t line, const char* part) {
  try {
    call();
    ADD_FAILURE_AT(file, static_cast<int>(line)) << "was accepted";
  } catch (const E& e) {
    EXPECT_EQ(e.site().line(), line) << e.what();
    EXPECT_STREQ(e.site().file(), file) << e.what();
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

}  // namespace tutti::testing_ops

// One line, so that the call's site is known.
#define EXPECT_REFUSED_HERE(Type, part, ...) \
  tutti::testing_ops::expect_refused<Type>([&] { (void)(__VA_ARGS__); }, __FILE__, __LINE__, part)
