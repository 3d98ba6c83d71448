// A function that is captured where it can be: where it cannot, that is said once, and it runs op by op.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/graph/capture.h"

namespace tutti::detail {

// `name`: what the log calls it. A function that gives something runs twice in the call in which it is refused.
template <class Result, class... Given>
class Replayed {
 public:
  using Function = std::function<Result(const Given&... given)>;

  Replayed(const char* name, Function function, Site site)
      : name_(name), function_(std::move(function)), captured_(capture(function_, {}, site)) {}

  Result operator()(const Given&... given) {
    if (is_refused_) return function_(given...);
    try {
      return captured_(given...);
    } catch (const CaptureRefused& refused) {  // after it has run
      is_refused_ = true;
      log(LogLevel::warning, text(name_, " runs op by op, since it cannot be captured: ", refused.message()));
      if constexpr (!std::is_void_v<Result>) return function_(given...);
    }
  }

 private:
  const char* name_;
  Function function_;
  Captured<Function> captured_;
  bool is_refused_ = false;
};

}  // namespace tutti::detail
