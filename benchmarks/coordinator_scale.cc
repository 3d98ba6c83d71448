// What a coordinator of many members costs. The members are light ones, no more than a connection each, all over loopback and
// all in this process; the coordinator has one of its own. Its growth is to be linear: times and memory are also given per
// member.
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../tests/control/open_files.h"
#include "../tests/control/raw_connection.h"
#include "job.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/coordinator.h"
#include "tutti/mesh/control/messages.h"
#include "versus.h"

namespace {

using namespace tutti;
using control::Answer;
using control::Request;

constexpr const char* secret = "of a benchmark, 32 characters...";
constexpr std::int64_t no_timeout = -1;

double milliseconds_since(bench::Clock::time_point start) { return bench::nanoseconds_since(start) / 1e6; }

// A coordinator in a process of its own, which is watched from outside.
class Process {
 public:
  explicit Process(int world) {
    CoordinatorOptions options;
    options.world = world;
    options.job = "test";
    options.secret = secret;
    options.dead_after = std::chrono::hours(1);  // light members send no heartbeats
    const auto coordinator = Coordinator::open(options);
    address_ = coordinator->address();
    std::fflush(stdout);
    pid_ = bench::in_process([&] { coordinator->serve(); });
    if (pid_ < 0) throw std::runtime_error("no process for the coordinator");
  }
  ~Process() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] double milliseconds_used() const {
    clockid_t clock{};
    timespec used{};
    if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
    return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
  }
  // Of its own, without the kernel's for its sockets.
  [[nodiscard]] double kibibytes() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string word; status >> word;) {
      double amount = 0;
      if (word == "RssAnon:" && status >> amount) return amount;
    }
    return 0;
  }

 private:
  pid_t pid_ = -1;
  std::string address_;
};

struct Told {
  double milliseconds = 0;
  double busy_milliseconds = 0;
  std::size_t bytes = 0;  // of one report
  std::size_t text = 0;
};

class Crowd {
 public:
  Crowd(const Process& coordinator, int world) : coordinator_(coordinator), world_(world) {
    for (int rank = 0; rank < world; ++rank) {
      members_.push_back(std::make_unique<RawConnection>(coordinator.address()));
      members_.back()->take_seat(secret, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(world));
      all_.push_back(rank);
    }
  }

  // Heartbeats of the first so many; what these have said before has been heard when this returns.
  void say_what_they_do(int count) {
    const std::string beat = control::message(Request::beat, [](wire::FieldWriter& out) { out.text("MatMul at train.cc:31"); });
    for (int rank = 0; rank < count; ++rank) members_[static_cast<std::size_t>(rank)]->say_sealed(beat);
    for (int rank = 0; rank < count; ++rank) expect(*members_[static_cast<std::size_t>(rank)], Answer::beat);
  }

  double barrier() {
    const auto begin = bench::Clock::now();
    for (int rank = 0; rank < world_; ++rank) arrive(rank, no_timeout);
    for (const auto& member : members_) expect(*member, Answer::released);
    return milliseconds_since(begin);
  }

  // So many come, the last of them with no time left: then all who came are told who did not.
  Told meet_without_others(int comers) {
    for (int rank = 0; rank < comers - 1; ++rank) arrive(rank, no_timeout);
    say_what_they_do(comers - 1);
    const double used = coordinator_.milliseconds_used();
    const auto begin = bench::Clock::now();
    arrive(comers - 1, 0);
    Told told;
    std::string report;
    for (int rank = 0; rank < comers; ++rank) report = expect(*members_[static_cast<std::size_t>(rank)], Answer::failed);
    told.milliseconds = milliseconds_since(begin);
    told.busy_milliseconds = coordinator_.milliseconds_used() - used;
    told.bytes = report.size();
    wire::FieldReader in(report);
    in.u8();
    in.u64();
    told.text = control::read_report(in).to_text().size();
    return told;
  }

 private:
  void arrive(int rank, std::int64_t timeout) {
    members_[static_cast<std::size_t>(rank)]->say_sealed(control::message(Request::arrive, [&](wire::FieldWriter& out) {
      control::Call{"world", all_, "barrier 'benchmark'", "train.cc:40"}.append_to(out.u64(++ticket_));
      out.u8(0).i64(timeout).i64(control::never_gives_up).u64(0).u64(0);
    }));
  }
  static std::string expect(RawConnection& member, Answer answer) {
    auto heard = member.hear();
    if (!heard || static_cast<Answer>(heard->front()) != answer) throw std::runtime_error("another answer was expected");
    return std::move(*heard);
  }

  const Process& coordinator_;
  int world_;
  std::vector<std::unique_ptr<RawConnection>> members_;
  std::vector<int> all_;
  std::uint64_t ticket_ = 0;
};

void measure(int world, int rounds, bench::Report& report) {
  const Process coordinator(world);
  const double empty = coordinator.kibibytes();
  const auto begin = bench::Clock::now();
  Crowd crowd(coordinator, world);
  const double join = milliseconds_since(begin);
  const double join_used = coordinator.milliseconds_used();
  crowd.say_what_they_do(world);
  std::vector<double> times;
  crowd.barrier();
  const double used = coordinator.milliseconds_used();
  for (int round = 0; round < rounds; ++round) times.push_back(crowd.barrier());
  const double barrier = bench::summarise(times).median;
  const double barrier_used = (coordinator.milliseconds_used() - used) / rounds;
  const double each_kibibytes = (coordinator.kibibytes() - empty) / world;
  const auto print = [](double wall, double busy) { std::printf("  %8.1f %8.1f", wall, busy); };
  std::printf("%7d", world);
  print(join, join_used);
  print(barrier, barrier_used);
  std::printf("  %7.2f", each_kibibytes);
  nlohmann::json row{{"members", world},
                     {"join_ms", join},
                     {"join_busy_ms", join_used},
                     {"barrier_ms", barrier},
                     {"barrier_busy_ms", barrier_used},
                     {"kib_per_member", each_kibibytes}};
  for (const auto& [what, missing] : {std::pair("one", 1), std::pair("half", world / 2), std::pair("all but one", world - 1)}) {
    const Told told = crowd.meet_without_others(world - missing);
    print(told.milliseconds, told.busy_milliseconds);
    std::printf(" %5zu %5zu", told.bytes, told.text);
    row[text("missing ", what)] = {
        {"ms", told.milliseconds}, {"busy_ms", told.busy_milliseconds}, {"bytes", told.bytes}, {"text", told.text}};
  }
  std::printf("\n");
  std::fflush(stdout);
  report.note(text(world, " members"), row);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv);
  bench::Report report("coordinator_scale");
  std::printf(
      "Milliseconds until all have done it, and of those the coordinator's own processor time; KiB of its memory for each "
      "member.\n"
      "Of a report also the bytes on the wire, for one member, and in print.\n");
  std::printf("%7s  %17s  %17s  %7s  %29s  %29s  %29s\n", "members", "joining", "barrier", "memory", "report: one missing",
              "half missing", "all but one missing");
  for (const int world : {256, 1'024, 4'096}) {
    if (!may_open(static_cast<rlim_t>(world) + 100)) {
      std::printf("%7d  this user may not open so many files\n", world);
      continue;
    }
    measure(options.is_quick() ? world / 16 : world, options.calls(20), report);
  }
  report.write(options.json());
}
