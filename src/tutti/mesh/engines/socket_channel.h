// Messages between all members of a group, through sockets of its own: in rounds, in which each sends something to each.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tutti/mesh/engines/connections.h"
#include "tutti/mesh/engines/rendezvous.h"

namespace tutti {

// Has no thread: who calls round() moves the bytes, without a copy in between, and sleeps while none can be moved.
class SocketChannel {
 public:
  struct Send {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;  // none: no message
  };
  struct Receive {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };

  // Who waits for a member whose host has answered nothing for `silent_after` gives up, whatever the deadline of the round.
  SocketChannel(Rendezvous& rendezvous, const ConnectingMember& self, std::chrono::milliseconds silent_after, Deadline deadline);
  ~SocketChannel();
  SocketChannel(const SocketChannel&) = delete;
  SocketChannel& operator=(const SocketChannel&) = delete;

  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] int index() const noexcept { return index_; }

  // Throws what an earlier failure left, before anything is done for `what`.
  void check(const std::string& what) const;
  // One message to each member and one from each, of lengths that both know. Blocks until all of it is done. Throws
  // DeadlineExceeded or ExchangeFailed; then the channel is closed for good, and the others, as far as they wait for this one,
  // learn of it.
  void round(const std::string& what, std::span<const Send> sends, std::span<const Receive> receives, Deadline deadline);
  // From any thread.
  void fail(const char* why) noexcept;

 private:
  struct Peer;

  void transfer(std::span<const Send> sends, std::span<const Receive> receives, Deadline deadline);
  // Those that are waited for and cannot be reached.
  void end_silent();
  [[nodiscard]] std::string why() const;
  [[noreturn]] void give_up(const std::string& what, Deadline deadline);
  [[nodiscard]] std::string what_it_said(int member, Deadline until) const;
  [[nodiscard]] std::string note_key(int member) const;

  Rendezvous& rendezvous_;
  std::string key_;
  int size_;
  int index_;
  std::vector<std::string> names_;
  std::chrono::milliseconds silent_after_;
  std::vector<std::unique_ptr<Peer>> peers_;  // none of this one, and none where it is over
  std::vector<std::byte> sealed_;             // a record on its way out, for each peer
  wire::Descriptor bell_;                     // rings once it has failed
  std::atomic<bool> is_failed_ = false;
  mutable std::mutex mutex_;  // held for a moment, around why_
  std::string why_;
};

}  // namespace tutti
