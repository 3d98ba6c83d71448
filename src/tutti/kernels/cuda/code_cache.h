// Compiled code on disk, so that a second process need not compile: in $TUTTI_CACHE_DIR, else $XDG_CACHE_HOME/tutti, else
// ~/.cache/tutti. A file that is damaged or another's is taken for none; one that cannot be written is done without.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::kernels::cuda {

// Empty: there is no place for it.
std::string cache_folder();

// `key`: all that the code depends on. A file holds it, so that code for another is never taken.
std::optional<std::string> load_code(const std::string& folder, std::string_view key);
// At once or not at all, whoever else writes the same. Where the folder then holds more, files that were not used for longest go.
inline constexpr std::uintmax_t most_bytes_of_code = std::uintmax_t{256} << 20U;
bool store_code(const std::string& folder, std::string_view key, std::string_view code,
                std::uintmax_t most_bytes = most_bytes_of_code) noexcept;

}  // namespace tutti::kernels::cuda
