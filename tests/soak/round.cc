#include "soak/round.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "soak/rank.h"
#include "tutti/mesh/control/coordinator.h"

namespace tutti::soak {

namespace {

using std::chrono::milliseconds;

// A rank is at most so far behind another.
constexpr std::int64_t run_ahead = 40;
// All of a round that is over has ended by then.
constexpr milliseconds ending_limit = 60s;
// What should take 5 ms took so long.
constexpr milliseconds starved = 100ms;
constexpr std::int64_t coordinator_limit_kib = 64 << 10;
constexpr milliseconds between_looks = 100ms;

Instant now() { return std::chrono::steady_clock::now(); }

void pass(milliseconds time) { ::poll(nullptr, 0, static_cast<int>(time.count())); }

bool is_root() { return ::geteuid() == 0; }

int appended_memory(const char* name) {
  const int made = ::memfd_create(name, MFD_CLOEXEC);
  if (made < 0 || ::fcntl(made, F_SETFL, O_APPEND) < 0) throw std::runtime_error("no memory for a log");
  return made;
}

std::string contents(int file) {
  std::string out(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)), '\0');
  const ssize_t got = ::pread(file, out.data(), out.size(), 0);
  out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return out;
}

std::unique_ptr<testing_hosts::Network> network_of(const Plan& plan) {
  if (plan.hosts == 1) return nullptr;
  return std::make_unique<testing_hosts::Network>(plan.hosts + 1, plan.seed);
}

std::string random_words(std::mt19937_64& random) {
  std::ostringstream out;
  out << std::hex << random() << random();
  return out.str();
}

}  // namespace

Round::Round(std::uint64_t seed, const Options& options)
    : plan_(seed, is_root()),
      options_(options),
      network_(network_of(plan_)),
      faults_(plan_, network_.get(), options.restarts && plan_.restarts) {
  options_.restarts = options_.restarts && plan_.restarts;
  std::mt19937_64 random(plan_.seed ^ static_cast<std::uint64_t>(::getpid()));
  job_ = "soak-" + random_words(random);
  secret_ = random_words(random);
  log_ = appended_memory("log");
  output_ = appended_memory("output");
  processes_.ranks.resize(static_cast<std::size_t>(plan_.world));
  processes_.board = &*board_;
}

Round::~Round() {
  for (const pid_t process : processes_.ranks) {
    if (process > 0) ::kill(process, SIGKILL);
  }
  if (processes_.coordinator > 0) ::kill(processes_.coordinator, SIGKILL);
  for (const pid_t process : processes_.ranks) {
    if (process > 0) ::waitpid(process, nullptr, 0);
  }
  if (processes_.coordinator > 0) ::waitpid(processes_.coordinator, nullptr, 0);
  ::close(log_);
  ::close(output_);
}

pid_t Round::forked(const std::function<int()>& body) {
  const pid_t parent = ::getpid();
  std::cout.flush();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process can be made");
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::dup2(output_, STDOUT_FILENO);
  ::dup2(output_, STDERR_FILENO);
  int status = 1;
  try {
    status = body();
  } catch (const std::exception& e) {
    std::cerr << "process " << ::getpid() << ": " << e.what() << std::endl;
  }
  std::exit(status);
}

void Round::start_coordinator() {
  CoordinatorOptions options;
  options.world = plan_.world;
  options.job = job_;
  options.secret = secret_;
  options.dead_after = dead_after;
  std::optional<testing_hosts::Visit> at;
  if (network_) {
    options.listen = testing_hosts::Network::address(plan_.coordinator_host()) + ":0";
    at.emplace(*network_, plan_.coordinator_host());
  }
  const std::unique_ptr<Coordinator> coordinator = Coordinator::open(options);
  address_ = coordinator->address();
  processes_.coordinator = forked([&] {
    coordinator->serve();
    return 0;
  });
}

void Round::start_rank(int rank, std::int64_t first) {
  Seat& seat = board_->seats.at(static_cast<std::size_t>(rank));
  seat.step = first;
  for (auto& each : seat.told_gone) each = 0;
  seat.call_began = 0;
  seat.is_to_exit = false;
  processes_.ranks[static_cast<std::size_t>(rank)] = forked([&] {
    const auto say = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
    say("TUTTI_WORLD_SIZE", std::to_string(plan_.world));
    say("TUTTI_COORDINATOR", address_);
    say("TUTTI_JOB_ID", job_);
    say("TUTTI_JOB_SECRET", secret_);
    say("TUTTI_RANK", std::to_string(rank));
    say("TUTTI_LOCAL_RANK", std::to_string(rank));
    // Hosts of one kernel would share it.
    if (!plan_.shares_memory) say("TUTTI_SHARED_MEMORY", "0");
    if (network_) network_->enter(plan_.host_of(rank));
    return run_rank(plan_, rank, first, options_.restarts, *board_, log_);
  });
}

void Round::reap() {
  for (int rank = 0; rank < plan_.world; ++rank) {
    pid_t& process = processes_.ranks[static_cast<std::size_t>(rank)];
    int status = 0;
    if (process == 0 || ::waitpid(process, &status, WNOHANG) != process) continue;
    process = 0;
    exits_.push_back({rank, now(), WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status)});
  }
  int status = 0;
  if (processes_.coordinator == 0 || ::waitpid(processes_.coordinator, &status, WNOHANG) != processes_.coordinator) return;
  processes_.coordinator = 0;
  const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  const bool has_ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;  // nobody is left who is not dead to it
  if (!was_killed && !has_ended) wrong_.push_back("the coordinator ended with " + std::to_string(status));
}

// So that all can be told the same end: nobody is past what is allowed.
void Round::let_go_on() {
  std::int64_t least = board_->allowed;
  for (int rank = 0; rank < plan_.world; ++rank) {
    if (processes_.ranks[static_cast<std::size_t>(rank)] == 0) continue;
    least = std::min(least, board_->seats.at(static_cast<std::size_t>(rank)).step.load());
  }
  board_->allowed = std::max(board_->allowed.load(), least + run_ahead);
}

// Where all others wait for it, and nobody passes before it is there. That one has failed there is not enough: it may have failed
// before this one came and was lost, and the answer that lets it pass be on its way. Who is told, by a call begun after the end,
// that this one is gone, waits.
std::optional<std::int64_t> Round::gathering_without(int lost) const {
  const auto end = std::find_if(exits_.rbegin(), exits_.rend(), [lost](const Exit& exit) { return exit.rank == lost; });
  std::optional<std::int64_t> gathering;
  for (int rank = 0; rank < plan_.world; ++rank) {
    if (processes_.ranks[static_cast<std::size_t>(rank)] == 0) continue;
    const Seat& seat = board_->seats.at(static_cast<std::size_t>(rank));
    if (instant(seat.told_gone.at(static_cast<std::size_t>(lost))) <= end->at) return std::nullopt;
    gathering = seat.step;
  }
  return gathering;
}

void Round::bring_back() {
  if (processes_.coordinator == 0) return;
  std::vector<std::pair<int, std::int64_t>> awaited;
  for (int rank = 0; rank < plan_.world; ++rank) {
    if (processes_.ranks[static_cast<std::size_t>(rank)] != 0) continue;
    if (const auto gathering = gathering_without(rank)) awaited.emplace_back(rank, *gathering);
  }
  for (const auto& [rank, gathering] : awaited) {
    start_rank(rank, gathering);
    ++restarted_;
  }
}

Instant::duration Round::stopped_since(int rank, Instant since) const {
  Instant::duration out{};
  for (const Starvation& each : starvations_) out += std::max(Instant::duration(0), each.end - std::max(since, each.begin));
  for (const Fault& fault : faults_.all()) {
    if (fault.kind != Fault::Kind::stop || fault.target != rank) continue;
    out += std::max(Instant::duration(0), std::min(now(), fault.end) - std::max(since, fault.begin));
  }
  return out;
}

void Round::look_for_hangs() {
  for (int rank = 0; rank < plan_.world; ++rank) {
    const Seat& seat = board_->seats.at(static_cast<std::size_t>(rank));
    const std::int64_t began = seat.call_began;
    if (processes_.ranks[static_cast<std::size_t>(rank)] == 0 || began == 0) continue;
    const Instant late = instant(seat.call_limit) + stopped_since(rank, instant(began)) + grace;
    if (now() <= late || seat.call_began != began) continue;
    std::ostringstream out;
    const auto at = std::chrono::duration_cast<milliseconds>(instant(began) - begin_).count();
    out << "HANG: rank " << rank << " is at step " << seat.step << " since " << at << " ms and not back "
        << std::chrono::duration_cast<milliseconds>(now() - instant(began)).count() << " ms later";
    wrong_.push_back(out.str());
  }
}

void Round::look_at_coordinator() {
  if (processes_.coordinator == 0) return;
  coordinator_kib_ = std::max(coordinator_kib_, anonymous_kib(processes_.coordinator));
  if (coordinator_kib_ > coordinator_limit_kib)
    wrong_.push_back("the coordinator holds " + std::to_string(coordinator_kib_) + " KiB");
}

void Round::look_at_holdings() {
  if (now() < holdings_at_) return;
  holdings_at_ = now() + between_looks;
  for (std::size_t rank = 0; rank < processes_.ranks.size(); ++rank) {
    if (processes_.ranks[rank] == 0) continue;
    Holdings& holdings = holdings_[rank];
    if (const auto wrong = holdings.look(processes_.ranks[rank], board_->seats.at(rank).step))
      wrong_.push_back("rank " + std::to_string(rank) + " " + *wrong);
    more_descriptors_ = std::max(more_descriptors_, holdings.more_descriptors());
    more_kib_ = std::max(more_kib_, holdings.more_kib());
  }
}

void Round::look_for_what_is_left() {
  // The relay is a child of ours and still needed.
  network_.reset();
  if (const pid_t left = ::waitpid(-1, nullptr, WNOHANG); left >= 0)
    wrong_.push_back("a process was left behind: " + std::to_string(left));
  namespace files = std::filesystem;
  std::error_code error;
  if (is_root()) {
    for (const auto& each : files::directory_iterator("/dev/shm", error))
      wrong_.push_back("left behind: " + each.path().string());
  }
  for (const auto& folder : files::directory_iterator("/tmp", error)) {
    if (!folder.path().filename().string().starts_with("tutti-")) continue;
    for (const auto& each : files::directory_iterator(folder.path(), error)) {
      if (each.path().string().find(job_) != std::string::npos) wrong_.push_back("left behind: " + each.path().string());
    }
  }
}

bool Round::is_all_gone() const {
  return std::all_of(processes_.ranks.begin(), processes_.ranks.end(), [](pid_t process) { return process == 0; });
}

std::vector<std::string> Round::run(Counts& counts) {
  begin_ = now();
  for (int host = 0; network_ && host <= plan_.hosts; ++host) network_->set_ways(host, {.delay = plan_.delay});
  start_coordinator();
  for (int rank = 0; rank < plan_.world; ++rank) start_rank(rank, 0);
  Instant over = begin_ + plan_.length;
  while (!is_all_gone() && wrong_.empty()) {
    reap();
    // What includes one that is lost fails from then on: a moment of it is enough.
    for (const Fault& fault : faults_.all()) {
      if (fault.is_fatal && !options_.restarts) over = std::min(over, fault.end + 2s);
    }
    const bool is_over = now() >= over;
    faults_.tick(now(), processes_, options_.has_faults && !is_over);
    if (is_over) {
      board_->is_over = true;
    } else {
      let_go_on();
    }
    if (options_.restarts && !faults_.is_any_going_on()) bring_back();
    look_for_hangs();
    look_at_coordinator();
    look_at_holdings();
    if (now() > over + ending_limit)
      wrong_.push_back("HANG: not all ranks have ended " + std::to_string(ending_limit.count()) + " ms after the last step");
    const Instant before = now();
    pass(5ms);
    if (now() - before > starved) starvations_.push_back({before, now()});
  }
  faults_.end_all(now(), processes_);
  if (wrong_.empty()) {
    if (processes_.coordinator > 0) {
      ::kill(processes_.coordinator, SIGKILL);
      ::waitpid(processes_.coordinator, nullptr, 0);
      processes_.coordinator = 0;
    }
    look_for_what_is_left();
  }
  const std::vector<Entry> entries = entries_in(contents(log_));
  for (const std::string& each : judged({plan_, entries, faults_.all(), exits_, starvations_, begin_})) wrong_.push_back(each);
  ++counts.rounds;
  for (const Entry& entry : entries) {
    ++counts.outcomes.at(static_cast<std::size_t>(entry.outcome));
    if (entry.step < 0) continue;
    const Step step = plan_.step(entry.step);
    if (step.kind == Step::Kind::barrier) ++counts.barriers;
    counts.all_reduces += static_cast<std::int64_t>(step.counts.size());
  }
  counts.faults += static_cast<std::int64_t>(faults_.all().size());
  for (const Fault& fault : faults_.all()) counts.deaths += fault.is_fatal ? 1 : 0;
  counts.restarts += restarted_;
  counts.starvations += static_cast<std::int64_t>(starvations_.size());
  counts.coordinator_kib = std::max(counts.coordinator_kib, coordinator_kib_);
  counts.more_descriptors = std::max(counts.more_descriptors, more_descriptors_);
  counts.more_kib = std::max(counts.more_kib, more_kib_);
  return wrong_;
}

std::string Round::story() const {
  std::ostringstream out;
  for (const Fault& fault : faults_.all()) out << "  " << fault.to_string(begin_) << '\n';
  for (const Exit& exit : exits_)
    out << "  rank " << exit.rank << " ended with " << exit.status << " at "
        << std::chrono::duration_cast<milliseconds>(exit.at - begin_).count() << " ms\n";
  const std::string said = contents(output_);
  constexpr std::size_t most = 6'000;
  out << (said.size() > most ? "..." + said.substr(said.size() - most) : said);
  return out.str();
}

void keep_to_itself() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (!is_root() || ::unshare(CLONE_NEWNS) != 0) return;
  const bool is_apart =
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 && ::mount("tmpfs", "/dev/shm", "tmpfs", 0, nullptr) == 0;
  if (!is_apart) throw std::runtime_error("/dev/shm cannot be made this process's own");
}

}  // namespace tutti::soak
