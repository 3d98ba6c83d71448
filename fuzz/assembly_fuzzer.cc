// Any sequence of messages, hang-ups and moments leaves the coordinator with answers to those who are there, and bounded.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/mesh/control/assembly.h"

namespace {

using namespace tutti;
using namespace tutti::control;

constexpr int world = 3;

void require(bool promise) {
  if (!promise) __builtin_trap();
}

struct Listener final : Outbox {
  void send(SessionId to, std::string_view frames) override {
    require(to != 0);
    wire::FrameReader reader(wire::largest_answer);
    reader.append(frames);
    std::size_t messages = 0;
    while (const auto message = reader.next()) {
      ++messages;
      require(static_cast<unsigned char>(message->front()) >= static_cast<unsigned char>(Answer::welcome));
    }
    require(messages != 0 && reader.held() == 0 && !reader.broken());
  }
  void close(SessionId session) override { require(session != 0); }
};

// Mostly what a member would say, so that deep states are reached; the rest as it comes.
std::string compose(Request kind, std::string_view bytes) {
  std::string out;
  wire::FieldWriter writer(out);
  writer.u8(static_cast<std::uint8_t>(kind));
  const auto byte = [&](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U; };
  const Call call{byte(1) % 2 != 0 ? "a" : "b", byte(1) % 3 != 0 ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 1},
                  byte(2) % 8 != 0 ? "same" : "other", "x.cc:1"};
  const std::uint64_t ticket = byte(0);
  switch (kind) {
    case Request::arrive:
      writer.u64(ticket);
      call.append_to(writer);
      writer.u8(byte(3) % 2).i64(static_cast<std::int64_t>(byte(4)) * 1'000'000 - 1);
      writer.i64(byte(5) % 4 == 0 ? 0 : never_gives_up).u64(byte(6)).u64(byte(7));
      break;
    case Request::ready:
    case Request::withdraw:
    case Request::inquire:
    case Request::forget: writer.u64(ticket); break;
    case Request::put_if_absent:
    case Request::put: writer.u64(ticket).text(bytes.substr(0, 1)).text(bytes).ranks(call.ranks); break;
    case Request::get: writer.u64(ticket).text(bytes.substr(0, 1)).ranks(call.ranks).u64(byte(3)); break;
    case Request::explain:
      writer.u64(ticket);
      call.append_to(writer);
      writer.u64(byte(3)).u64(byte(6)).u8(byte(4) % 5).ranks({0}).ranks({}).i64(byte(5)).text(bytes);
      break;
    case Request::waits_at: call.append_to(writer.u64(ticket)); break;
    case Request::waits_no_more: call.append_to(writer); break;
    case Request::still_waits: writer.u64(ticket).u64(byte(3)).u8(byte(4) % 2); break;
    case Request::beat: writer.text(bytes.substr(0, 5)); break;
    default: writer.bytes(bytes); break;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Listener listener;
  AssemblyOptions options;
  options.world = world;
  options.dead_after = std::chrono::milliseconds(1'000);
  options.store_limit = 2'000;
  Assembly assembly(options, listener);
  Time now{std::chrono::hours(1)};
  SessionId sessions[world] = {1, 2, 3};
  SessionId next = 4;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (rest.size() >= 2) {
    const auto what = static_cast<unsigned char>(rest[0]);
    const std::size_t rank = what % world;
    const std::size_t length = std::min<std::size_t>(static_cast<unsigned char>(rest[1]) % 48, rest.size() - 2);
    const std::string_view bytes = rest.substr(2, length);
    rest.remove_prefix(2 + length);
    switch (what / world % 8) {
      case 0: {
        Hello hello;
        hello.world = world;
        hello.rank = static_cast<std::uint32_t>(rank);
        hello.comes_back = length % 2 != 0;
        std::string out;
        wire::FieldWriter writer(out);
        writer.u8(static_cast<std::uint8_t>(Request::hello));
        hello.append_to(writer);
        assembly.received(sessions[rank], out, now);
        break;
      }
      case 1:
        assembly.closed(sessions[rank], std::string(bytes.substr(0, 3)), now);
        sessions[rank] = next++;
        break;
      case 2:
        now += std::chrono::milliseconds(length * 7);
        assembly.tick(now);
        break;
      case 3: assembly.received(sessions[rank], bytes, now); break;
      default:
        assembly.received(sessions[rank],
                          compose(static_cast<Request>(2 + (bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]) % 13)),
                                  bytes.empty() ? bytes : bytes.substr(1)),
                          now);
        break;
    }
    // Who was dropped or has left comes anew, over another connection.
    if (!assembly.is_member(sessions[rank])) sessions[rank] = next++;
    require(assembly.stored() <= options.store_limit);
    require(assembly.roster().here() >= 0 && assembly.roster().here() <= world);
    require(!assembly.next_deadline() || *assembly.next_deadline() >= now - std::chrono::hours(1));
  }
  // When all are gone, nothing is left but what members that come back may still be told.
  for (const SessionId session : sessions) assembly.closed(session, {}, now);
  require(assembly.roster().here() == 0);
  assembly.tick(now + std::chrono::hours(1));
  return 0;
}
