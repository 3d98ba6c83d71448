#include "tutti/mesh/control/join_job.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "tutti/base/error.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/coordinator_child.h"
#include "tutti/mesh/control/host_port.h"
#include "tutti/mesh/control/job_file.h"
#include "tutti/mesh/control/job_secret.h"
#include "tutti/mesh/wire/sockets.h"

namespace tutti {

namespace {

using std::chrono::milliseconds;
using wire::Addresses;

// An earlier run's coordinator stays a moment at its address after its last member has gone.
constexpr milliseconds earlier_run{5'000};
// After so long at one address its note is read again: another coordinator may have come.
constexpr milliseconds one_attempt{2'000};
constexpr milliseconds between_lines{10'000};
// Whoever listens on this host answers in less.
constexpr milliseconds listens_within{1'000};

void wait_a_moment() { ::poll(nullptr, 0, 20); }

bool is_loopback(const addrinfo& address) {
  if (address.ai_family == AF_INET) {
    return (ntohl(reinterpret_cast<const sockaddr_in*>(address.ai_addr)->sin_addr.s_addr) >> 24U) == 127;
  }
  return address.ai_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address.ai_addr)->sin6_addr);
}

// Many systems give their own name a loopback address, at which no other host would find it.
HostPort listening_address(const HostPort& at, const Addresses& addresses, bool one_host) {
  if (one_host || is_loopback_name(at.host) || addresses == nullptr) return at;
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    if (!is_loopback(*address)) return at;
  }
  // All addresses of its family; that of IPv6 takes the other in as well.
  return {addresses->ai_family == AF_INET6 ? "::" : "0.0.0.0", at.port};
}

// One process's search for the coordinator of its job.
class Search {
 public:
  Search(const Membership& who, const MemberOptions& options, Site site)
      : who_(who),
        options_(options),
        site_(site),
        began_(Clock::now()),
        deadline_(began_ + std::min<milliseconds>(options.connect_timeout, longest_timeout)) {
    if (!who.coordinator.empty()) fixed_ = parse_host_port(who.coordinator);
  }

  std::shared_ptr<Member> run() {
    auto said = began_;
    for (;;) {
      if (const auto found = who_.rank == 0 ? find_or_start() : find()) {
        if (auto member = try_to_join(*found)) return member;
      }
      if (Clock::now() >= deadline_) throw DeadlineExceeded(what_was_waited_for(), site_);
      wait_a_moment();
      if (Clock::now() - said < between_lines) continue;
      said = Clock::now();
      log(LogLevel::warning, text("rank ", who_.rank, " still waits for the coordinator, which rank 0 starts"));
    }
  }

 private:
  std::shared_ptr<Member> try_to_join(const Membership& found) {
    MemberOptions options = options_;
    const auto left = std::chrono::ceil<milliseconds>(deadline_ - Clock::now());
    options.connect_timeout = std::clamp(left, milliseconds(1), one_attempt);
    try {
      return Member::join(found, options, site_);
    } catch (const DeadlineExceeded&) {
      if (Clock::now() >= deadline_) throw;
    } catch (const CoordinatorLost&) {
      if (Clock::now() >= deadline_) throw;
    } catch (const JoinRefused&) {
      if (is_noted_ || Clock::now() >= std::min(deadline_, began_ + earlier_run)) throw;
    }
    return nullptr;
  }

  std::optional<Membership> with(const JobNote& note) {
    Membership found = who_;
    found.coordinator = note.address;
    if (found.secret.empty()) found.secret = note.secret;
    is_noted_ = true;
    return found;
  }

  std::optional<Membership> find() {
    if (fixed_ && !who_.secret.empty()) return who_;
    const auto note = JobFile(who_.job, site_).read();
    return note ? with(*note) : std::nullopt;
  }

  std::optional<Membership> find_or_start() {
    JobFile file(who_.job, site_);
    if (!file.claim()) {
      const auto note = file.read();
      return note ? with(*note) : std::nullopt;
    }
    const Addresses addresses = own_addresses();
    if (somebody_listens(addresses)) {
      if (!who_.secret.empty()) return who_;
      if (Clock::now() < std::min(deadline_, began_ + earlier_run)) return std::nullopt;
      throw InvalidState(text("the coordinator of this job cannot listen at ", who_.coordinator,
                              ": something else does; set TUTTI_COORDINATOR to a free host:port"),
                         site_);
    }
    CoordinatorChild child;
    child.listen = fixed_ ? listening_address(*fixed_, addresses, who_.one_host).to_string() : "127.0.0.1:0";
    child.world = who_.world;
    child.job = who_.job;
    child.secret = who_.secret.empty() ? wire::Secret(make_job_secret()) : who_.secret;
    child.job_file = file.path();
    child.lock = file.descriptor();
    const std::string listens = start_coordinator(child, deadline_, site_);
    // A secret of the environment's stays there.
    const JobNote note{fixed_ ? who_.coordinator : listens, who_.secret.empty() ? child.secret : wire::Secret()};
    file.write(note);
    return with(note);
  }

  // Where the coordinator is to listen.
  [[nodiscard]] Addresses own_addresses() const {
    if (!fixed_) return {};
    std::string why;
    Addresses found = wire::resolve({fixed_->host, std::to_string(fixed_->port)}, deadline_, why);
    if (found == nullptr && Clock::now() >= deadline_)
      throw DeadlineExceeded(text("the coordinator of this job cannot be started at ", who_.coordinator, ": ", why), site_);
    return found;
  }

  [[nodiscard]] bool somebody_listens(const Addresses& at) const {
    std::string why;
    return wire::connect_to_one_of(at, std::min(deadline_, Clock::now() + listens_within), why).valid();
  }

  [[nodiscard]] std::string what_was_waited_for() const {
    return text("rank ", who_.rank, " of ", who_.world, " (", who_.launcher, ") has waited for ",
                options_.connect_timeout.count(), " ms and rank 0 has not said where the coordinator is, in ",
                JobFile(who_.job, site_).path());
  }

  Membership who_;
  MemberOptions options_;
  Site site_;
  Clock::time_point began_;
  Clock::time_point deadline_;
  std::optional<HostPort> fixed_;
  bool is_noted_ = false;
};

}  // namespace

std::shared_ptr<Member> join_job(const Membership& who, const MemberOptions& options, Site site) {
  if (who.coordinator.empty() && !who.rank_0_starts_coordinator) {
    throw InvalidArgument("this process is alone: it has no job to join", site);
  }
  if (!who.rank_0_starts_coordinator) return Member::join(who, options, site);
  return Search(who, options, site).run();
}

}  // namespace tutti
