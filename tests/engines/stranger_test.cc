// Strangers who reach the members' ports: they neither read nor change what goes between them, take no member's place, and keep
// nobody from connecting.
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/processes.h"
#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/engines/socket_exchange.h"
#include "tutti/mesh/wire/fields.h"
#include "tutti/mesh/wire/sockets.h"

namespace tutti::testing_engines {

namespace {

using namespace std::chrono_literals;

constexpr int members = 3;
constexpr std::size_t elements = 100'000;

std::string listens(int member) { return "exchange/listens/" + std::to_string(member); }

// Where a member says that it listens: an address, and what else belongs to it.
std::string address_in(const std::string& said) { return std::string(wire::FieldReader(said).text(said.size())); }
std::string with_address(const std::string& said, const std::string& address) {
  wire::FieldReader in(said);
  const std::size_t old = in.text(said.size()).size();
  std::string out;
  wire::FieldWriter(out).text(address).bytes(std::string_view(said).substr(4 + old));
  return out;
}

// Of a member whose way to another leads elsewhere.
class Misled final : public Rendezvous {
 public:
  // To the address that stands under the key.
  Misled(Rendezvous& board, std::string from, std::string to) : board_(board), from_(std::move(from)), to_(std::move(to)) {}
  void put(const std::string& key, const std::string& value) override { board_.put(key, value); }
  std::string get(const std::string& key, Deadline deadline) override {
    const std::string said = board_.get(key, deadline);
    return key == from_ ? with_address(said, address_in(board_.get(to_, deadline))) : said;
  }

 private:
  Rendezvous& board_;
  std::string from_;
  std::string to_;
};

std::unique_ptr<Exchange> open(Rendezvous& board, int index, bool encrypts = true, std::chrono::milliseconds limit = 30s,
                               const std::string& secret = "a secret of a test") {
  return open_socket_exchange(board, "exchange", members, index, in(limit), {.secret = secret, .encrypts = encrypts});
}

// What can be found again where it is readable.
std::vector<float> given(int index) { return std::vector<float>(elements, 1000.F + static_cast<float>(index)); }

void require_right_sum(Exchange& exchange) {
  std::vector<float> data = given(exchange.index());
  exchange.all_reduce(data.data(), data.data(), data.size(), DType::f32, Reduction::sum, in(30s));
  require(data == std::vector<float>(elements, 3003.F), "the sum is wrong");
}

// Between member 1 and member 0: hands on what comes, changes one byte of its first connection, and sees everything.
class Relay {
 public:
  explicit Relay(Rendezvous& board) : board_(board), listener_(wire::listen_on("127.0.0.1:0", {})) {
    std::string said;
    wire::FieldWriter(said).text(wire::bound_address(listener_.get()));
    board_.put("relay", said);
  }

  // Changes the n-th byte that goes to member 0, counted from 0; -1: none. Until the board says that it is over.
  void run(std::ptrdiff_t changed) {
    const wire::Address target = wire::Address::parse(address_in(board_.get(listens(0), in(30s))), {});
    std::string why;
    for (;;) {
      if (!wire::wait_until(listener_.get(), true, Clock::now() + 20ms)) {
        if (is_over()) return;
        continue;
      }
      wire::Descriptor client(::accept(listener_.get(), nullptr, nullptr));
      wire::Descriptor server = wire::connect_once(target, Clock::now() + 1s, why);
      if (client.valid() && server.valid()) hand_on(client.get(), server.get(), std::exchange(changed, -1));
      if (is_over()) return;
    }
  }
  [[nodiscard]] const std::string& seen() const { return seen_; }

 private:
  bool is_over() {
    try {
      (void)board_.get("1 is over", Clock::now());
      return true;
    } catch (const DeadlineExceeded&) {
      return false;
    }
  }
  void hand_on(int client, int server, std::ptrdiff_t changed) {
    std::array<char, 65536> bytes{};
    std::ptrdiff_t gone = 0;
    for (;;) {
      std::array<pollfd, 2> watched{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
      if (::poll(watched.data(), watched.size(), 20) == 0 && is_over()) return;
      for (const bool is_client : {true, false}) {
        if (watched[is_client ? 0 : 1].revents == 0) continue;
        const ssize_t got = ::recv(is_client ? client : server, bytes.data(), bytes.size(), 0);
        if (got <= 0) return;
        if (is_client && changed >= gone && changed < gone + got) bytes.at(static_cast<std::size_t>(changed - gone)) ^= 1;
        if (is_client) gone += got;
        seen_.append(bytes.data(), static_cast<std::size_t>(got));
        std::string_view rest(bytes.data(), static_cast<std::size_t>(got));
        while (!rest.empty()) {
          const ssize_t sent = ::send(is_client ? server : client, rest.data(), rest.size(), MSG_NOSIGNAL);
          if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
          if (sent < 0 && errno != EAGAIN) return;
        }
      }
    }
  }

  Rendezvous& board_;
  wire::Descriptor listener_;
  std::string seen_;
};

// The members, and a relay between 1 and 0, which is the last of the processes.
void relayed(const std::function<void(Rendezvous& board, int index)>& member, const std::function<void(Relay& relay)>& stranger) {
  Blackboard board;
  Processes processes(members + 1, [&](int index) {
    if (index == members) {
      Relay relay(board);
      return stranger(relay);
    }
    Misled misled(board, index == 1 ? listens(0) : "nothing", "relay");
    member(misled, index);
    if (index == 1) board.put("1 is over", "");
  });
  processes.expect_success();
}

}  // namespace

class WithARelayBetween : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Sockets, WithARelayBetween, testing::Bool(),
                         [](const auto& it) { return it.param ? "Encrypted" : "Readable"; });

TEST_P(WithARelayBetween, TheSumIsRightAndNothingIsReadThatIsEncrypted) {
  relayed([&](Rendezvous& board, int index) { require_right_sum(*open(board, index, GetParam())); },
          [&](Relay& relay) {
            relay.run(-1);
            require(relay.seen().size() > elements * sizeof(float), "it was not asked to hand anything on");
            std::string run(2 * sizeof(float), '\0');
            const std::vector<float> mine = given(1);
            std::memcpy(run.data(), mine.data(), run.size());
            const bool is_seen = relay.seen().find(run) != std::string::npos;
            require(is_seen != GetParam(), GetParam() ? "it reads along" : "what is not encrypted was not found");
          });
}

TEST_P(WithARelayBetween, AChangedByteOfTheProofCostsOneMoreAttempt) {
  for (const std::ptrdiff_t changed : {0, 60, 200, 300}) {
    SCOPED_TRACE(changed);
    relayed([&](Rendezvous& board, int index) { require_right_sum(*open(board, index, GetParam())); },
            [&](Relay& relay) { relay.run(changed); });
  }
}

TEST_P(WithARelayBetween, AChangedByteOfTheDataEndsTheExchangeForAllAndIsInNoSum) {
  relayed(
      [&](Rendezvous& board, int index) {
        const auto exchange = open(board, index, GetParam());
        try {
          require_right_sum(*exchange);
        } catch (const ExchangeFailed& e) {
          require(index != 0 || e.message().find("member 1") != std::string::npos, e.message());
          return;
        }
        // One that had its sum already, before the changed byte came.
        require(index != 0, "nobody noticed the change");
      },
      [&](Relay& relay) { relay.run(50'000); });
}

TEST(AStranger, WhoLeadsAConnectionBackOrToAnotherMemberGainsNothing) {
  for (const std::string& to : {listens(1), listens(0)}) {
    Blackboard board;
    // Member 1's way to 0 leads to itself; member 2's way to 1 leads to 0, which awaits it too, but not as 1.
    Processes processes(members, [&](int index) {
      const int misled_one = to == listens(1) ? 1 : 2;
      const std::string from = listens(misled_one - 1);
      Misled misled(board, index == misled_one ? from : "nothing", to);
      try {
        const auto exchange = open(misled, index, true, 700ms);
        require(index != misled_one && index != misled_one - 1, "a connection to somebody else was taken for the member's");
        // The third reached both, and stays until they have given up.
        for (const int other : {misled_one - 1, misled_one}) (void)board.get(std::to_string(other) + " gave up", in(30s));
      } catch (const DeadlineExceeded&) {
        board.put(std::to_string(index) + " gave up", "");
      } catch (const ExchangeFailed&) {
        // The other one's deadline came first.
        board.put(std::to_string(index) + " gave up", "");
      }
    });
    processes.expect_success();
  }
}

TEST(AStranger, WithAnotherSecretIsNoMember) {
  Blackboard board;
  Processes processes(members, [&](int index) {
    try {
      (void)open(board, index, true, 700ms, index == 2 ? "another secret" : "a secret of a test");
      require(false, "it was taken for one of them");
    } catch (const DeadlineExceeded&) {
    } catch (const ExchangeFailed&) {}
  });
  processes.expect_success();
}

namespace {

// Waits until the strangers are at member 0's port.
class AfterStrangers final : public Rendezvous {
 public:
  explicit AfterStrangers(Rendezvous& board) : board_(board) {}
  void put(const std::string& key, const std::string& value) override { board_.put(key, value); }
  std::string get(const std::string& key, Deadline deadline) override {
    (void)board_.get("strangers are there", deadline);
    return board_.get(key, deadline);
  }

 private:
  Rendezvous& board_;
};

void reset(wire::Descriptor socket) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void say(const wire::Descriptor& socket, std::string_view bytes) {
  (void)::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

}  // namespace

TEST(AStranger, WhoIsSilentTalksNonsenseOrHangsUpIsOfNoAccount) {
  Blackboard board;
  Processes processes(members + 1, [&](int index) {
    AfterStrangers after(board);
    if (index < members) return require_right_sum(*open(after, index));
    const wire::Address target = wire::Address::parse(address_in(board.get(listens(0), in(30s))), {});
    std::vector<wire::Descriptor> kept;
    const std::string endless(100'000, 'x');
    // The beginning of a TLS record that would be long, and never comes.
    const std::string half_a_record("\x16\x03\x01\x3f\xff", 5);
    for (int i = 0; i < 300; ++i) {
      std::string why;
      wire::Descriptor socket = wire::connect_once(target, Clock::now() + 10s, why);
      if (!socket.valid()) break;  // all have connected, and nobody listens any more
      if (i % 5 == 0) {
        reset(std::move(socket));
        continue;
      }
      if (i % 5 == 1) say(socket, endless);
      if (i % 5 == 2) say(socket, half_a_record);
      if (i % 5 == 3) say(socket, "GET / HTTP/1.1\r\n\r\n");
      kept.push_back(std::move(socket));
      if (i == 152) board.put("strangers are there", "");
    }
    ::pause();  // holds on to them until the test is over
  });
  for (int index = 0; index < members; ++index) EXPECT_EQ(processes.status(index, 30s), 0) << "member " << index;
}

}  // namespace tutti::testing_engines
