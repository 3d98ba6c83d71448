#include "tools/launch.h"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "tools/coordinator_thread.h"
#include "tools/launcher_descriptors.h"
#include "tools/merged_output.h"
#include "tools/rank_guard.h"
#include "tools/rank_plan.h"
#include "tools/rank_process.h"
#include "tools/run.h"
#include "tools/signal_line.h"
#include "tutti/base/human_time.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/coordinator.h"
#include "tutti/mesh/control/host_port.h"
#include "tutti/mesh/wire/key.h"

namespace tutti::tools {

namespace {

using Time = MergedOutput::Time;

constexpr std::array stopping{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array taken{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr std::chrono::seconds until_reminder{2};
// When a rank has failed, the others have so long to say what they make of it and to end by themselves; as long again after each
// that does, but no longer than that in all.
constexpr std::chrono::milliseconds for_reports{500};
constexpr std::chrono::seconds for_all_reports{5};
constexpr int most_reads_at_once = 64;  // more than a pipe holds

struct Rank {
  RankProcess process;
  std::string host;  // empty: this one
  std::size_t output;
  std::size_t errors;
};

class Launch {
 public:
  explicit Launch(const LaunchOptions& options) : options_(options), output_(STDOUT_FILENO), own_errors_(STDERR_FILENO) {
    if (are_one_file(STDOUT_FILENO, STDERR_FILENO)) errors_ = &output_;
  }

  int run() {
    auto coordinator = start_all();
    if (!coordinator) return start_failure_;
    {
      const CoordinatorThread serving(std::move(coordinator));
      while (std::ranges::any_of(ranks_, [](const Rank& rank) { return !rank.process.is_swept(); })) step();
    }
    const bool has_lost_guard =
        std::ranges::any_of(ranks_, [](const Rank& rank) { return rank.host.empty() && rank.process.has_lost_guard(); });
    if (has_lost_guard) kill_children();  // what its rank has left came to the launcher
    flush();
    if (write_error_ != 0) {
      throw std::system_error(write_error_, std::generic_category(), "the output could not be written");
    }
    return first_failure_ ? ranks_[*first_failure_].process.exit_code() : 0;
  }

 private:
  [[nodiscard]] std::unique_ptr<Coordinator> open_coordinator(const RankPlan& plan) const {
    CoordinatorOptions settings;
    settings.world = options_.ranks;
    settings.job = plan.job();
    settings.secret = plan.secret().text();
    settings.listen = HostPort{plan.listening_host(), 0}.to_string();
    // For as long as the launcher: a script may come back to it after any pause.
    settings.linger = settings.absent_limit = settings.idle_limit = std::chrono::hours(24 * 365);
    auto coordinator = Coordinator::open(settings);
    wire::wipe(settings.secret.data(), settings.secret.size());
    return coordinator;
  }

  // Nothing: a rank could not be started. The plan, and the secret with it, are of no use to a launcher whose ranks run.
  std::unique_ptr<Coordinator> start_all() {
    const RankPlan plan(options_);
    auto coordinator = open_coordinator(plan);
    const MeetingPoints points{coordinator->address(), free_port()};
    for (int rank = 0; rank < options_.ranks; ++rank) {
      RankStart start = plan.start_of(rank, points);
      const std::string program = start.command[0];
      try {
        const std::string prefix = text("[", rank, "] ");
        ranks_.push_back(
            {RankProcess(std::move(start)), plan.host_of(rank), output_.add_source(prefix), errors_->add_source(prefix)});
      } catch (const NotRun& error) {  // those already started are killed with their objects
        start_failure_ = say_why_not_started(program, error.code().value());
        return nullptr;
      } catch (const std::system_error& error) {
        throw std::runtime_error(text("rank ", rank, " of ", options_.ranks, " could not be started: ", error.what(),
                                      error.code().value() == EMFILE ? "; raise the limit, which `ulimit -n` shows" : ""));
      }
    }
    return coordinator;
  }

  void step() {
    std::vector<pollfd> watched{{signals_.descriptor(), POLLIN, 0}};
    for (const Rank& rank : ranks_) {
      watched.push_back({output_.is_full(rank.output) ? -1 : rank.process.output(), POLLIN, 0});
      watched.push_back({errors_->is_full(rank.errors) ? -1 : rank.process.errors(), POLLIN, 0});
      watched.push_back({rank.process.news(), POLLIN, 0});
    }
    watched.push_back({output_.has_bytes() ? output_.descriptor() : -1, POLLOUT, 0});
    watched.push_back({errors_ != &output_ && errors_->has_bytes() ? errors_->descriptor() : -1, POLLOUT, 0});
    if (::poll(watched.data(), watched.size(), patience()) < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "poll");
    }
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (watched[1 + 3 * i].revents != 0) read_from(ranks_[i], false, 1);
      if (watched[2 + 3 * i].revents != 0) read_from(ranks_[i], true, 1);
    }
    const Time now = std::chrono::steady_clock::now();
    output_.show_due(now);
    if (errors_ != &output_) errors_->show_due(now);
    if (watched[watched.size() - 2].revents != 0) write_to(output_);
    if (watched[watched.size() - 1].revents != 0) write_to(*errors_);
    while (const auto number = signals_.next()) take_signal(*number);
    look_at_ranks();
    const auto has_come = [](const std::optional<Time>& then) { return then && std::chrono::steady_clock::now() >= *then; };
    if (has_come(stop_at_)) stop_all();
    if (has_come(kill_at_)) kill_all();
    if (has_come(remind_at_)) remind();
  }

  [[nodiscard]] int patience() const {
    std::optional<Time> first;
    const auto consider = [&first](const std::optional<Time>& then) {
      if (then && (!first || *then < *first)) first = then;
    };
    for (const auto& then : {stop_at_, kill_at_, remind_at_, output_.next(), errors_->next()}) consider(then);
    for (const Rank& rank : ranks_) consider(rank.process.sweeps_at());
    if (!first) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*first - std::chrono::steady_clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
  }

  void read_from(Rank& rank, bool is_errors, int most_reads) {
    std::array<char, 65'536> bytes;
    MergedOutput& to = is_errors ? *errors_ : output_;
    const std::size_t source = is_errors ? rank.errors : rank.output;
    for (int i = 0; i < most_reads; ++i) {
      const int from = is_errors ? rank.process.errors() : rank.process.output();
      if (from < 0) return;
      const ssize_t count = ::read(from, bytes.data(), bytes.size());
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
      const Time now = std::chrono::steady_clock::now();
      if (count > 0 && !to.is_broken()) {
        to.take(source, std::string_view(bytes.data(), static_cast<std::size_t>(count)), now);
        continue;
      }
      // Its end; or nobody reads what it would be passed on to, and then the rank learns it as it would by itself.
      to.end(source, now);
      if (is_errors) {
        rank.process.close_errors();
      } else {
        rank.process.close_output();
      }
      return;
    }
  }

  void write_to(MergedOutput& output) {
    do {
      if (output.write_some()) continue;
      if (errno == EPIPE) return;
      write_error_ = errno;
      stop_all();
      return;
    } while (output.has_bytes() && is_ready(output.descriptor()));
  }

  static bool is_ready(int descriptor) {
    pollfd one{descriptor, POLLOUT, 0};
    return ::poll(&one, 1, 0) > 0;
  }

  void take_signal(int number) {
    if (is_killing_) return;
    const bool asks_to_stop = std::ranges::find(stopping, number) != stopping.end();
    if (number == SIGINT && ++interrupts_ > 1) {
      errors_->say("tutti: interrupted again; the ranks are killed");
      return kill_all();
    }
    const Time now = std::chrono::steady_clock::now();
    if (asks_to_stop) asked_to_stop_ = now;
    if (number == SIGINT) remind_at_ = now + until_reminder;
    // Nobody is there to ask a second time.
    if (number == SIGTERM && !kill_at_) kill_at_ = now + options_.grace;
    for (Rank& rank : ranks_) rank.process.signal(number);
  }

  [[nodiscard]] std::string name_of(std::size_t index) const {
    const Rank& rank = ranks_[index];
    return rank.host.empty() ? text("rank ", index, " (pid ", rank.process.pid(), ")")
                             : text("rank ", index, " (on ", rank.host, ")");
  }

  void look_at_ranks() {
    std::vector<std::size_t> failed;
    bool has_any_ended = false;
    const Time now = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const bool has_just_ended = ranks_[i].process.look(now);
      has_any_ended = has_any_ended || has_just_ended;
      if (has_just_ended && ranks_[i].process.has_failed()) failed.push_back(i);
      ranks_[i].process.sweep(now);
    }
    if (stop_at_ && has_any_ended) stop_at_ = std::min<Time>(now + for_reports, stop_at_latest_);
    if (failed.empty() || (first_failure_ && !options_.keeps_going)) return;
    // Of those that ended since the last look, one that a signal ended is the cause rather than a consequence.
    std::ranges::stable_sort(failed, {}, [this](std::size_t i) { return ranks_[i].process.exit_code() > 128 ? 0 : 1; });
    if (!first_failure_) first_failure_ = failed.front();
    if (options_.keeps_going) {
      for (const std::size_t each : failed) say_how_it_ended(each, "");
      return;
    }
    const bool has_others = std::ranges::any_of(ranks_, [](const Rank& other) { return !other.process.has_ended(); });
    say_how_it_ended(*first_failure_, has_others ? "; the others are stopped" : "");
    if (!has_others) return;
    stop_at_ = now + for_reports;
    stop_at_latest_ = now + for_all_reports;
  }

  void say_how_it_ended(std::size_t index, const char* consequence) {
    Rank& rank = ranks_[index];
    // What it said last comes before what is said about it.
    read_from(rank, false, most_reads_at_once);
    read_from(rank, true, most_reads_at_once);
    errors_->say(text("tutti: ", name_of(index), " ended with ", rank.process.how_it_ended(), consequence));
  }

  // Those who were just interrupted are not interrupted again; they have the time of grace all the same.
  void stop_all() {
    stop_at_.reset();
    if (kill_at_) return;
    const Time now = std::chrono::steady_clock::now();
    if (!asked_to_stop_ || now - *asked_to_stop_ > options_.grace) {
      for (Rank& rank : ranks_) rank.process.signal(SIGTERM);
    }
    kill_at_ = now + options_.grace;
  }

  // Who interrupts sees nothing happen where a rank saves its work, minds no signal, or its host has not answered yet.
  void remind() {
    remind_at_.reset();
    std::string who;
    for (std::size_t i = 0; i < ranks_.size() && !is_killing_; ++i) {
      if (ranks_[i].process.has_ended()) continue;
      if (!who.empty()) return errors_->say("tutti: interrupted, and several ranks still run; a second interrupt kills them");
      who = name_of(i);
    }
    if (!who.empty()) errors_->say(text("tutti: interrupted, and ", who, " still runs; a second interrupt kills it"));
  }

  void kill_all() {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i].process.has_ended()) continue;
      if (is_killing_) {
        ranks_[i].process.kill_here();  // the way to its host is cut
        continue;
      }
      if (interrupts_ < 2) {
        errors_->say(text("tutti: ", name_of(i), " did not end within ",
                          human_time(std::chrono::nanoseconds(options_.grace).count()), " and is killed"));
      }
      ranks_[i].process.signal(SIGKILL);
    }
    kill_at_ = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    is_killing_ = true;
  }

  // The ranks have ended; what is left in the pipes is theirs, what comes later from what they left behind is not.
  void flush() {
    for (Rank& rank : ranks_) {
      read_from(rank, false, most_reads_at_once);
      read_from(rank, true, most_reads_at_once);
    }
    output_.finish();
    errors_->finish();
    for (MergedOutput* output : {&output_, errors_}) {
      while (output->has_bytes()) {
        std::array<pollfd, 2> watched{{{signals_.descriptor(), POLLIN, 0}, {output->descriptor(), POLLOUT, 0}}};
        if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return;
        if (watched[1].revents != 0) write_to(*output);
        while (const auto number = signals_.next()) {
          if (std::ranges::find(stopping, *number) != stopping.end()) return;
        }
      }
    }
  }

  const LaunchOptions& options_;
  SignalLine signals_{taken};
  MergedOutput output_;
  MergedOutput own_errors_;
  MergedOutput* errors_ = &own_errors_;
  std::vector<Rank> ranks_;
  int start_failure_ = 0;
  int write_error_ = 0;
  int interrupts_ = 0;
  std::optional<Time> asked_to_stop_;
  std::optional<std::size_t> first_failure_;
  std::optional<Time> stop_at_;
  Time stop_at_latest_;
  std::optional<Time> kill_at_;
  std::optional<Time> remind_at_;
  bool is_killing_ = false;
};

}  // namespace

int launch(const LaunchOptions& options) {
  open_standard_descriptors();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a write says it as well
  allow_descriptors_for(options.ranks);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // ranks whose guard is killed
  return Launch(options).run();
}

}  // namespace tutti::tools
