// The last op this process called, for other processes that ask what it is doing. Noted only once someone may ask.
#pragma once

#include <atomic>
#include <string>

#include "tutti/base/site.h"

namespace tutti {

namespace detail {
extern std::atomic<bool> notes_calls;
void note_call(const char* function, Site site) noexcept;
}  // namespace detail

void note_calls_from_now_on() noexcept;
// "matmul at train.cc:31"; empty: none since.
std::string last_call();

}  // namespace tutti
