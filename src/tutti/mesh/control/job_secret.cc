#include "tutti/mesh/control/job_secret.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/wire/random_bytes.h"

namespace tutti {

namespace {

constexpr double least_bits = 64;
// Of a pattern. Random hexadecimal digits have shorter ones often enough to be refused for them.
constexpr std::size_t part = 4;

// "abcd", "9876", "qwer", "REWQ", "1qaz".
bool is_of_a_row(std::string_view chars) {
  static constexpr std::array<std::string_view, 11> rows{"1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "1qaz", "2wsx",
                                                         "3edc",       "4rfv",       "5tgb",      "6yhn",    "7ujm"};
  const int step = chars[1] - chars[0];
  const auto is_other_step = [step](char a, char b) { return b - a != step; };
  const bool is_even = std::adjacent_find(chars.begin(), chars.end(), is_other_step) == chars.end();
  if (is_even && (step == 1 || step == -1)) return true;
  std::string lower(chars);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::string backwards(lower.rbegin(), lower.rend());
  return std::any_of(rows.begin(), rows.end(), [&](std::string_view row) {
    return row.find(lower) != std::string_view::npos || row.find(backwards) != std::string_view::npos;
  });
}

// What somebody who knows how people choose has to guess: characters that repeat what was there, or follow from those before
// them, are none.
double bits_of(std::string_view secret) {
  std::vector<bool> is_free(secret.size(), true);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i + part <= secret.size(); ++i) {
    const std::string_view chars = secret.substr(i, part);
    const bool is_new = seen.insert(chars).second;
    if (!is_new || is_of_a_row(chars)) std::fill_n(is_free.begin() + static_cast<std::ptrdiff_t>(i), part, false);
  }
  const std::set<char> different(secret.begin(), secret.end());
  const auto counted = std::count(is_free.begin(), is_free.end(), true);
  return counted == 0 ? 0 : static_cast<double>(counted) * std::log2(static_cast<double>(different.size()));
}

}  // namespace

wire::Secret make_job_secret() {
  static constexpr std::string_view hex = "0123456789abcdef";
  const wire::Secret bytes(wire::random_bytes(16));
  std::string digits;
  digits.reserve(2 * bytes.text().size());  // never moved
  for (const char byte : bytes.text()) {
    digits += hex[static_cast<unsigned char>(byte) >> 4U];
    digits += hex[static_cast<unsigned char>(byte) & 15U];
  }
  return {std::move(digits)};
}

void check_job_secret(std::string_view secret, Site site) {
  const double bits = bits_of(secret);
  if (bits >= least_bits) return;
  throw InvalidArgument(
      text(secret.empty() ? std::string("a job needs a secret that strangers cannot guess, and there is none")
                          : text("a job's secret of ", secret.size(), " characters can be guessed: without what ",
                                 "repeats and what follows on a keyboard they are worth about ", static_cast<int>(bits),
                                 " bits, and it needs ", static_cast<int>(least_bits)),
           "; set TUTTI_JOB_SECRET for all to what `openssl rand -hex 16` prints"),
      site);
}

}  // namespace tutti
