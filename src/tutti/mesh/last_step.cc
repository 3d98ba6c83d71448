#include "tutti/mesh/last_step.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "tutti/base/short_lock.h"
#include "tutti/base/text.h"
#include "tutti/hal/door.h"
#include "tutti/hal/sync_mode.h"
#include "tutti/mesh/process_collectives.h"
#include "tutti/mesh/wire/random_bytes.h"
#include "tutti/ops/creation.h"
#include "tutti/place/scope.h"

namespace tutti::detail {

namespace {

// The same for all, and never that of another: the first process says it.
Pending<std::int64_t> agreed_name(ProcessGroup& group, Site site) {
  const DeviceScope host(runtime(site).cpu(), site);
  const auto own = static_cast<std::int64_t>(wire::random_number() >> 1U);
  const Tensor said = process_broadcast({group, nullptr}, constant(std::vector{own}, site), 0, site);
  return read_async<std::int64_t>(said, site);
}

}  // namespace

// What the member's thread knows of it. It says:
//   asked           somebody wants to stop
//   heard by RANK   that one has heard of it
//   all heard       so that all answer at once, also from within a step
//   begun by RANK   the last step that it had begun then; it begins none until it knows those of all
class LastStep::Watch : public std::enable_shared_from_this<Watch> {
 public:
  Watch(Member& member, ProcessGroup& group, std::int64_t made, Site site)
      : member_(member), group_(group), site_(site), begun_(made) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    for (const std::uint64_t number : {asked_, all_heard_}) {
      if (number != 0) member_.forget(number);
    }
  }

  void listen(std::int64_t name) {
    name_ = name;
    asked_ = when("asked", &Watch::on_asked);
    all_heard_ = when("all heard", &Watch::on_all_heard);
    // Also when this process has made all its steps: others may be behind, until they listen for the next.
    group_.keep(shared_from_this());
  }

  void ask() { tell("asked", {}); }

  // Nothing: it depends on the others.
  std::optional<bool> may_begin(std::int64_t step) {
    const std::lock_guard lock(mutex_);
    if (!is_halted_) begun_ = step;
    if (step <= begun_ || step <= last_) return true;
    return last_ >= 0 ? std::optional(false) : std::nullopt;
  }

  void await_others() {
    std::int64_t last = 0;
    for (const int rank : group_.ranks()) {
      const std::string begun = member_.get(key(text("begun by ", rank)), std::nullopt, site_, group_.ranks());
      last = std::max<std::int64_t>(last, std::stoll(begun));
    }
    const std::lock_guard lock(mutex_);
    last_ = last;
  }

 private:
  [[nodiscard]] std::string key(std::string_view what) const { return text("last step/", name_, "/", what); }
  void tell(std::string_view what, const std::string& value) { member_.tell(key(what), value, group_.ranks(), site_); }
  std::uint64_t when(std::string_view what, void (Watch::*heard)()) {
    return member_.when_put(
        key(what),
        [weak = weak_from_this(), heard](const std::string&) {
          if (const std::shared_ptr<Watch> self = weak.lock()) (self.get()->*heard)();
        },
        site_);
  }

  void on_asked() {
    tell(text("heard by ", member_.who().rank), {});
    if (group_.index() == 0) await_next();
  }

  void await_next() {
    if (heard_ == group_.ranks().size()) return tell("all heard", {});
    when(text("heard by ", group_.ranks()[heard_++]), &Watch::await_next);
  }

  void on_all_heard() {
    std::int64_t begun = 0;
    {
      const std::lock_guard lock(mutex_);
      is_halted_ = true;
      begun = begun_;
    }
    tell(text("begun by ", member_.who().rank), std::to_string(begun));
  }

  Member& member_;
  ProcessGroup& group_;
  const Site site_;
  std::int64_t name_ = 0;
  std::uint64_t asked_ = 0;  // Member::when_put
  std::uint64_t all_heard_ = 0;
  std::size_t heard_ = 0;  // of the ranks, in their order
  ShortLock mutex_;
  std::int64_t begun_;
  bool is_halted_ = false;
  std::int64_t last_ = -1;  // not known
};

LastStep::LastStep(const Mesh& mesh, std::int64_t made, Site site)
    : site_(site),
      name_(agreed_name(process_group(mesh.clients(site), site), site)),
      watch_(std::make_shared<Watch>(*joined_member(site), process_group(mesh.clients(site), site), made, site)) {}

LastStep::~LastStep() = default;

bool LastStep::is_listening() {
  if (is_listening_) return true;
  const std::optional<std::int64_t> name = name_.try_get(site_);
  if (!name) return false;
  watch_->listen(*name);
  is_listening_ = true;
  return true;
}

void LastStep::ask() { wants_to_stop_ = true; }

bool LastStep::may_begin(std::int64_t step) {
  if (is_listening() && wants_to_stop_ && !std::exchange(has_asked_, true)) watch_->ask();
  std::optional<bool> may = watch_->may_begin(step);
  if (!may) {
    const AllowSync once("fit hears how far the other processes are", site_);
    const BlockingRegion waiting(SyncReason::collective, site_);
    watch_->await_others();
    may = watch_->may_begin(step);
  }
  return *may;
}

}  // namespace tutti::detail
