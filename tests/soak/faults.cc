#include "soak/faults.h"

#include <signal.h>

#include <algorithm>
#include <sstream>

namespace tutti::soak {

namespace {

using Kind = Fault::Kind;
using std::chrono::milliseconds;

// TCP sends again after twice as long each time: a cut of this much is over in less than a death takes.
constexpr std::int64_t longest_cut = 900;
constexpr milliseconds fatal = dead_after + dead_after / 2;
// Who exchanges over a link gives it up after three times a death (docs/mesh.md), and connects anew when it is back.
constexpr milliseconds lasting = 4 * dead_after;

milliseconds recovery(const Fault& fault) {
  const bool is_cut = fault.kind == Kind::cut || fault.kind == Kind::cut_between;
  return 1s + (is_cut ? 2 * std::chrono::ceil<milliseconds>(fault.end - fault.begin) : 0ms);
}

pid_t process_of(const Fault& fault, const Processes& processes) {
  return fault.target == Fault::coordinator ? processes.coordinator : processes.ranks[static_cast<std::size_t>(fault.target)];
}

void send_signal(pid_t process, int signal) {
  if (process > 0) ::kill(process, signal);
}

}  // namespace

std::string Fault::to_string(Instant since) const {
  constexpr const char* words[] = {"kill", "exit", "stop", "cut", "cut between", "pause", "slow"};
  const auto at = std::chrono::duration_cast<milliseconds>(begin - since).count();
  const auto until = std::chrono::duration_cast<milliseconds>(end - since).count();
  std::ostringstream out;
  out << words[static_cast<int>(kind)] << (is_of_process() ? " rank " : " host ");
  if (is_of_process() && target == coordinator) {
    out << "(coordinator)";
  } else {
    out << target;
  }
  if (kind == Kind::cut_between) out << " and " << other;
  out << " at " << at << " ms";
  if (kind != Kind::kill && kind != Kind::exit) out << " until " << until << " ms";
  return out.str();
}

Faults::Faults(const Plan& plan, const testing_hosts::Network* network, bool restarts)
    : plan_(plan), network_(network), restarts_(restarts), random_(plan.seed ^ 0xFA017) {}

std::int64_t Faults::between(std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
}

Fault Faults::drawn(Instant now) {
  Fault out;
  out.begin = out.end = now;
  const std::int64_t chance = between(0, 99);
  if (network_ == nullptr || chance < 40) {
    out.target = static_cast<int>(between(0, plan_.world - 1));
    const std::int64_t kills = restarts_ ? 40 : 15;
    const std::int64_t which = between(0, 99);
    if (which < kills) {
      out.kind = which % 4 == 1 ? Kind::exit : Kind::kill;
      out.is_fatal = true;
      if (which == 0) out.target = Fault::coordinator;
      return out;
    }
    out.kind = Kind::stop;
    if (which < kills + 20) out.target = Fault::coordinator;
    out.is_fatal = which >= 95;
    out.end = now + (out.is_fatal ? fatal : milliseconds(between(20, 1'500)));
    return out;
  }
  out.target = static_cast<int>(between(0, plan_.hosts));  // the coordinator's is the last
  if (chance < 60) {
    out.kind = Kind::slow;
    out.end = now + milliseconds(between(300, 3'000));
  } else if (chance < 75) {
    out.kind = Kind::pause;
    out.end = now + milliseconds(between(20, 1'500));
  } else if (chance < 85) {
    out.kind = Kind::cut_between;
    out.other = static_cast<int>(between(0, plan_.hosts));
    const bool is_between_ranks = std::max(out.target, out.other) < plan_.hosts;
    out.end = now + (is_between_ranks && between(0, 3) == 0 ? lasting : milliseconds(between(20, longest_cut)));
  } else {
    out.kind = Kind::cut;
    out.is_fatal = chance >= 97;
    out.end = now + (out.is_fatal ? fatal : milliseconds(between(20, longest_cut)));
  }
  return out;
}

bool Faults::is_any_going_on() const {
  return std::any_of(faults_.begin(), faults_.end(), [](const Fault& each) { return !each.is_over; });
}

bool Faults::can_begin(const Fault& fault, const Processes& processes) const {
  if (fault.is_of_process() && process_of(fault, processes) == 0) return false;
  if (fault.kind == Kind::cut_between && fault.target == fault.other) return false;
  if (fault.is_fatal && !restarts_ && deaths_ >= plan_.world - 2) return false;
  // One after the other where they could add up to a death. TCP needs some time to be itself again.
  for (const Fault& each : faults_) {
    if (each.kind == Kind::kill || each.kind == Kind::exit) continue;
    const bool is_same_sort = each.is_of_process() == fault.is_of_process();
    const bool is_link = !each.is_of_process() || !fault.is_of_process();
    if (!each.is_over && is_same_sort) return false;
    if (is_link && fault.begin < each.end + recovery(each)) return false;
    if (each.target == fault.target && fault.begin < each.end + 500ms) return false;
  }
  return true;
}

void Faults::begin(const Fault& fault, const Processes& processes) const {
  switch (fault.kind) {
    case Kind::kill: return send_signal(process_of(fault, processes), SIGKILL);
    case Kind::exit: processes.board->seats.at(static_cast<std::size_t>(fault.target)).is_to_exit = true; return;
    case Kind::stop: return send_signal(process_of(fault, processes), SIGSTOP);
    case Kind::cut: return network_->cut(fault.target);
    case Kind::cut_between: return network_->cut(fault.target, fault.other);
    case Kind::pause: return network_->pause(fault.target);
    case Kind::slow: {
      std::mt19937_64 random(plan_.seed ^ static_cast<std::uint64_t>(faults_.size()));
      return network_->set_ways(fault.target,
                                {.delay = plan_.delay + milliseconds(random() % 40), .loss = random() % 2 == 0 ? 0 : 0.01});
    }
  }
}

void Faults::end(Fault& fault, Instant now, const Processes& processes) const {
  fault.end = now;
  fault.is_over = true;
  switch (fault.kind) {
    case Kind::kill:
    case Kind::exit: return;
    case Kind::stop: return send_signal(process_of(fault, processes), SIGCONT);
    case Kind::cut: return network_->heal(fault.target);
    case Kind::cut_between: return network_->heal(fault.target, fault.other);
    case Kind::pause: return network_->resume(fault.target);
    case Kind::slow: return network_->set_ways(fault.target, {.delay = plan_.delay});
  }
}

void Faults::tick(Instant now, const Processes& processes, bool wanted) {
  for (Fault& fault : faults_) {
    if (!fault.is_over && now >= fault.end) end(fault, now, processes);
  }
  if (next_ == Instant()) next_ = now + milliseconds(between(0, 2'000));
  if (!wanted || now < next_) return;
  next_ = now + milliseconds(between(20, 250));
  const Fault fault = drawn(now);
  if (!can_begin(fault, processes)) return;
  if (fault.is_fatal) ++deaths_;
  begin(fault, processes);
  faults_.push_back(fault);
}

void Faults::end_all(Instant now, const Processes& processes) {
  for (Fault& fault : faults_) {
    if (!fault.is_over) end(fault, now, processes);
  }
}

}  // namespace tutti::soak
