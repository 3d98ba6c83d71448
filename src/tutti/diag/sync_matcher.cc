#include "tutti/diag/sync_matcher.h"

#include <ostream>
#include <string>
#include <vector>

#include "tutti/base/text.h"
#include "tutti/hal/door.h"
#include "tutti/hal/sync_mode.h"

namespace tutti {

namespace {

constexpr std::size_t most_kept = 16;

// Remembers the first syncs for the explanation.
class Recorder final : detail::SyncListener {
 public:
  Recorder() { first_.reserve(most_kept); }
  ~Recorder() override = default;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  void list(std::ostream& out) const {
    for (const SyncRequest& each : first_) {
      out << "\n  " << to_string(each.reason);
      if (*each.op != '\0') out << " of what " << each.op << " made";
      out << " at " << each.site.to_string();
    }
    if (count_ > first_.size()) out << "\n  ... and " << count_ - first_.size() << " more";
  }

 private:
  void happened(const SyncRequest& request, bool) noexcept override {
    ++count_;
    if (first_.size() < first_.capacity()) first_.push_back(request);
  }
  std::uint64_t count_ = 0;
  std::vector<SyncRequest> first_;
};

std::string in_words(std::uint64_t syncs) {
  return syncs == 0 ? "no demand sync" : text(syncs, syncs == 1 ? " demand sync" : " demand syncs");
}

}  // namespace

bool DemandSyncMatcher::MatchAndExplain(const std::function<void()>& function, std::ostream* out) const {
  const Recorder recorder;
  function();
  if (out != nullptr) {
    *out << "which makes " << in_words(recorder.count());
    recorder.list(*out);
  }
  return recorder.count() == syncs_;
}

void DemandSyncMatcher::DescribeTo(std::ostream* out) const { *out << "makes " << in_words(syncs_); }
void DemandSyncMatcher::DescribeNegationTo(std::ostream* out) const { *out << "does not make exactly " << in_words(syncs_); }

}  // namespace tutti
