#include "tutti/mesh/processes.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <utility>

#include "tutti/base/environment.h"
#include "tutti/base/rank_files.h"
#include "tutti/base/text.h"
#include "tutti/exec/last_call.h"
#include "tutti/hal/door.h"
#include "tutti/hal/function_name.h"
#include "tutti/mesh/control/join_job.h"
#include "tutti/mesh/engines/shared_exchange.h"
#include "tutti/mesh/engines/socket_exchange.h"
#include "tutti/mesh/world.h"
#include "tutti/place/runtime.h"

namespace tutti {

namespace detail {

namespace {

using namespace std::chrono_literals;

constexpr auto opening_limit = 30s;
constexpr auto agreeing_limit = 5s;
// A link that is away for less than a death takes changes nothing: after a cut, TCP tries again when it has waited about as long
// once more. It asks an idle host once a second at most.
constexpr int silent_after_deaths = 3;
constexpr std::chrono::milliseconds shortest_silence = 4s;

// What this process says of itself: what its devices are at, or what it last asked of them.
std::string doing() {
  if (Runtime* const instance = runtime_if_initialised(); instance != nullptr && is_usable()) {
    for (LogicalDevice* device : instance->devices()) {
      for (DeviceStream* stream : device->streams()) {
        if (stream->is_idle()) continue;
        for (const PendingWork& work : stream->pending()) {
          if (work.running) return text(function_of(work.op.c_str()), " at ", work.site.to_string());
        }
      }
    }
  }
  return last_call();
}

// All of the job that this process knows. Lives for ever; takes leave when the program ends.
class Job {
 public:
  static Job& get() {
    static Job& job = *new Job;
    return job;
  }

  const Membership& who(Site site) {
    const auto lock = hold(site);
    return known(site);
  }

  Member* member(Site site) {
    const auto lock = hold(site);
    return joined({}, site);
  }

  void join(const JobOptions& options, Site site) {
    const auto lock = hold(site);
    if (member_ != nullptr) throw InvalidState("the job was joined already, by an earlier call that needed it", site);
    joined(options, site);
  }

  ProcessGroup& group(const std::vector<int>& ranks, Site site, Deadline deadline) {
    const auto lock = hold(site, deadline);
    JobOptions options;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      options.connect_timeout = std::clamp(left, std::chrono::milliseconds(1), options.connect_timeout);
    }
    Member* const member = joined(options, site);
    if (member == nullptr)
      throw InvalidState(text("this needs ", ranks.size(), " processes and this one is alone: start it with `tutti launch -n ",
                              ranks.back() + 1, " -- ./program`, or with torchrun, mpirun or srun"),
                         site);
    check_ranks(ranks, site);
    std::unique_ptr<ProcessGroup>& found = groups_[ranks];
    if (found == nullptr) {
      std::string name = "world";
      if (ranks.size() != static_cast<std::size_t>(membership_->world)) {
        name = "ranks";
        for (const int rank : ranks) name += text(rank == ranks.front() ? " " : ",", rank);
      }
      auto made = std::make_unique<ProcessGroup>(*member, name, ranks);
      for (const Lost& loss : losses()) made->lose(loss.rank, loss.why, loss.ended);
      const std::lock_guard short_lock(guard_);
      found = std::move(made);
      all_.push_back(found.get());
    }
    return *found;
  }

  void leave() noexcept {
    // Until what its GPUs have sent is there, and the coordinator has heard.
    const BlockingRegion leaving(SyncReason::shutdown, Site{});
    for (ProcessGroup* group : groups()) group->close();
    Member* left = nullptr;
    {
      const std::lock_guard lock(mutex_);
      left = member_.get();
    }
    // First, so that who sees the rest can be told why. It stays: threads that make collectives may still be at it. Not under the
    // lock: its own thread may be in lose().
    if (left != nullptr) left->leave();
    lose(-1, "this process is ending", never_back);
  }

 private:
  struct Lost {
    int rank;
    std::string why;
    std::uint64_t ended;
  };

  // Who finds another thread joining waits for it, which is a passage of the door like the joining itself.
  std::unique_lock<std::timed_mutex> hold(Site site, Deadline deadline = {}) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) return lock;
    const BlockingRegion waiting(SyncReason::joining, site);
    if (!deadline) {
      lock.lock();
    } else if (!lock.try_lock_until(*deadline)) {
      throw DeadlineExceeded("another thread of this process still joins the job", site);
    }
    return lock;
  }

  const Membership& known(Site site) {
    if (membership_) return *membership_;
    membership_ = membership_from_environment(site);
    if (membership_->world > 1) set_rank_of_files(static_cast<std::uint32_t>(membership_->rank));
    return *membership_;
  }

  // Called with the lock held: whoever needs the job meanwhile needs it joined.
  Member* joined(const JobOptions& options, Site site) {
    require_usable(site);
    if (known(site).world == 1) return nullptr;
    if (member_ != nullptr) return member_.get();
    runtime(site);  // so that it ends after this
    const BlockingRegion joining(SyncReason::joining, site);
    member_ = tutti::join_job(*membership_,
                              {.connect_timeout = options.connect_timeout,
                               .heartbeat = options.heartbeat,
                               .dead_after = options.dead_after,
                               .doing = doing},
                              site);
    note_calls_from_now_on();
    member_->on_loss([this](int rank, const std::string& why, std::uint64_t ended) { lose(rank, why, ended); });
    member_->on_deadlock([this](const MeetingReport& report) {
      for (ProcessGroup* group : groups()) group->break_circle(report);
    });
    std::atexit([] { get().leave(); });
    return member_.get();
  }

  void check_ranks(const std::vector<int>& ranks, Site site) const {
    const int own = membership_->rank;
    if (std::find(ranks.begin(), ranks.end(), own) == ranks.end())
      throw InvalidArgument(text("rank ", own, " has no device in this mesh, so it cannot take part in what its processes do"),
                            site);
    if (ranks.front() < 0 || ranks.back() >= membership_->world)
      throw InvalidArgument(text("the mesh has devices of rank ", ranks.back(), ", and the job has ", membership_->world,
                                 " processes, from rank 0 to ", membership_->world - 1),
                            site);
  }

  void lose(int rank, const std::string& why, std::uint64_t ended) noexcept {
    {
      const std::lock_guard lock(guard_);
      std::erase_if(losses_, [rank](const Lost& loss) { return loss.rank == rank; });
      losses_.push_back({rank, why, ended});
    }
    for (ProcessGroup* group : groups()) group->lose(rank, why, ended);
  }

  std::vector<ProcessGroup*> groups() {
    const std::lock_guard lock(guard_);
    return all_;
  }
  std::vector<Lost> losses() {
    const std::lock_guard lock(guard_);
    return losses_;
  }

  std::timed_mutex mutex_;  // held while the job is joined
  std::optional<Membership> membership_;
  std::shared_ptr<Member> member_;
  std::map<std::vector<int>, std::unique_ptr<ProcessGroup>> groups_;
  ShortLock guard_;  // what the member's thread touches
  std::vector<ProcessGroup*> all_;
  std::vector<Lost> losses_;  // the last of each rank
};

}  // namespace

ProcessGroup::ProcessGroup(Member& member, const std::string& name, const std::vector<int>& ranks)
    : member_(member),
      barriers_(member, name, ranks, known_),
      roll_calls_(member, name + " (collectives)", ranks, known_),
      store_(member, roll_calls_.ranks(), roll_calls_.generation(), std::nullopt, Site()),
      stream_("CPU:0", {.may_block = true}) {}

void ProcessGroup::roll_call(const std::string& what, Site site) { roll_calls_.meet(what, std::nullopt, site, {}, wanted_); }

Exchange& ProcessGroup::host_exchange(Site site) {
  if (owned_ == nullptr || made_for_ != generation() || opened_ != opening()) open_exchange(site);
  return *owned_;
}

void ProcessGroup::give_up_exchange(const std::string& what, Site site) {
  wanted_ = opening() + 1;
  roll_calls_.throw_if_lost(what, site);
}

DeviceLine& ProcessGroup::line(const std::string& devices, Device& own) {
  const std::lock_guard lock(guard_);
  for (const std::unique_ptr<DeviceLine>& each : lines_) {
    if (each->devices() == devices) return *each;
  }
  DeviceLine& made = *lines_.emplace_back(std::make_unique<DeviceLine>(*this, devices, own));
  if (!lost_.empty()) made.fail(lost_, ended_);
  return made;
}

std::vector<DeviceLine*> ProcessGroup::lines() {
  const std::lock_guard lock(guard_);
  std::vector<DeviceLine*> out;
  for (const std::unique_ptr<DeviceLine>& each : lines_) out.push_back(each.get());
  return out;
}

void ProcessGroup::close() noexcept {
  for (DeviceLine* line : lines()) line->close();
}

// All have just answered the roll call and come here next. It counts only if it worked for every one: who has none would let the
// others wait in theirs for ever.
void ProcessGroup::open_exchange(Site site) {
  const std::uint64_t generation = this->generation();
  std::stop_token stop;
  {
    const std::lock_guard lock(guard_);
    exchange_ = nullptr;
    gives_up_ = std::stop_source();
    if (is_lost()) gives_up_.request_stop();
    stop = gives_up_.get_token();
  }
  owned_.reset();
  if (made_for_ != generation || opened_ != opening()) tries_ = 0;
  made_for_ = generation;
  opened_ = opening();
  const std::string key = text("exchange/", name(), "/", generation, "/", opened_, "/", tries_++);
  const auto size = static_cast<int>(ranks().size());
  const std::chrono::milliseconds silent_after = std::max(shortest_silence, silent_after_deaths * member_.dead_after());
  // Two that cannot reach each other do not connect either.
  const Deadline limit = Clock::now() + std::min<std::chrono::milliseconds>(opening_limit, silent_after);
  std::unique_ptr<Exchange> made;
  std::string fault;
  try {
    if (roll_calls_.is_shared()) {
      made = SharedExchange::open(store_, key, size, index(), limit);
    } else {
      made = open_socket_exchange(store_, key, size, index(), limit,
                                  {.address = member_.local_host(),
                                   .secret = member_.who().secret,
                                   .encrypts = environment_bool("TUTTI_ENCRYPT").value_or(true),
                                   .stop = stop,
                                   .ranks = ranks(),
                                   .silent_after = silent_after});
    }
  } catch (const Error& e) {
    fault = e.message();
  } catch (const std::bad_alloc&) {
    fault = "no memory is left";
  }
  fault = roll_calls_.agree(text(key, "/agreed"), fault, *limit + agreeing_limit, std::nullopt, site);
  if (!fault.empty()) throw ExchangeFailed(text("the processes of ", name(), " cannot exchange tensors: ", fault), site);
  owned_ = std::move(made);
  const std::lock_guard lock(guard_);
  exchange_ = owned_.get();
  if (is_lost()) owned_->fail(lost_.c_str());
}

void ProcessGroup::lose(int rank, const std::string& why, std::uint64_t ended) {
  barriers_.lose(rank, ended);
  roll_calls_.lose(rank, ended);
  if (rank >= 0 && std::find(ranks().begin(), ranks().end(), rank) == ranks().end()) return;
  {
    const std::lock_guard lock(guard_);
    if (ended < ended_) return;
    lost_ = why;
    ended_ = ended;
    if (is_lost()) {
      gives_up_.request_stop();
      if (exchange_ != nullptr) exchange_->fail(why.c_str());
    }
  }
  for (DeviceLine* line : lines()) line->fail(why, ended);
}

void ProcessGroup::break_circle(const MeetingReport& report) {
  barriers_.break_circle(report);
  roll_calls_.break_circle(report);
}

Member* joined_member(Site site) { return Job::get().member(site); }

ProcessGroup& process_group(const std::vector<int>& ranks, Site site, Deadline deadline) {
  return Job::get().group(ranks, site, deadline);
}

}  // namespace detail

int process_rank(Site site) { return detail::Job::get().who(site).rank; }
int process_count(Site site) { return detail::Job::get().who(site).world; }
int local_process_rank(Site site) { return detail::Job::get().who(site).local_rank; }

void join_job(const JobOptions& options, Site site) { detail::Job::get().join(options, site); }

void abort_job(const std::string& why, Site site) {
  Member* const member = detail::joined_member(site);
  if (member == nullptr) return;
  const BlockingRegion ending(SyncReason::shutdown, site);  // until the coordinator has told the others
  member->abort(why);
}

}  // namespace tutti
