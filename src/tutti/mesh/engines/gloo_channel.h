// Messages between all members of a group, through gloo: in rounds, in which each sends something to each.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>

#include "tutti/mesh/engines/rendezvous.h"

namespace tutti {

// gloo's buffers are made once, over memory of the channel's own: making and dropping one costs more than a small message. Its
// sync mode is not used: a blocked call there has no deadline of its own, cannot be ended from another thread, and two members
// that send each other more than their sockets hold would wait for ever.
class GlooChannel {
 public:
  // `room`: the most that goes to one member in a round, in bytes.
  GlooChannel(Rendezvous& rendezvous, std::string key, int size, int index, const std::string& address, std::size_t room,
              Deadline deadline, const std::stop_token& stop);
  ~GlooChannel();
  GlooChannel(const GlooChannel&) = delete;
  GlooChannel& operator=(const GlooChannel&) = delete;

  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] int index() const noexcept { return index_; }
  [[nodiscard]] std::size_t room() const noexcept { return room_; }

  // What goes to a member and what came from it, until the next round.
  [[nodiscard]] std::byte* outgoing(int member) noexcept;
  [[nodiscard]] const std::byte* incoming(int member) const noexcept;

  // Throws what an earlier failure left, before anything is done for `what`.
  void check(const std::string& what) const;
  // Sends and receives so many bytes to and from each member; 0: no message. Blocks until all of it is done. Throws
  // DeadlineExceeded or ExchangeFailed; then the channel is closed for good, and the others, as far as they wait for this one,
  // learn of it.
  void round(const std::string& what, std::span<const std::size_t> sends, std::span<const std::size_t> receives,
             Deadline deadline);
  // From any thread.
  void fail(const char* why) noexcept;

 private:
  struct Gloo;

  void connect(const std::string& address, Deadline deadline, const std::stop_token& stop);
  void transfer(std::span<const std::size_t> sends, std::span<const std::size_t> receives, Deadline deadline);
  [[nodiscard]] std::string why() const;
  [[noreturn]] void give_up(const std::string& what, const std::string& cause, Deadline deadline);
  [[nodiscard]] std::string who_is_gone() const;
  [[nodiscard]] std::string note_key(int member) const;

  Rendezvous& rendezvous_;
  std::string key_;
  int size_;
  int index_;
  std::size_t room_;
  std::unique_ptr<Gloo> gloo_;  // none for a member that is alone
  std::atomic<bool> is_failed_ = false;
  mutable std::mutex mutex_;  // held for a moment, around why_
  std::string why_;
};

}  // namespace tutti
