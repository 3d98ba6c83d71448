#include "tutti/mesh/engines/gloo_context.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <gloo/context.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/pair.h>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/engines/exchange.h"

namespace tutti {

namespace {

constexpr std::chrono::milliseconds without_limit{std::chrono::hours(24 * 365)};
constexpr std::chrono::milliseconds between_calls{20};

// At the deadline, or when it is told to stop: does something, and again until it goes out of scope. Once is not enough, because
// gloo opens what was closed a moment before it began to connect.
class Watch {
 public:
  template <class Call>
  Watch(Deadline deadline, const std::stop_token& stop, Call call)
      : on_stop_(stop, Wake{this}), thread_([=, this](const std::stop_token& done) {
          std::unique_lock lock(mutex_);
          bell_.wait_until(lock, done, deadline.value_or(Clock::now() + without_limit), [&] { return stop.stop_requested(); });
          while (!done.stop_requested()) {
            call();
            bell_.wait_for(lock, done, between_calls, [] { return false; });
          }
        }) {}

 private:
  struct Wake {
    Watch* watch;
    void operator()() const {
      { const std::lock_guard lock(watch->mutex_); }
      watch->bell_.notify_all();
    }
  };

  std::mutex mutex_;
  std::condition_variable_any bell_;
  std::stop_callback<Wake> on_stop_;
  std::jthread thread_;
};

class ConnectedContext final : public gloo::Context {
 public:
  using gloo::Context::Context;  // (index, size)

  void connect(const std::shared_ptr<gloo::transport::Device>& device, Rendezvous& rendezvous, const std::string& key,
               Deadline deadline, const std::stop_token& stop);

 private:
  void close_all() noexcept;

  std::mutex mutex_;  // held while the pairs are made, and while they are closed
};

void ConnectedContext::close_all() noexcept {
  const std::lock_guard lock(mutex_);
  if (transportContext_ == nullptr) return;
  for (int member = 0; member < size; ++member) {
    // Who waits for it to connect wakes up, and finds it closed.
    if (const auto& pair = transportContext_->getPair(member)) pair->close();
  }
}

void ConnectedContext::connect(const std::shared_ptr<gloo::transport::Device>& device, Rendezvous& rendezvous,
                               const std::string& key, Deadline deadline, const std::stop_token& stop) {
  std::string addresses;  // at each a member waits for one of the others, in their order
  {
    const std::lock_guard lock(mutex_);
    device_ = device;
    transportContext_ = device->createContext(rank, size);
    transportContext_->setTimeout(without_limit);
    for (int member = 0; member < size; ++member) {
      if (member == rank) continue;
      const auto& pair = transportContext_->createPair(member);
      pair->setLocalRank(0);
      const std::vector<char> bytes = pair->address().bytes();
      addresses.append(bytes.begin(), bytes.end());
    }
  }
  const std::size_t length = addresses.size() / static_cast<std::size_t>(size - 1);
  std::atomic<bool> is_over = false;
  const auto check = [&] {
    if (stop.stop_requested()) throw ExchangeFailed(text("member ", rank, " of ", size, " was told not to connect"), Site());
    if (is_over.load()) throw DeadlineExceeded(text("member ", rank, " of ", size, " was not connected in time"), Site());
  };
  const Watch watch(deadline, stop, [this, &is_over] {
    is_over.store(true);
    close_all();
  });
  rendezvous.put(text(key, "/", rank), addresses);
  for (int member = 0; member < size; ++member) {
    if (member == rank) continue;
    const std::string theirs = rendezvous.get(text(key, "/", member), deadline);
    if (theirs.size() != addresses.size()) {
      throw ExchangeFailed(text("member ", member, " gave ", theirs.size(), " bytes of addresses, not ", addresses.size()),
                           Site());
    }
    const std::string mine = theirs.substr(length * static_cast<std::size_t>(rank < member ? rank : rank - 1), length);
    check();
    transportContext_->getPair(member)->connect({mine.begin(), mine.end()});
    check();
  }
}

}  // namespace

std::shared_ptr<gloo::Context> connect_all(int index, int size, const std::shared_ptr<gloo::transport::Device>& device,
                                           Rendezvous& rendezvous, const std::string& key, Deadline deadline,
                                           const std::stop_token& stop) {
  auto made = std::make_shared<ConnectedContext>(index, size);
  made->connect(device, rendezvous, key, deadline, stop);
  return made;
}

}  // namespace tutti
