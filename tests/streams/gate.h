// A kernel that runs until the test lets it go, and one that writes down when it ran: order without sleeping.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string_view>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::testing_streams {

// Holds the worker that runs it. The test must open() it, else the program never ends; the destructor sees to that.
class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { open(); }

  // Enqueues the kernel on the current stream of that device; what comes after it on that stream waits.
  Tensor close(std::string_view device, Site site = {}) {
    const DeviceScope on(device);
    return call_op(row(), std::vector<Tensor>{}, Attributes(state_), site).at(0);
  }
  // Blocks until the kernel is running.
  void await_entered() const { state_->entered.wait(false); }
  void open() {
    state_->opened = true;
    state_->opened.notify_all();
  }

 private:
  struct State {
    std::atomic<bool> entered{false};
    std::atomic<bool> opened{false};
  };
  static const OpRow& row() {
    static const Kernel pass = [](const KernelCall& call, KernelContext&) {
      auto* state = call.attributes->as<State*>();
      state->entered = true;
      state->entered.notify_all();
      state->opened.wait(false);
      *call.out().as<float>() = 1;
    };
    static const Infer infer = [](Inference& in) { in.output(DType::f32, Shape{}); };
    static const OpRow& made = register_op({.name = "TestGate", .infer = infer}, {.cpu = pass, .sim = pass});
    return made;
  }
  // Never freed: a kernel may be about to leave it. Gates are made by one thread of a test.
  static State& make_state() {
    static auto& all = *new std::deque<State>;
    return all.emplace_back();
  }
  State* state_ = &make_state();
};

// What ran, in the order in which it ran.
class Notes {
 public:
  // Enqueues a kernel that writes the number down; depends on nothing.
  Tensor note(std::int64_t number, Site site = {}) {
    return call_op(row(), std::vector<Tensor>{}, Attributes(Entry{&numbers_, &mutex_, number}), site).at(0);
  }
  [[nodiscard]] std::vector<std::int64_t> taken() {
    const std::lock_guard lock(mutex_);
    return numbers_;
  }

 private:
  struct Entry {
    std::vector<std::int64_t>* into;
    std::mutex* mutex;
    std::int64_t number;
  };
  static const OpRow& row() {
    static const Kernel write = [](const KernelCall& call, KernelContext&) {
      const auto entry = call.attributes->as<Entry>();
      const std::lock_guard lock(*entry.mutex);
      entry.into->push_back(entry.number);
      *call.out().as<std::int64_t>() = entry.number;
    };
    static const Infer infer = [](Inference& in) { in.output(DType::i64, Shape{}); };
    static const OpRow& made = register_op({.name = "TestNote", .infer = infer}, {.cpu = write, .sim = write});
    return made;
  }
  std::mutex mutex_;
  std::vector<std::int64_t> numbers_;
};

}  // namespace tutti::testing_streams
