// A job's secret in memory: overwritten wherever a copy of it goes.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tutti/mesh/wire/key.h"

namespace tutti::wire {

class Secret {
 public:
  Secret() = default;
  Secret(std::string text) noexcept : text_(std::move(text)) {}
  Secret(const char* text) : text_(text) {}
  Secret(const Secret&) = default;
  Secret(Secret&&) noexcept = default;
  Secret& operator=(Secret other) noexcept {
    text_.swap(other.text_);
    return *this;
  }
  ~Secret() {
    text_.resize(text_.capacity());  // a short one lies there though it was moved
    wipe(text_.data(), text_.size());
  }

  friend bool operator==(const Secret& secret, std::string_view text) noexcept { return secret.text_ == text; }

  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  operator std::string_view() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace tutti::wire
