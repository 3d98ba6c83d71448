#include "tutti/mesh/engines/gloo_context.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <thread>
#include <vector>

#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/engines/exchange.h"

namespace tutti {

namespace {

constexpr std::chrono::milliseconds for_ever{std::chrono::hours(24 * 365)};

// Rings once at the deadline, unless it goes out of scope first.
template <class Call>
class Alarm {
 public:
  Alarm(Deadline deadline, Call call) {
    if (!deadline) return;
    thread_ = std::jthread([at = *deadline, call](const std::stop_token& done) {
      std::mutex mutex;
      std::condition_variable_any bell;
      std::unique_lock lock(mutex);
      bell.wait_until(lock, done, at, [] { return false; });
      if (!done.stop_requested()) call();
    });
  }

 private:
  std::jthread thread_;
};

}  // namespace

void GlooContext::close_all() noexcept {
  const std::lock_guard lock(mutex_);
  if (transportContext_ == nullptr) return;
  for (int member = 0; member < size; ++member) {
    // Who waits for it to connect wakes up, and finds it closed.
    if (const auto& pair = transportContext_->getPair(member)) pair->close();
  }
}

void GlooContext::connect(Rendezvous& rendezvous, const std::string& key, const std::shared_ptr<gloo::transport::Device>& device,
                          Deadline deadline, const std::stop_token& stop) {
  std::string addresses;  // at each a member waits for one of the others, in their order
  {
    const std::lock_guard lock(mutex_);
    device_ = device;
    transportContext_ = device->createContext(rank, size);
    transportContext_->setTimeout(for_ever);
    for (int member = 0; member < size; ++member) {
      if (member == rank) continue;
      const auto& pair = transportContext_->createPair(member);
      pair->setLocalRank(0);
      const std::vector<char> bytes = pair->address().bytes();
      addresses.append(bytes.begin(), bytes.end());
    }
  }
  const std::size_t length = addresses.size() / static_cast<std::size_t>(size - 1);
  std::atomic<bool> is_late = false;
  const auto check = [&] {
    if (stop.stop_requested()) throw ExchangeFailed("connecting was stopped", Site());
    if (is_late.load()) throw DeadlineExceeded("the others did not connect before the deadline", Site());
  };
  const auto ring = [this, &is_late] {
    is_late.store(true);
    close_all();
  };
  const Alarm alarm(deadline, ring);
  const std::stop_callback on_stop(stop, [this] { close_all(); });
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

}  // namespace tutti
