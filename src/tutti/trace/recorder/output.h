// The file of this process: records are appended whole, each by one write, so that nothing is lost however the process ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tutti/trace/format.h"

namespace tutti::tracing {

class Output {
 public:
  // A new file in the folder, named after the process. False: it could not be made; errno says why.
  bool open(const std::string& folder, std::uint64_t most_bytes = most_file_bytes);
  // In a forked child: what is written there would be mixed with its parent's.
  void forget() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return file_.load(std::memory_order_relaxed) >= 0; }

  // False: the file has reached its bound, or the disk is full. After the first record that had no room only notes, of which one
  // says so, and the end are written: what else came later could refer to what is missing. On a full disk the file ends with a
  // part of a record.
  bool append(RecordKind kind, const void* head, std::size_t head_bytes, const void* tail = nullptr, std::size_t tail_bytes = 0);
  template <class Body>
  bool append(RecordKind kind, const Body& body) {
    return append(kind, &body, sizeof body);
  }
  void note(std::string_view words) { append(RecordKind::note, words.data(), words.size()); }
  // Written once; the same id for the same text. An empty text has none.
  std::uint32_t text(std::string_view words);

 private:
  bool take_room(std::size_t bytes);
  void break_off(bool ends_with_a_part) noexcept;

  std::atomic<int> file_{-1};
  std::uint64_t most_bytes_ = most_file_bytes;
  std::atomic<std::uint64_t> written_{0};  // and what had no room
  std::mutex mutex_;                       // of the texts
  std::unordered_map<std::string, std::uint32_t> texts_;
};

}  // namespace tutti::tracing
