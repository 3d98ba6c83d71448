// TLS 1.3 between two processes that share a key and no certificates (RFC 8446, section 2.2, with (EC)DHE): both prove that they
// know it, and nobody between them reads or changes what they say. Over any way to move bytes; never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tutti/mesh/wire/key.h"

namespace tutti::wire {

// What a session's bytes go through. Gives how many were moved; 0: none now; negative: the connection has ended.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual std::ptrdiff_t send(const char* data, std::size_t size) noexcept = 0;
  virtual std::ptrdiff_t receive(char* data, std::size_t size) noexcept = 0;
};

// More than either side sends before both have proven themselves. Who sends more, or anything else, is no peer.
inline constexpr std::size_t largest_tls_greeting = 1024;

enum class Progress : std::uint8_t { done, blocked, ended };

class TlsSession {
 public:
  // The key a client of this name must know; nothing: there is none.
  using KeyOf = std::function<std::optional<Key>(std::string_view name)>;

  // The client proves itself first. Its name is seen by everybody on the way. The transport outlives the session.
  static TlsSession client(Transport& transport, std::string name, const Key& key);
  static TlsSession server(Transport& transport, KeyOf key_of);
  TlsSession(TlsSession&& other) noexcept;
  TlsSession& operator=(TlsSession&& other) noexcept;
  ~TlsSession();

  // Until both have proven themselves. Nothing else is asked before it is done.
  Progress handshake();
  // At least one byte of it, or blocked or ended; `moved` says how many.
  Progress write(std::string_view data, std::size_t& moved);
  Progress read(char* data, std::size_t size, std::size_t& moved);

  // What blocks it is that nothing can be sent.
  [[nodiscard]] bool wants_to_send() const noexcept;
  // The client's: as it says, until the handshake is done; then as proven.
  [[nodiscard]] const std::string& name() const noexcept;
  // Why it ended, as the library puts it; nothing: the connection did.
  [[nodiscard]] const std::string& why() const noexcept;
  // The same on both ends, known to nobody else, and different for each label and each session (RFC 8446, section 7.5).
  [[nodiscard]] Key exported_key(std::string_view label) const;

 private:
  struct State;

  TlsSession(Transport& transport, bool is_client);
  Progress judge(int result);

  std::unique_ptr<State> state_;
};

}  // namespace tutti::wire
