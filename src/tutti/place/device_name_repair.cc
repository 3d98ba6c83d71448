#include "tutti/place/device_name_repair.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "tutti/base/edit_distance.h"
#include "tutti/base/text.h"

namespace tutti {

namespace {

constexpr std::size_t longest_repaired = 128;

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
// The word of `known` that `word` most resembles: a third of its letters may be wrong. Empty where there is none.
std::string_view nearest(std::string_view word, std::initializer_list<std::string_view> known) {
  std::string_view best;
  std::size_t best_cost = longest_repaired;
  for (const std::string_view candidate : known) {
    const std::size_t cost = edit_distance(word, candidate);
    if (cost <= std::max<std::size_t>(1, candidate.size() / 3) && cost < best_cost) {
      best = candidate;
      best_cost = cost;
    }
  }
  return best;
}

// Letters that look like digits become them.
std::string as_number(std::string_view word) {
  static constexpr std::array<std::string_view, 3> looks_like{"0Oo", "1lIi", "5Ss"};
  std::string out;
  for (const char c : word) {
    const auto* const digit = std::ranges::find_if(looks_like, [c](std::string_view set) { return set.find(c) != set.npos; });
    out += digit == looks_like.end() ? c : digit->front();
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == separator) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

// "gpu0", "gpu-0" and "gpu 0" are a type and an index in a hurry.
void part_number_from_type(std::vector<std::string>& words) {
  std::string& head = words.front();
  const auto letters_end = std::ranges::find_if(head, [](char c) { return !std::isalpha(static_cast<unsigned char>(c)); });
  auto digits_begin = letters_end;
  while (digits_begin != head.end() && !is_alphanumeric(*digits_begin)) ++digits_begin;
  if (letters_end == head.begin() || !std::all_of(digits_begin, head.end(), is_digit)) return;
  const std::string digits(digits_begin, head.end());
  head.erase(letters_end, head.end());
  if (!digits.empty()) words.insert(words.begin() + 1, digits);
}

// "gup:O" becomes "GPU:0"; empty where the part cannot be understood.
std::string repair_part(std::string_view part) {
  std::vector<std::string> words = split(part, ':');
  if (words.front() == "*") return "*";
  part_number_from_type(words);
  std::string_view head = nearest(words.front(), {"GPU", "CPU", "CUDA", "TPU", "device", "job", "task", "replica"});
  if (head.empty() && words.front().ends_with("device")) head = "device";  // a physical device's name
  if (head.empty()) return {};
  std::string out(head);
  std::size_t next = 1;
  if (head == "device" && next < words.size()) {
    const std::string_view type = nearest(words[next], {"GPU", "CPU", "CUDA", "TPU"});
    out += ':';
    out += type.empty() ? std::string_view(words[next]) : type;
    ++next;
  }
  if (next < words.size() && !words[next].empty()) {
    out += ':';
    out += head == "job" ? words[next] : as_number(words[next]);
    ++next;
  }
  const bool only_empty_left =
      std::all_of(words.begin() + static_cast<std::ptrdiff_t>(next), words.end(), [](const auto& w) { return w.empty(); });
  return only_empty_left ? out : std::string();
}

}  // namespace

std::string nearest_device_name(std::string_view name) {
  if (name.size() > longest_repaired) return {};
  std::string clean;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) clean += c == '\\' ? '/' : c;
  }
  std::erase(clean, '"');
  while (!clean.empty() && clean.front() == ' ') clean.erase(0, 1);
  while (!clean.empty() && clean.back() == ' ') clean.pop_back();
  std::string out;
  for (const std::string& part : split(clean, '/')) {
    if (part.empty()) continue;  // doubled and trailing slashes
    const std::string repaired = repair_part(part);
    if (repaired.empty()) return {};
    if (!out.empty() || clean.front() == '/') out += '/';
    out += repaired;
  }
  if (out.empty() || !try_parse_device_name(out).fault.empty()) return {};
  return out;
}

}  // namespace tutti
