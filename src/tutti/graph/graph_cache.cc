#include "tutti/graph/graph_cache.h"

#include <algorithm>

#include "tutti/base/environment.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/graph/graph.h"

namespace tutti::graph {

Use usage() {
  static const Use answer = [] {
    const std::optional<std::string> given = environment_text("TUTTI_GRAPHS");
    if (!given || *given == "on") return Use::on;
    if (*given == "off") return Use::off;
    if (*given == "check") return Use::check;
    log(LogLevel::warning, text("TUTTI_GRAPHS=", printable(*given), " is not on, off or check; it is ignored"));
    return Use::on;
  }();
  return answer;
}

bool is_replaying_allowed() noexcept { return detail::thread_state.top == nullptr && usage() != Use::off; }

std::vector<Tensor> replay(const Entry& entry, std::span<const Tensor* const> inputs) { return entry.graph->replay(inputs); }

std::shared_ptr<const Entry> GraphCache::find(const CallKey& key) {
  std::shared_ptr<Entry> gone;  // let go of when the lock is
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const std::shared_ptr<Entry>& each) { return each->key == key.words(); });
  if (found == entries_.end()) return nullptr;
  // What could not be made when it was recorded would never be made again.
  const auto& constants = (*found)->constants;
  if (std::any_of(constants.begin(), constants.end(), [](const Ref<Buffer>& each) { return each->failure().is_set(); })) {
    gone = std::move(*found);
    entries_.erase(found);
    return nullptr;
  }
  (*found)->used = ++uses_;
  return *found;
}

namespace {

void compare(const Record& first, const Record& now, Site captured) {
  const std::size_t both = std::min(first.called.size(), now.called.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (first.called[i] == now.called[i]) continue;
    throw InvalidState(
        text("the function captured at ", captured.to_string(), " does not call the same again: call ", i + 1, " was ",
             first.called[i], " and is ", now.called[i], "; a replay would do what was recorded: make what changes an argument"),
        captured);
  }
  if (first.called.size() == now.called.size()) return;
  const Record& longer = first.called.size() > now.called.size() ? first : now;
  throw InvalidState(
      text("the function captured at ", captured.to_string(), " made ", first.called.size(),
           " calls when it was recorded and makes ", now.called.size(), " now; the first that differs is ", longer.called[both]),
      captured);
}

}  // namespace

void GraphCache::keep(const CallKey& key, std::unique_ptr<Record> record, std::shared_ptr<const void> result) {
  if (const std::shared_ptr<const Entry> known = find(key)) {
    if (usage() == Use::check) compare(known->graph->record(), *record, site_);
    return;
  }
  auto entry = std::make_shared<Entry>();
  entry->key = key.words();
  entry->graph = std::make_shared<Graph>(std::move(record), site_);
  entry->result = std::move(result);
  entry->streams = open_streams();
  for (const Slot& slot : entry->graph->record().slots) {
    if (slot.kind == Slot::Kind::constant) entry->constants.push_back(slot.memory);
  }
  std::shared_ptr<Entry> gone;  // let go of when the lock is
  const std::lock_guard lock(mutex_);
  entry->used = ++uses_;
  if (entries_.size() >= std::max<std::size_t>(1, options_.most_graphs)) {
    const auto oldest =
        std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a->used < b->used; });
    gone = std::exchange(*oldest, std::move(entry));
  } else {
    entries_.push_back(std::move(entry));
  }
}

void GraphCache::note_unrecorded(const CallKey& key, Site variable) {
  {
    const std::lock_guard lock(mutex_);
    if (!(unrecorded_ == key.words())) {
      unrecorded_ = key.words();
      return;
    }
    if (std::exchange(has_warned_, true)) return;
  }
  log(LogLevel::warning,
      text("the function captured at ", site_.to_string(), " has run twice and was not recorded, because the variable made at ",
           variable.to_string(), " lives on; as long as each call makes one, none is replayed: make it in the first call only"));
}

std::vector<std::shared_ptr<const Entry>> GraphCache::entries() const {
  const std::lock_guard lock(mutex_);
  return {entries_.begin(), entries_.end()};
}

}  // namespace tutti::graph
