// Where in the user's source a call was made; every op, wait and allocation carries one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>

namespace tutti {

namespace detail {
// What a site made at run time says. Both texts end in a zero and live for ever.
struct MadeSite {
  std::string_view file;
  std::string_view function;
  std::uint32_t line;
};
}  // namespace detail

// One pointer wide, so it is passed by value everywhere. `Site site = {}` as a last parameter captures the caller.
class Site {
 public:
  constexpr Site(std::source_location where = std::source_location::current()) noexcept : where_(where) {}

  // A place that no compiler of ours has seen: a line of Python, a frame of a traced program. Equal texts give equal sites, on
  // any thread. What was made once is found without a lock or an allocation, and is kept to the end of the process.
  static Site at(std::string_view file, std::uint32_t line, std::string_view function = {});

  [[nodiscard]] constexpr const char* file() const noexcept { return is_made() ? made().file.data() : where_.file_name(); }
  [[nodiscard]] constexpr const char* function() const noexcept {
    return is_made() ? made().function.data() : where_.function_name();
  }
  [[nodiscard]] constexpr std::uint32_t line() const noexcept { return is_made() ? made().line : where_.line(); }
  [[nodiscard]] constexpr std::uint32_t column() const noexcept { return is_made() ? 0 : where_.column(); }

  // "file.cc:12"
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] std::size_t hash() const noexcept {
    return (reinterpret_cast<std::size_t>(file()) >> 3U) ^ (std::size_t{line()} * 0x9E3779B1U) ^ (std::size_t{column()} << 20U);
  }
  friend bool operator==(const Site& a, const Site& b) noexcept {
    return a.line() == b.line() && a.column() == b.column() && a.file() == b.file();
  }

 private:
  // A source_location is a pointer to what the compiler laid down, at an even address: an odd one is a MadeSite's, plus one.
  static_assert(sizeof(std::source_location) == sizeof(const char*) && std::is_trivially_copyable_v<std::source_location>);
  static_assert(alignof(detail::MadeSite) > 1);

  [[nodiscard]] constexpr bool is_made() const noexcept {
    return !std::is_constant_evaluated() && (std::bit_cast<std::uintptr_t>(where_) & 1U) != 0;
  }
  [[nodiscard]] const detail::MadeSite& made() const noexcept {
    return *reinterpret_cast<const detail::MadeSite*>(std::bit_cast<const char*>(where_) - 1);
  }

  std::source_location where_;
};

}  // namespace tutti
