// Several processes of one test: forked, each with a place to leave texts for the others, reaped whatever happens.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tutti/mesh/engines/rendezvous.h"

namespace tutti::testing_engines {

// Key-value store of a test's own, in memory that its processes share.
class Blackboard final : public Rendezvous {
 public:
  Blackboard();
  ~Blackboard() override;
  void put(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key, Deadline deadline) override;

 private:
  struct Notes;
  Notes* notes_;
};

// Memory that the forked processes share with their parent, zero at first.
template <class T>
class Witness {
 public:
  Witness();
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  T* operator->() const { return static_cast<T*>(at_); }
  T& operator*() const { return *static_cast<T*>(at_); }

 private:
  void* at_;
};

void* shared_pages(std::size_t bytes);
void release_pages(void* at, std::size_t bytes);
template <class T>
Witness<T>::Witness() : at_(shared_pages(sizeof(T))) {}
template <class T>
Witness<T>::~Witness() {
  release_pages(at_, sizeof(T));
}

// In a child: ends it with the message.
inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// Until a child has ended: its exit status, -signal, or 1000 when it did not end in time. Reaped, the pid becomes 0.
int status_of(pid_t& child, std::chrono::milliseconds longest);

class Processes {
 public:
  // The body's exceptions end the child with its message on stderr and status 1.
  Processes(int count, const std::function<void(int index)>& body);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  [[nodiscard]] pid_t pid(int index) const { return pids_.at(static_cast<std::size_t>(index)); }
  void signal(int index, int signal) const;
  // Until this one has ended: its exit status, -signal, or 1000 when it did not end in time.
  int status(int index, std::chrono::milliseconds longest = std::chrono::seconds(60));
  // That every one of them ended well.
  void expect_success();

 private:
  std::vector<pid_t> pids_;
};

// Less of everything where a sanitizer makes it slow.
constexpr bool is_sanitized() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return true;
#else
  return false;
#endif
}

inline Deadline in(std::chrono::milliseconds time) { return Clock::now() + time; }

}  // namespace tutti::testing_engines
