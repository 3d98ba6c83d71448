#include "tools/coordinator.h"

#include <atomic>
#include <csignal>
#include <iostream>
#include <stdexcept>

#include "tutti/base/environment.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/host_port.h"
#include "tutti/mesh/control/job_file.h"

namespace tutti::tools {

namespace {

// For the handler of the signals that end it, which finds nothing else.
std::atomic<Coordinator*> served_here{nullptr};

void stop_serving(int /*signal*/) {
  if (Coordinator* const coordinator = served_here.load()) coordinator->stop();
}

class StopOnSignals {
 public:
  explicit StopOnSignals(Coordinator& coordinator) {
    served_here = &coordinator;
    struct sigaction stop {};
    stop.sa_handler = stop_serving;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &stop, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
  }
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;
  ~StopOnSignals() { served_here = nullptr; }
};

// Whatever way it ends, but for a kill.
class TakenAwayAtTheEnd {
 public:
  explicit TakenAwayAtTheEnd(std::string path) : path_(std::move(path)) {}
  TakenAwayAtTheEnd(const TakenAwayAtTheEnd&) = delete;
  TakenAwayAtTheEnd& operator=(const TakenAwayAtTheEnd&) = delete;
  ~TakenAwayAtTheEnd() {
    if (!path_.empty()) JobFile::remove(path_);
  }

 private:
  std::string path_;
};

}  // namespace

int run_coordinator(CoordinatorCommand command) {
  const auto secret = environment_text("TUTTI_JOB_SECRET");
  if (!secret)
    throw std::runtime_error("TUTTI_JOB_SECRET is not set; set it to random text that every rank of the job is given too");
  if (!parse_host_port(command.options.listen, 0)) {
    throw std::runtime_error(text("--listen '", printable(command.options.listen), "': host:port or [v6]:port was expected"));
  }
  command.options.secret = *secret;
  const auto coordinator = Coordinator::open(command.options);
  const StopOnSignals stop(*coordinator);
  std::cout << coordinator->address() << std::endl;
  if (!std::cout) throw std::runtime_error("the address could not be written");
  const TakenAwayAtTheEnd file(command.job_file);
  coordinator->serve();
  return 0;
}

}  // namespace tutti::tools
