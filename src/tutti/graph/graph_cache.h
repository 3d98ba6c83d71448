// The graphs of one captured function, by what tells them apart: those used last stay.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tutti/graph/call_key.h"
#include "tutti/graph/recorder.h"

namespace tutti {

struct CaptureOptions {
  std::size_t most_graphs = 32;  // the one that was used longest ago makes room for another
};

namespace graph {

class Graph;

// What TUTTI_GRAPHS says: on (the default), off (captured functions run as they are), check.
enum class Use : std::uint8_t { on, off, check };
Use usage();

struct Entry {
  CallKey::Words key;
  std::shared_ptr<Graph> graph;
  std::shared_ptr<const void> result;  // the function's result with no tensors in it
  std::vector<Stream> streams;         // of the key, kept from being lent to others
  std::vector<Ref<Buffer>> constants;  // made when it was recorded, or before
  std::uint64_t used = 0;
};

class GraphCache {
 public:
  GraphCache(const CaptureOptions& options, Site site) : options_(options), site_(site) {}

  [[nodiscard]] Site site() const noexcept { return site_; }
  // Null: there is none.
  std::shared_ptr<const Entry> find(const CallKey& key);
  // Keeps the record of a first call, or under TUTTI_GRAPHS=check compares it with that of the first.
  void keep(const CallKey& key, std::unique_ptr<Record> record, std::shared_ptr<const void> result);
  // Says once that a call is never replayed because it makes a variable that lives on, and makes another one when it is repeated.
  void note_unrecorded(const CallKey& key, Site variable);
  [[nodiscard]] std::vector<std::shared_ptr<const Entry>> entries() const;

 private:
  const CaptureOptions options_;
  const Site site_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Entry>> entries_;
  std::uint64_t uses_ = 0;
  CallKey::Words unrecorded_;  // the last call that was not
  bool has_warned_ = false;
};

// The results of one more run of it, as the function gave them.
std::vector<Tensor> replay(const Entry& entry, std::span<const Tensor* const> inputs);

// Every thread that has an executor (a tape, another capture) lets it see the function's own calls.
bool is_replaying_allowed() noexcept;

std::string explain(const GraphCache& graphs);
std::string explain_html(const GraphCache& graphs);

}  // namespace graph

}  // namespace tutti
