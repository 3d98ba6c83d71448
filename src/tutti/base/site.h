// Where in the user's source a call was made; every op, wait and allocation carries one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

namespace tutti {

// One pointer wide, so it is passed by value everywhere. `Site site = {}` as a last parameter captures the caller.
class Site {
 public:
  constexpr Site(std::source_location where = std::source_location::current()) noexcept : where_(where) {}

  [[nodiscard]] constexpr const char* file() const noexcept { return where_.file_name(); }
  [[nodiscard]] constexpr const char* function() const noexcept { return where_.function_name(); }
  [[nodiscard]] constexpr std::uint32_t line() const noexcept { return where_.line(); }
  [[nodiscard]] constexpr std::uint32_t column() const noexcept { return where_.column(); }

  // "file.cc:12"
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] std::size_t hash() const noexcept {
    return (reinterpret_cast<std::size_t>(file()) >> 3U) ^ (std::size_t{line()} * 0x9E3779B1U) ^ (std::size_t{column()} << 20U);
  }
  friend bool operator==(const Site& a, const Site& b) noexcept {
    return a.line() == b.line() && a.column() == b.column() && a.file() == b.file();
  }

 private:
  std::source_location where_;
};

}  // namespace tutti
