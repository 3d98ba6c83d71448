// JSON, written field by field. Inside the module only.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/base/text.h"
#include "tutti/journal/json_text.h"

namespace tutti::tracing {

// "0x7f30"
inline std::string handle_text(std::uint64_t value) {
  std::array<char, 16> digits{};
  return "0x" + std::string(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr);
}

// An object while it lives.
class Fields {
 public:
  explicit Fields(std::string& out) : out_(out) { out_ += '{'; }
  ~Fields() { out_ += '}'; }
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  std::string& key(std::string_view name) {
    if (!is_first_) out_ += ',';
    is_first_ = false;
    return out_ += text('"', name, "\":");
  }
  void add(std::string_view name, std::string_view value) { journal::append_json_string(key(name), value); }
  void add(std::string_view name, std::uint64_t value) { key(name) += text(value); }
  void add_thousandths(std::string_view name, double value) {
    const auto rounded = static_cast<std::uint64_t>(std::llround(value * 1000));
    const std::string rest = text(rounded % 1000);
    key(name) += text(rounded / 1000, ".", std::string(3 - rest.size(), '0'), rest);
  }
  void add_flag(std::string_view name, bool value) { key(name) += value ? "true" : "false"; }
  void add_or_null(std::string_view name, std::string_view value) {
    if (value.empty()) {
      key(name) += "null";
    } else {
      add(name, value);
    }
  }

 private:
  std::string& out_;
  bool is_first_ = true;
};

template <class Items, class Write>
void write_array(std::string& out, const Items& items, Write&& write) {
  out += '[';
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) out += ',';
    write(items[i]);
  }
  out += ']';
}

inline void write_strings(std::string& out, const std::vector<std::string>& items) {
  write_array(out, items, [&](const std::string& item) { journal::append_json_string(out, item); });
}

}  // namespace tutti::tracing
