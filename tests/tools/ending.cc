// A program that ends in one of the ways in which programs end, after one sync. usage: ending HOW
#include <sys/wait.h>
#include <tutti/tutti.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>

#include "streams/gate.h"

namespace tt = tutti;

namespace {

volatile std::sig_atomic_t has_come = 0;

void say_ready() { std::cout << "ready" << std::endl; }

void read_one() {
  const tt::DeviceScope on("GPU:0");
  (void)tt::item<float>(tt::sum(tt::ones({64})));
}

[[noreturn]] void wait_for_ever() {
  say_ready();
  for (;;) ::pause();
}

// Says so when the host is inside the sync.
[[noreturn]] void sync_for_ever() {
  static tt::testing_streams::Gate gate;
  const tt::Tensor held = gate.close("GPU:0");
  std::thread([] {
    for (bool is_there = false; !is_there;) {
      for (const tt::SyncTotals& site : tt::sync_totals())
        is_there |= site.reason == tt::SyncReason::tensor_sync && site.waiting == 1;
    }
    say_ready();
  }).detach();
  held.sync();
  std::_Exit(1);
}

int end(const std::string& how) {
  read_one();
  if (how == "throw") throw std::runtime_error("nobody catches this");
  if (how == "throw in a thread") std::thread([] { throw std::runtime_error("nobody catches this"); }).join();
  if (how == "throw to a handler") {
    std::set_terminate([] { std::_Exit(11); });
    throw std::runtime_error("nobody catches this");
  }
  if (how == "wait") wait_for_ever();
  if (how == "sync") sync_for_ever();
  if (how == "go on when interrupted") {
    say_ready();
    ::pause();
  }
  if (how == "handle") {
    std::signal(SIGINT, [](int) { has_come = 1; });
    say_ready();
    while (has_come == 0) ::usleep(1000);
    return 12;
  }
  if (how == "fork") {
    const pid_t child = ::fork();
    if (child == 0) wait_for_ever();
    ::kill(child, SIGINT);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGINT ? 13 : 14;
  }
  return 0;
}

}  // namespace

int main(int, char** arguments) { return end(arguments[1]); }
