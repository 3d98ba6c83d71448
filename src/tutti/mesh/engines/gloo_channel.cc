#include "tutti/mesh/engines/gloo_channel.h"

#include <csignal>
#include <ctime>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <utility>
#include <vector>

#include <gloo/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/engines/gloo_context.h"

namespace tutti {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds for_ever{std::chrono::hours(24 * 365)};
// How long to look for the word of a member whose connection ended: its sockets may close a moment before it says why.
constexpr milliseconds for_a_word{300};

constexpr std::uint64_t never_sent = std::numeric_limits<std::uint64_t>::max();

milliseconds time_left(Deadline deadline) {
  if (!deadline) return for_ever;
  // Up, so that gloo never gives up before the deadline.
  return std::clamp(std::chrono::ceil<milliseconds>(*deadline - Clock::now()), milliseconds(0), for_ever);
}

// gloo writes to sockets that may have been closed, and leaves the signal for that to its user.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) != 0;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace

struct GlooChannel::Gloo {
  std::shared_ptr<gloo::transport::Device> device;
  std::shared_ptr<gloo::Context> context;
  std::vector<std::byte> outgoing;
  std::vector<std::byte> incoming;
  std::unique_ptr<gloo::transport::UnboundBuffer> sender;
  std::unique_ptr<gloo::transport::UnboundBuffer> receiver;
  std::uint64_t slot = 0;
  std::vector<bool> waited_for;  // in this round
};

GlooChannel::GlooChannel(Rendezvous& rendezvous, std::string key, int size, int index, const std::string& address,
                         std::size_t room, Deadline deadline, const std::stop_token& stop)
    : rendezvous_(rendezvous), key_(std::move(key)), size_(size), index_(index), room_(room) {
  if (size_ > 1) connect(address, deadline, stop);
}

GlooChannel::~GlooChannel() {
  const NoBrokenPipe quiet;
  gloo_.reset();
}

void GlooChannel::connect(const std::string& address, Deadline deadline, const std::stop_token& stop) {
  const NoBrokenPipe quiet;  // gloo's thread takes this over
  gloo_ = std::make_unique<Gloo>();
  Gloo& g = *gloo_;
  try {
    gloo::transport::tcp::attr where;
    where.hostname = address;
    g.device = gloo::transport::tcp::CreateDevice(where);
    g.context = connect_all(index_, size_, g.device, rendezvous_, key_ + "/gloo", deadline, stop);
  } catch (const Error&) {
    throw;  // says it itself
  } catch (const std::exception& e) {
    const std::string said = text("Member ", index_, " of ", size_, " could not connect to the others from ", printable(address),
                                  " (gloo: ", printable(e.what(), 200), ").");
    if (deadline && Clock::now() >= *deadline) throw DeadlineExceeded(said, Site());
    throw ExchangeFailed(said, Site());
  }
  const std::size_t bytes = static_cast<std::size_t>(size_) * room_;
  g.outgoing.resize(bytes);
  g.incoming.resize(bytes);
  g.sender = g.context->createUnboundBuffer(g.outgoing.data(), bytes);
  g.receiver = g.context->createUnboundBuffer(g.incoming.data(), bytes);
  g.waited_for.resize(static_cast<std::size_t>(size_));
}

std::byte* GlooChannel::outgoing(int member) noexcept {
  return gloo_->outgoing.data() + static_cast<std::size_t>(member) * room_;
}
const std::byte* GlooChannel::incoming(int member) const noexcept {
  return gloo_->incoming.data() + static_cast<std::size_t>(member) * room_;
}

std::string GlooChannel::why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

std::string GlooChannel::note_key(int member) const { return text(key_, "/gave_up/", member); }

void GlooChannel::check(const std::string& what) const {
  if (is_failed_.load()) throw ExchangeFailed(text(what, " failed: ", why(), "."), Site());
}

void GlooChannel::fail(const char* why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!is_failed_.load()) why_ = why;
    is_failed_.store(true);
  }
  if (gloo_ == nullptr) return;
  // Whoever waits comes back; whoever is about to wait does so too.
  gloo_->receiver->abortWaitRecv();
  gloo_->sender->abortWaitSend();
}

void GlooChannel::transfer(std::span<const std::size_t> sends, std::span<const std::size_t> receives, Deadline deadline) {
  Gloo& g = *gloo_;
  const std::uint64_t slot = g.slot++;
  int coming = 0;
  int going = 0;
  for (int step = 1; step < size_; ++step) {
    const auto from = static_cast<std::size_t>((index_ + size_ - step) % size_);
    if (receives[from] == 0) continue;
    g.receiver->recv(static_cast<int>(from), slot, from * room_, receives[from]);
    g.waited_for[from] = true;
    ++coming;
  }
  for (int step = 1; step < size_; ++step) {
    const auto to = static_cast<std::size_t>((index_ + step) % size_);
    if (sends[to] == 0) continue;
    g.sender->send(static_cast<int>(to), slot, to * room_, sends[to]);
    ++going;
  }
  for (; coming > 0; --coming) {
    int who = index_;
    if (!g.receiver->waitRecv(&who, time_left(deadline))) return;
    g.waited_for[static_cast<std::size_t>(who)] = false;
  }
  for (; going > 0; --going) {
    if (!g.sender->waitSend(nullptr, time_left(deadline))) return;
  }
}

void GlooChannel::round(const std::string& what, std::span<const std::size_t> sends, std::span<const std::size_t> receives,
                        Deadline deadline) {
  check(what);
  if (gloo_ == nullptr) return;
  const NoBrokenPipe quiet;
  try {
    transfer(sends, receives, deadline);
  } catch (const std::exception& e) {
    give_up(what, e.what(), deadline);
  }
  if (is_failed_.load()) give_up(what, "", deadline);
}

// Members whose connection has ended, with what they said of it.
std::string GlooChannel::who_is_gone() const {
  std::vector<int> gone;
  for (int member = 0; member < size_; ++member) {
    if (member == index_) continue;
    try {
      // gloo tells it of a connection only when that is used. Nothing ever comes in this slot: in the next round's, those who
      // are ahead send already, and a message longer than what is expected ends the process.
      gloo_->receiver->recv(member, never_sent, static_cast<std::size_t>(member) * room_, 1);
    } catch (const std::exception&) {
      gone.push_back(member);
    }
  }
  std::string out;
  for (const int member : gone) {
    std::string said = "closed its connection (it died, or ended)";
    try {
      said = text("gave up: ", rendezvous_.get(note_key(member), Clock::now() + for_a_word));
    } catch (const Error&) {
      // It left no word, or there is no way to ask for it.
    }
    out += text(out.empty() ? "" : "; ", "member ", member, " ", printable(said, 200));
  }
  return out;
}

void GlooChannel::give_up(const std::string& what, const std::string& cause, Deadline deadline) {
  bool is_late = false;
  std::string reason;
  if (is_failed_.load()) {
    reason = why();
  } else if (deadline && Clock::now() >= *deadline) {
    is_late = true;
    std::string missing;
    for (int member = 0; member < size_; ++member) {
      if (gloo_->waited_for[static_cast<std::size_t>(member)]) missing += text(missing.empty() ? "" : ", ", member);
    }
    reason = missing.empty() ? "its deadline passed while it sent" : text("its deadline passed; members not there: ", missing);
  } else {
    reason = who_is_gone();
    if (reason.empty()) reason = "a connection failed";
    reason += text(" (gloo: ", printable(cause, 120), ")");
  }
  {
    const std::lock_guard lock(mutex_);
    if (!is_failed_.load()) why_ = reason;
    is_failed_.store(true);
  }
  try {
    rendezvous_.put(note_key(index_), text(reason, ", in ", what));
  } catch (const std::exception&) {
    // The others learn from the closed connections that this one gave up, only not why.
  }
  gloo_->context->closeConnections();
  const std::string said = text(what, is_late ? " was given up: " : " failed: ", reason, ".");
  if (is_late) throw DeadlineExceeded(said, Site());
  throw ExchangeFailed(said, Site());
}

}  // namespace tutti
