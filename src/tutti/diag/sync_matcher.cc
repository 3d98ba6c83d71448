#include "tutti/diag/sync_matcher.h"

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tutti/base/text.h"
#include "tutti/hal/door.h"
#include "tutti/hal/sync_mode.h"

namespace tutti {

namespace {

constexpr std::size_t most_kept = 16;

// Remembers the first syncs for the explanation.
struct Recorder final : detail::SyncScopeEntry {
  Recorder() { first.reserve(most_kept); }

  void list(std::ostream& out) const {
    for (const SyncRequest& each : first) {
      out << "\n  " << to_string(each.reason);
      if (*each.op.row != '\0') out << " of what " << each.op.function << " made";
      out << " at " << each.site.to_string();
    }
    if (demand_syncs > first.size()) out << "\n  ... and " << demand_syncs - first.size() << " more";
  }
  void happened(const SyncRequest& request, bool is_allowed) noexcept override {
    SyncScopeEntry::happened(request, is_allowed);
    if (first.size() < first.capacity()) first.push_back(request);
  }

  std::vector<SyncRequest> first;
};

std::string in_words(std::uint64_t syncs) {
  return syncs == 0 ? "no demand sync" : text(syncs, syncs == 1 ? " demand sync" : " demand syncs");
}

}  // namespace

bool DemandSyncMatcher::MatchAndExplain(const std::function<void()>& function, std::ostream* out) const {
  auto entry = std::make_unique<Recorder>();
  const Recorder& recorder = *entry;
  const detail::OpenSyncScope scope("demand sync matcher", std::move(entry), Site{});
  function();
  if (out != nullptr) {
    *out << "which makes " << in_words(recorder.demand_syncs);
    recorder.list(*out);
  }
  return recorder.demand_syncs == syncs_;
}

void DemandSyncMatcher::DescribeTo(std::ostream* out) const { *out << "makes " << in_words(syncs_); }
void DemandSyncMatcher::DescribeNegationTo(std::ostream* out) const { *out << "does not make exactly " << in_words(syncs_); }

}  // namespace tutti
