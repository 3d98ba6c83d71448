#include "engines/processes.h"

#include <gtest/gtest.h>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <iostream>
#include <thread>

#include "tutti/base/error.h"

namespace tutti::testing_engines {

void* shared_pages(std::size_t bytes) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("no shared pages");
  return at;
}

void release_pages(void* at, std::size_t bytes) { ::munmap(at, bytes); }

struct Blackboard::Notes {
  struct Note {
    std::atomic<bool> is_there;
    std::size_t key_length;
    std::size_t value_length;
    std::array<char, 128> key;
    std::array<char, 4096> value;
  };
  std::atomic<std::size_t> count;
  std::array<Note, 512> notes;
};

Blackboard::Blackboard() : notes_(static_cast<Notes*>(shared_pages(sizeof(Notes)))) {}
Blackboard::~Blackboard() { release_pages(notes_, sizeof(Notes)); }

void Blackboard::put(const std::string& key, const std::string& value) {
  Notes::Note& note = notes_->notes.at(notes_->count.fetch_add(1));
  require(key.size() <= note.key.size() && value.size() <= note.value.size(), "too long for the blackboard: " + key);
  std::memcpy(note.key.data(), key.data(), key.size());
  std::memcpy(note.value.data(), value.data(), value.size());
  note.key_length = key.size();
  note.value_length = value.size();
  note.is_there.store(true);
}

std::string Blackboard::get(const std::string& key, Deadline deadline) {
  for (;;) {
    for (Notes::Note& note : notes_->notes) {
      if (!note.is_there.load() || key != std::string_view(note.key.data(), note.key_length)) continue;
      return {note.value.data(), note.value_length};
    }
    if (deadline && Clock::now() >= *deadline) throw DeadlineExceeded("nobody put '" + key + "'", Site());
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

Processes::Processes(int count, const std::function<void(int index)>& body) {
  const pid_t parent = ::getpid();
  std::cout.flush();
  for (int index = 0; index < count; ++index) {
    const pid_t child = ::fork();
    if (child != 0) {
      pids_.push_back(child);
      continue;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    int status = 0;
    try {
      body(index);
    } catch (const std::exception& e) {
      std::cerr << "process " << index << ": " << e.what() << std::endl;
      status = 1;
    }
    ::_exit(status);
  }
}

Processes::~Processes() {
  for (const pid_t pid : pids_) {
    if (pid <= 0) continue;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

void Processes::signal(int index, int signal) const { ::kill(pid(index), signal); }

int status_of(pid_t& child, std::chrono::milliseconds longest) {
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  if (descriptor >= 0) {
    pollfd ended{descriptor, POLLIN, 0};
    const int found = ::poll(&ended, 1, static_cast<int>(longest.count()));
    ::close(descriptor);
    if (found == 0) return 1000;
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  child = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int Processes::status(int index, std::chrono::milliseconds longest) {
  return status_of(pids_.at(static_cast<std::size_t>(index)), longest);
}

void Processes::expect_success() {
  for (int index = 0; index < static_cast<int>(pids_.size()); ++index) EXPECT_EQ(status(index), 0) << "process " << index;
}

}  // namespace tutti::testing_engines
