#include "soak/rank.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tutti/tutti.h"

namespace tutti::soak {

namespace {

struct WrongValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Rank {
 public:
  Rank(const Plan& plan, int rank, bool restarts, Board& board, int log)
      : plan_(plan),
        rank_(rank),
        restarts_(restarts),
        board_(board),
        seat_(board.seats.at(static_cast<std::size_t>(rank))),
        log_(log) {}

  int run(std::int64_t first) {
    const Outcome joining = noted(-1, joining_limit, "", [] { join_job({.heartbeat = 200ms, .dead_after = dead_after}); });
    if (joining != Outcome::done) return cut_off_status;
    for (const std::vector<int>& group : plan_.groups) {
      std::string devices;
      for (const int each : group) devices += (devices.empty() ? "" : ",") + ("/task:" + std::to_string(each)) + "/device:CPU:0";
      const bool is_mine = std::find(group.begin(), group.end(), rank_) != group.end();
      meshes_.push_back(is_mine ? parse_mesh("|x=" + std::to_string(group.size()) + "|" + devices) : Mesh());
    }
    for (std::int64_t number = first; is_allowed(number); ++number) {
      const Step step = plan_.step(number);
      if (!plan_.is_in(rank_, step.group)) continue;
      if (seat_.is_to_exit && step.kind == Step::Kind::barrier) return 0;
      for (;;) {
        const Outcome outcome = take(number, step);
        if (outcome == Outcome::coordinator_gone) return cut_off_status;
        if (!is_to_be_tried_again(outcome, number, step)) break;
        // Somebody never comes, and nobody will wait for us either.
        if (board_.is_over && outcome == Outcome::timed_out && Clock::now() > patience_end()) return 0;
      }
    }
    return 0;
  }

 private:
  bool is_allowed(std::int64_t number) {
    seat_.step = number;
    while (board_.allowed <= number) {
      if (board_.is_over && board_.allowed <= number) return false;
      ::poll(nullptr, 0, 1);
    }
    return true;
  }

  Clock::time_point patience_end() {
    if (!patience_end_) patience_end_ = Clock::now() + 3 * dead_after;
    return *patience_end_;
  }

  bool is_to_be_tried_again(Outcome outcome, std::int64_t number, const Step& step) const {
    if (step.kind != Step::Kind::barrier) return false;
    if (outcome == Outcome::lost && restarts_ && is_gathering(number)) {
      ::poll(nullptr, 0, 20);  // it is told at once until the new one is there
      return true;
    }
    return outcome == Outcome::timed_out || outcome == Outcome::coordinator_late;
  }

  Outcome take(std::int64_t number, const Step& step) {
    if (step.kind == Step::Kind::all_reduce) return noted(number, step.limit(), "", [&] { sum(number, step); });
    const std::string name = "step " + std::to_string(number);
    return noted(number, step.limit(), "barrier '" + name + "'",
                 [&] { barrier(meshes_[step.group], {.name = name, .timeout = step.timeout}); });
  }

  // `asked`: what a report of it is about; empty: any.
  template <class Call>
  Outcome noted(std::int64_t number, std::chrono::milliseconds limit, const std::string& asked, Call&& call) {
    Entry entry;
    entry.rank = rank_;
    entry.step = number;
    entry.begin = Clock::now();
    seat_.call_limit = ticks(entry.begin + limit);
    seat_.call_began = ticks(entry.begin);
    try {
      call();
    } catch (const MeetingFailed& e) {
      describe(e, asked, entry);
    } catch (const CoordinatorLost& e) {
      entry.text = e.what();
      const bool is_late = entry.text.find("did not answer by the deadline") != std::string::npos;
      entry.outcome = is_late ? Outcome::coordinator_late : Outcome::coordinator_gone;
    } catch (const Error& e) {
      entry.text = e.what();
      entry.outcome = asked.empty() ? Outcome::exchange_failed : Outcome::unexpected;
      if (number < 0) entry.outcome = Outcome::coordinator_gone;  // it could not join
    } catch (const WrongValue& e) {
      entry.text = e.what();
      entry.outcome = Outcome::wrong_value;
    }
    entry.end = Clock::now();
    if (is_gathering(number)) note_who_is_gone(entry);
    seat_.call_began = 0;
    const std::string line = written(entry);
    if (::write(log_, line.data(), line.size()) < 0) throw std::runtime_error("the log cannot be written");
    return entry.outcome;
  }

  void note_who_is_gone(const Entry& entry) {
    using Why = MissingMember::Why;
    for (const Missing& missing : entry.missing) {
      const auto why = static_cast<Why>(missing.why);
      if (why == Why::died || why == Why::left) seat_.told_gone.at(static_cast<std::size_t>(missing.rank)) = ticks(entry.begin);
    }
  }

  void sum(std::int64_t number, const Step& step) {
    const std::vector<int>& group = plan_.groups[step.group];
    std::vector<Tensor> sums;
    for (std::size_t nth = 0; nth < step.counts.size(); ++nth) {
      std::vector<float> mine(static_cast<std::size_t>(step.counts[nth]));
      for (std::size_t i = 0; i < mine.size(); ++i)
        mine[i] = value_of(rank_, number, static_cast<std::int64_t>(nth), static_cast<std::int64_t>(i));
      sums.push_back(all_reduce({constant(mine)}, meshes_[step.group], "x", Reduction::sum)[0]);
    }
    if (seat_.is_to_exit) std::exit(0);
    // All are read, also after one that failed: none is left for a barrier to tell of.
    std::exception_ptr failure;
    for (std::size_t nth = 0; nth < sums.size(); ++nth) {
      try {
        check(read<float>(sums[nth]), group, number, static_cast<std::int64_t>(nth));
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

  void check(const std::vector<float>& sum, const std::vector<int>& group, std::int64_t number, std::int64_t nth) const {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      float wanted = 0;
      for (const int each : group) wanted += value_of(each, number, nth, static_cast<std::int64_t>(i));
      if (sum[i] != wanted)
        throw WrongValue("element " + std::to_string(i) + " of " + std::to_string(sum.size()) + " is " + std::to_string(sum[i]) +
                         ", not " + std::to_string(wanted));
    }
  }

  static void describe(const MeetingFailed& e, const std::string& asked, Entry& entry) {
    using Cause = MeetingReport::Cause;
    static const std::map<Cause, Outcome> outcomes{{Cause::timed_out, Outcome::timed_out},
                                                   {Cause::member_lost, Outcome::lost},
                                                   {Cause::mismatch, Outcome::mismatch},
                                                   {Cause::deadlock, Outcome::deadlock},
                                                   {Cause::aborted, Outcome::aborted}};
    entry.outcome = outcomes.at(e.report.cause);
    entry.is_own_report = asked.empty() || e.report.what == asked;
    for (const MissingMember& each : e.report.missing) entry.missing.push_back({each.rank, static_cast<int>(each.why)});
    entry.text = e.report.to_text();
  }

  const Plan& plan_;
  int rank_;
  bool restarts_;
  Board& board_;
  Seat& seat_;
  int log_;
  std::vector<Mesh> meshes_;
  std::optional<Clock::time_point> patience_end_;
};

}  // namespace

int run_rank(const Plan& plan, int rank, std::int64_t first, bool restarts, Board& board, int log) {
  return Rank(plan, rank, restarts, board, log).run(first);
}

}  // namespace tutti::soak
