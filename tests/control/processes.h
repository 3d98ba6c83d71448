// Real processes that take part in a job: killed with the test, whatever happens to it. Fork before there are threads.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "control/served.h"
#include "tutti/base/text.h"

namespace tutti {

// A child that says lines to its parent, and waits for words of it.
class Process {
 public:
  // What the child can say and hear.
  class Talk {
   public:
    Talk(int out, int in) : out_(out), in_(in) {}
    void say(const std::string& line) const {
      const std::string whole = line + '\x1e';
      if (write(out_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) _exit(3);
    }
    void hear() const {
      char word = 0;
      if (::read(in_, &word, 1) != 1) _exit(3);
    }

   private:
    int out_;
    int in_;
  };

  template <class Work>
  explicit Process(const Work& work) {
    int up[2];
    int down[2];
    if (pipe2(up, O_CLOEXEC) != 0 || pipe2(down, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    const int parent = getpid();
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("no fork");
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(3);
      close(up[0]);
      close(down[1]);
      const Talk talk(up[1], down[0]);
      try {
        work(talk);
      } catch (const std::exception& error) {
        talk.say(text("threw ", error.what()));
        _exit(1);
      }
      _exit(0);
    }
    close(up[1]);
    close(down[0]);
    in_ = up[0];
    out_ = down[1];
  }
  Process(Process&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), in_(std::exchange(other.in_, -1)), out_(std::exchange(other.out_, -1)) {}
  Process& operator=(Process&&) = delete;
  ~Process() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      reap();
    }
    if (in_ >= 0) close(in_);
    if (out_ >= 0) close(out_);
  }

  [[nodiscard]] int pid() const { return pid_; }
  void signal(int number) const { kill(pid_, number); }
  void tell() const {
    if (write(out_, "!", 1) != 1) throw std::runtime_error("the process does not listen");
  }
  // The next line it says; waits for it.
  std::string line() {
    std::string line;
    for (char c = 0; ::read(in_, &c, 1) == 1 && c != '\x1e';) line += c;
    return line;
  }
  void reap() {
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
};

// A coordinator in a process of its own, and what its members need to know.
class Job {
 public:
  explicit Job(int world, milliseconds dead_after = milliseconds(10'000)) : world_(world) {
    CoordinatorOptions options;
    options.world = world;
    options.job = "test";
    options.secret = secret_of_tests;
    options.dead_after = dead_after;
    auto coordinator = Coordinator::open(options);
    address_ = coordinator->address();
    process_ = std::make_unique<Process>([&](const Process::Talk&) { coordinator->serve(); });
  }

  [[nodiscard]] Process& coordinator() const { return *process_; }
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] Membership who(int rank) const {
    Membership who;
    who.rank = rank;
    who.world = world_;
    who.coordinator = address_;
    who.job = "test";
    who.secret = secret_of_tests;
    return who;
  }

 private:
  int world_;
  std::string address_;
  std::unique_ptr<Process> process_;
};

}  // namespace tutti
