#include "tools/coordinator.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "tutti/base/text.h"
#include "tutti/mesh/control/host_port.h"
#include "tutti/mesh/control/job_file.h"
#include "tutti/mesh/wire/secret.h"

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

// The system shows a process's environment for as long as it runs, so the value is overwritten in place.
wire::Secret take_secret_from_environment() {
  char* const value = std::getenv("TUTTI_JOB_SECRET");
  if (value == nullptr) return {};
  wire::Secret secret(value);
  wire::wipe(value, std::strlen(value));
  return secret;
}

// What serves holds a key made from the secret, and the secret itself no more.
std::unique_ptr<Coordinator> open_with_secret_of_environment(CoordinatorOptions options) {
  const wire::Secret secret = take_secret_from_environment();
  if (secret.empty())
    throw std::runtime_error("TUTTI_JOB_SECRET is not set; set it to random text that every rank of the job is given too");
  if (!parse_host_port(options.listen, 0)) {
    throw std::runtime_error(text("--listen '", printable(options.listen), "': host:port or [v6]:port was expected"));
  }
  options.secret = secret.text();
  auto coordinator = Coordinator::open(options);
  wire::wipe(options.secret.data(), options.secret.size());
  return coordinator;
}

}  // namespace

int run_coordinator(CoordinatorCommand command) {
  const auto coordinator = open_with_secret_of_environment(std::move(command.options));
  const StopOnSignals stop(*coordinator);
  std::cout << coordinator->address() << std::endl;
  if (!std::cout) throw std::runtime_error("the address could not be written");
  const TakenAwayAtTheEnd file(command.job_file);
  coordinator->serve();
  return 0;
}

}  // namespace tutti::tools
