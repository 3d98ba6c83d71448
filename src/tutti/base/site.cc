#include "tutti/base/site.h"

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <unordered_set>

#include "tutti/base/text.h"

namespace tutti {

namespace {

struct Entry : detail::MadeSite {
  std::size_t hash;
  const Entry* next;
};

// Chains only ever gain entries at the front, so they are read without a lock.
constexpr std::size_t bucket_count = 4096;
std::array<std::atomic<const Entry*>, bucket_count> buckets{};

const Entry* find_in(const Entry* entry, std::size_t hash, const detail::MadeSite& wanted) noexcept {
  for (; entry != nullptr; entry = entry->next) {
    if (entry->hash == hash && entry->line == wanted.line && entry->file == wanted.file && entry->function == wanted.function)
      return entry;
  }
  return nullptr;
}

std::size_t hash_of(const detail::MadeSite& site) noexcept {
  const std::hash<std::string_view> hash;
  return hash(site.file) ^ (hash(site.function) * 0x9E3779B97F4A7C15U) ^ (site.line * std::size_t{0x9E3779B1U});
}

const Entry& entry_of(const detail::MadeSite& wanted) {
  const std::size_t hash = hash_of(wanted);
  auto& bucket = buckets[hash % bucket_count];
  if (const Entry* found = find_in(bucket.load(std::memory_order_acquire), hash, wanted)) return *found;
  static std::mutex& mutex = *new std::mutex;
  static auto& texts = *new std::unordered_set<std::string>;  // each once: sites compare the addresses of their files
  const std::lock_guard lock(mutex);
  const Entry* first = bucket.load(std::memory_order_relaxed);
  if (const Entry* found = find_in(first, hash, wanted)) return *found;
  const auto kept = [&](std::string_view words) { return std::string_view(*texts.emplace(words).first); };
  const auto* made = new Entry{{kept(wanted.file), kept(wanted.function), wanted.line}, hash, first};
  bucket.store(made, std::memory_order_release);
  return *made;
}

}  // namespace

Site Site::at(std::string_view file, std::uint32_t line, std::string_view function) {
  const detail::MadeSite& made = entry_of({file, function, line});
  return std::bit_cast<std::source_location>(reinterpret_cast<const char*>(&made) + 1);
}

std::string Site::to_string() const {
  std::string out;
  for (const char* c = file(); *c != '\0'; ++c) {  // a name from outside stays on its line
    if (static_cast<unsigned char>(*c) < 0x20 || *c == 0x7f) {
      out += printable({c, 1});
    } else {
      out += *c;
    }
  }
  return out + ":" + std::to_string(line());
}

}  // namespace tutti
