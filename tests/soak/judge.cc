#include "soak/judge.h"

#include <signal.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "soak/rank.h"
#include "tutti/mesh/control/meeting.h"

namespace tutti::soak {

namespace {

using std::chrono::milliseconds;
using Why = MissingMember::Why;

// Who has been at a meeting for so long, and was not disturbed, is known to be there.
constexpr milliseconds settled = 400ms;
// After a fault, until everything flows again.
constexpr milliseconds recovery = 2s;

class Judge {
 public:
  explicit Judge(const Evidence& evidence) : evidence_(evidence) {
    for (const Entry& entry : evidence.entries) {
      if (entry.step >= 0) at_step_[entry.step].push_back(&entry);
    }
  }

  std::vector<std::string> run() {
    for (const Exit& exit : evidence_.exits) look_at(exit);
    for (const Entry& entry : evidence_.entries) look_at(entry);
    return std::move(wrong_);
  }

 private:
  void look_at(const Exit& exit) {
    if (exit.status == 0) return;
    const bool was_killed = exit.status == -SIGKILL && is_doomed(exit.rank, {}, exit.at);
    const bool was_cut_off =
        exit.status == cut_off_status && (is_doomed(exit.rank, {}, exit.at) || is_coordinator_doomed(exit.at));
    if (!was_killed && !was_cut_off)
      say(exit.at, "rank " + std::to_string(exit.rank) + " ended with status " + std::to_string(exit.status));
  }

  void look_at(const Entry& entry) {
    if (entry.step < 0) return look_at_joining(entry);
    const Step step = evidence_.plan.step(entry.step);
    const auto took = entry.end - entry.begin - stopped(entry.rank, entry.begin, entry.end);
    if (took > step.limit() + grace) say(entry, "it took too long");
    switch (entry.outcome) {
      case Outcome::done: return;
      case Outcome::timed_out:
      case Outcome::lost: return look_at_report(entry, step);
      case Outcome::coordinator_late:
      case Outcome::coordinator_gone:
        if (!is_disturbed(entry.rank, entry.begin - dead_after, entry.end) && !is_coordinator_doomed(entry.end))
          say(entry, "the coordinator was well and could be reached");
        return;
      case Outcome::exchange_failed:
        if (!is_coordinator_doomed(entry.end) && !is_any_pair_apart(entry, step))
          say(entry, "all of them who were there could reach each other");
        return;
      case Outcome::mismatch:
      case Outcome::deadlock:
      case Outcome::aborted:
      case Outcome::wrong_value:
      case Outcome::unexpected: return say(entry, "this can never be right");
    }
  }

  void look_at_joining(const Entry& entry) {
    if (entry.outcome == Outcome::done) return;
    if (!is_disturbed(entry.rank, entry.begin - dead_after, entry.end) && !is_coordinator_doomed(entry.end))
      say(entry, "it could not join");
  }

  void look_at_report(const Entry& entry, const Step& step) {
    if (!entry.is_own_report) return say(entry, "it is about another call");
    if (entry.outcome == Outcome::lost && !is_any_doomed(entry, step)) return say(entry, "all members were well");
    // Who was taken for dead meanwhile knows nothing of others.
    if (entry.missing.empty() && !is_doomed(entry.rank, {}, entry.end)) return say(entry, "it names nobody");
    for (const Missing& missing : entry.missing) {
      const auto why = static_cast<Why>(missing.why);
      if (why == Why::draining) continue;
      if (missing.rank == entry.rank) return say(entry, "it names its reader");
      if (why == Why::died && !is_lost(missing.rank, entry)) return say(entry, who(missing) + " was well");
      if (why == Why::left && !has_ended(missing.rank, entry.end)) return say(entry, who(missing) + " had not left");
      if (was_there(missing.rank, entry)) return say(entry, who(missing) + " was there");
    }
    if (step.counts.size() > 1) return;  // of several collectives each rank tells of the first that failed there
    for (const Entry* other : at_step_[entry.step]) {
      if (other->rank > entry.rank && is_of_same_attempt(entry, *other) && other->text != entry.text)
        return say(entry, "rank " + std::to_string(other->rank) + ", which was there too, was told: " +
                              outcome_words[static_cast<std::size_t>(other->outcome)] + ": " + other->text);
    }
  }

  // Both were at it for long enough when one was told, and neither was disturbed.
  [[nodiscard]] bool is_of_same_attempt(const Entry& a, const Entry& b) const {
    const Instant told = std::min(a.end, b.end);
    if (std::max(a.begin, b.begin) + settled > told) return false;
    return !is_disturbed(a.rank, told - settled, told + settled) && !is_disturbed(b.rank, told - settled, told + settled);
  }

  // At the same step since long before the other was told.
  bool was_there(int rank, const Entry& told) {
    if (is_disturbed(rank, told.end - settled - recovery, told.end) ||
        is_disturbed(told.rank, told.end - settled - recovery, told.end))
      return false;
    return std::any_of(at_step_[told.step].begin(), at_step_[told.step].end(), [&](const Entry* each) {
      return each->rank == rank && each->begin + settled < told.end && each->end + milliseconds(5) >= told.end;
    });
  }

  // Two of the group, for so long that what was between them is given up.
  [[nodiscard]] bool is_any_pair_apart(const Entry& entry, const Step& step) const {
    const std::vector<int>& group = evidence_.plan.groups[step.group];
    const auto has_one_on = [&](int host) {
      return std::any_of(group.begin(), group.end(), [&](int rank) { return evidence_.plan.host_of(rank) == host; });
    };
    return std::any_of(evidence_.faults.begin(), evidence_.faults.end(), [&](const Fault& fault) {
      return fault.is_lasting_cut_between() && fault.begin <= entry.end && fault.end + recovery >= entry.begin &&
             has_one_on(fault.target) && has_one_on(fault.other);
    });
  }

  // Of the group, since all of it were last seen together by the one that was told.
  [[nodiscard]] bool is_any_doomed(const Entry& entry, const Step& step) const {
    const std::vector<int>& group = evidence_.plan.groups[step.group];
    return std::any_of(group.begin(), group.end(), [&](int rank) { return is_lost(rank, entry); });
  }

  [[nodiscard]] bool is_lost(int rank, const Entry& told) const {
    const Instant since = last_gathering(told);
    if (has_ended(rank, told.end, since - recovery)) return true;
    return is_doomed(rank, since - dead_after - recovery, told.end);
  }

  // When the rank has last met all others.
  [[nodiscard]] Instant last_gathering(const Entry& told) const {
    Instant found;
    for (const Entry& each : evidence_.entries) {
      if (each.rank == told.rank && each.outcome == Outcome::done && each.step >= 0 && is_gathering(each.step) &&
          each.end < told.end)
        found = std::max(found, each.end);
    }
    return found;
  }

  [[nodiscard]] bool has_ended(int rank, Instant until, Instant since = {}) const {
    return std::any_of(evidence_.exits.begin(), evidence_.exits.end(), [&](const Exit& exit) {
      // The driver sees an end a moment later than the coordinator, which hears of an exit before it is done.
      const milliseconds later = was_to_exit(rank, exit.at) ? recovery : milliseconds(200);
      return exit.rank == rank && exit.at >= since && exit.at <= until + later;
    });
  }

  [[nodiscard]] bool was_to_exit(int rank, Instant until) const {
    return std::any_of(evidence_.faults.begin(), evidence_.faults.end(), [&](const Fault& fault) {
      return fault.kind == Fault::Kind::exit && fault.target == rank && fault.begin <= until;
    });
  }

  [[nodiscard]] bool touches(const Fault& fault, int rank) const {
    if (fault.target == Fault::coordinator && fault.is_of_process()) return false;
    if (fault.is_of_process()) return fault.target == rank;
    const int host = evidence_.plan.host_of(rank);
    return fault.target == host || (fault.kind == Fault::Kind::cut_between && fault.other == host);
  }
  [[nodiscard]] bool touches_coordinator(const Fault& fault) const {
    if (fault.is_of_process()) return fault.target == Fault::coordinator;
    const int host = evidence_.plan.coordinator_host();
    return fault.target == host || (fault.kind == Fault::Kind::cut_between && fault.other == host);
  }

  [[nodiscard]] bool is_doomed(int rank, Instant since, Instant until) const {
    return std::any_of(evidence_.faults.begin(), evidence_.faults.end(), [&](const Fault& fault) {
      return fault.is_fatal && fault.begin >= since && fault.begin <= until &&
             (touches(fault, rank) || touches_coordinator(fault));
    });
  }
  [[nodiscard]] bool is_coordinator_doomed(Instant until) const {
    return std::any_of(evidence_.faults.begin(), evidence_.faults.end(),
                       [&](const Fault& fault) { return fault.is_fatal && fault.begin <= until && touches_coordinator(fault); });
  }
  [[nodiscard]] bool is_disturbed(int rank, Instant since, Instant until) const {
    const bool is_starved = std::any_of(evidence_.starvations.begin(), evidence_.starvations.end(), [&](const Starvation& each) {
      return each.begin <= until && each.end + recovery >= since;
    });
    if (is_starved) return true;
    return std::any_of(evidence_.faults.begin(), evidence_.faults.end(), [&](const Fault& fault) {
      return fault.begin <= until && fault.end + recovery >= since && (touches(fault, rank) || touches_coordinator(fault));
    });
  }
  [[nodiscard]] Instant::duration stopped(int rank, Instant since, Instant until) const {
    Instant::duration out{};
    for (const Starvation& each : evidence_.starvations)
      out += std::max(Instant::duration(0), std::min(until, each.end) - std::max(since, each.begin));
    for (const Fault& fault : evidence_.faults) {
      if (fault.kind != Fault::Kind::stop || fault.target != rank) continue;
      out += std::max(Instant::duration(0), std::min(until, fault.end) - std::max(since, fault.begin));
    }
    return out;
  }

  static std::string who(const Missing& missing) { return "rank " + std::to_string(missing.rank); }

  void say(Instant at, const std::string& what) {
    const auto when = std::chrono::duration_cast<milliseconds>(at - evidence_.begin).count();
    wrong_.push_back(std::to_string(when) + " ms: " + what);
  }
  void say(const Entry& entry, const std::string& what) {
    std::ostringstream out;
    const Step step = evidence_.plan.step(std::max<std::int64_t>(entry.step, 0));
    out << "rank " << entry.rank << ", step " << entry.step << " (";
    if (step.kind == Step::Kind::barrier) {
      out << "barrier of " << step.timeout.count() << " ms";
    } else {
      out << step.counts.size() << " all_reduce";
    }
    out << ", ranks";
    for (const int rank : evidence_.plan.groups[step.group]) out << ' ' << rank;
    out << "), after " << std::chrono::duration_cast<milliseconds>(entry.end - entry.begin).count()
        << " ms: " << outcome_words[static_cast<std::size_t>(entry.outcome)] << ": " << what << ": " << entry.text;
    say(entry.end, out.str());
  }

  const Evidence& evidence_;
  std::map<std::int64_t, std::vector<const Entry*>> at_step_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> judged(const Evidence& evidence) { return Judge(evidence).run(); }

}  // namespace tutti::soak
