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
//   heard by RANK   that one has heard of it, to the first
//   all heard       says the first, so that all answer at once, also from within a step
//   begun by RANK   the last step that it had begun then; it begins none until it knows
//   last            the greatest of these, says the first
class LastStep::Watch : public std::enable_shared_from_this<Watch> {
 public:
  Watch(Member& member, ProcessGroup& group, std::int64_t made, Site site)
      : member_(member), group_(group), site_(site), begun_(made) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    for (const std::uint64_t number : {asked_, all_heard_, last_known_, next_}) {
      if (number != 0) member_.forget(number);
    }
  }

  // When its name has come, and so all of the group have met.
  void listen(std::int64_t name) {
    name_ = name;
    generation_ = group_.generation();
    asked_ = when("asked", &Watch::on_asked);
    all_heard_ = when("all heard", &Watch::on_all_heard);
    last_known_ = when("last", &Watch::on_last);
    // Also when this process has made all its steps: others may be behind, until they listen for the next.
    group_.keep(shared_from_this());
  }

  void ask() { tell("asked", {}, group_.ranks()); }

  // Nothing: it depends on the others.
  std::optional<bool> may_begin(std::int64_t step) {
    const std::lock_guard lock(mutex_);
    if (!is_halted_) begun_ = step;
    if (step <= begun_ || step <= last_) return true;
    return last_ != unknown ? std::optional(false) : std::nullopt;
  }

  void await_last() {
    try {
      on_last(member_.get(key("last"), std::nullopt, site_, group_.ranks(), generation_));
    } catch (const InvalidState&) {
      // One of them is gone. Steps go on, and say so as they always do.
      on_last(std::to_string(std::numeric_limits<std::int64_t>::max()));
    }
  }

 private:
  using Heard = void (Watch::*)(const std::string& value);

  static constexpr std::int64_t unknown = -1;

  [[nodiscard]] std::string key(std::string_view what) const { return text("last step/", name_, "/", what); }
  [[nodiscard]] int own() const { return member_.who().rank; }
  [[nodiscard]] bool is_first() const { return group_.index() == 0; }

  void tell(std::string_view what, const std::string& value, const std::vector<int>& ranks) {
    member_.tell(key(what), value, ranks, site_);
  }
  void tell_first(std::string_view what, const std::string& value) {
    tell(text(what, " by ", own()), value, is_first() ? std::vector{own()} : std::vector{group_.ranks().front(), own()});
  }
  std::uint64_t when(std::string_view what, Heard heard) {
    return member_.when_put(
        key(what),
        [weak = weak_from_this(), heard](const std::string& value) {
          if (const std::shared_ptr<Watch> self = weak.lock()) (self.get()->*heard)(value);
        },
        site_);
  }
  // Of all of them, one after the other: whether there is another.
  bool collect(std::string_view what, Heard heard) {
    if (collected_ == group_.ranks().size()) {
      collected_ = 0;
      return false;
    }
    next_ = when(text(what, " by ", group_.ranks()[collected_++]), heard);
    return true;
  }

  void on_asked(const std::string&) {
    tell_first("heard", {});
    if (is_first()) collect("heard", &Watch::on_heard);
  }
  void on_heard(const std::string&) {
    if (collect("heard", &Watch::on_heard)) return;
    tell("all heard", {}, group_.ranks());
    collect("begun", &Watch::on_begun);
  }
  void on_all_heard(const std::string&) {
    std::int64_t begun = 0;
    {
      const std::lock_guard lock(mutex_);
      is_halted_ = true;
      begun = begun_;
    }
    tell_first("begun", std::to_string(begun));
  }
  void on_begun(const std::string& value) {
    most_begun_ = std::max<std::int64_t>(most_begun_, std::stoll(value));
    if (!collect("begun", &Watch::on_begun)) tell("last", std::to_string(most_begun_), group_.ranks());
  }
  void on_last(const std::string& value) {
    const std::lock_guard lock(mutex_);
    last_ = std::stoll(value);
  }

  Member& member_;
  ProcessGroup& group_;
  const Site site_;
  std::int64_t name_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t asked_ = 0;  // Member::when_put
  std::uint64_t all_heard_ = 0;
  std::uint64_t last_known_ = 0;
  std::uint64_t next_ = 0;     // of the first
  std::size_t collected_ = 0;  // of the ranks, in their order
  std::int64_t most_begun_ = 0;
  ShortLock mutex_;
  std::int64_t begun_;
  bool is_halted_ = false;
  std::int64_t last_ = unknown;
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
    const AllowSync once("fit hears after which step all processes stop", site_);
    const BlockingRegion waiting(SyncReason::collective, site_);
    watch_->await_last();
    may = watch_->may_begin(step);
  }
  return *may;
}

}  // namespace tutti::detail
