// The links of these tests are as bad as they are told to be, and no worse.
#include "hosts/relay.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "hosts/network.h"

namespace tutti {

namespace {

using namespace testing_hosts;
using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

// A socket on a host, for single packets with a number each.
class Post {
 public:
  Post(const Network& network, int host) {
    const Visit at(network, host);
    socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const sockaddr_in own = address_of(host);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof(own)), 0);
  }
  ~Post() { ::close(socket_); }
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;

  void send(int host, int number) const {
    const sockaddr_in to = address_of(host);
    ASSERT_EQ(::sendto(socket_, &number, sizeof(number), 0, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), sizeof(number));
  }
  [[nodiscard]] std::optional<int> received(std::chrono::milliseconds longest) const {
    pollfd waited{socket_, POLLIN, 0};
    int number = 0;
    if (::poll(&waited, 1, static_cast<int>(longest.count())) <= 0) return std::nullopt;
    if (::recv(socket_, &number, sizeof(number), 0) != sizeof(number)) return std::nullopt;
    return number;
  }

 private:
  static sockaddr_in address_of(int host) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(5000);
    ::inet_pton(AF_INET, Network::address(host).c_str(), &out.sin_addr);
    return out;
  }

  int socket_ = -1;
};

class HostsRelay : public testing::Test {
 protected:
  void SetUp() override { make(1); }
  void make(std::uint64_t seed) {
    try {
      posts_.clear();
      network_ = std::make_unique<Network>(3, seed);
      for (int host = 0; host < 3; ++host) posts_.push_back(std::make_unique<Post>(*network_, host));
    } catch (const NoNetwork& e) {
      GTEST_SKIP() << e.what();
    }
  }
  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] const Post& post(int host) const { return *posts_[static_cast<std::size_t>(host)]; }
  // Which of so many arrive. One at a time: no queue of the kernel's is too short for them.
  std::vector<int> arrived_of(int count) const {
    std::vector<int> out;
    for (int i = 0; i < count; ++i) {
      post(0).send(1, i);
      post(0).send(2, i);  // never lost, so that the other's has been carried before it
      EXPECT_EQ(post(2).received(10s), i);
      if (post(1).received(0ms)) out.push_back(i);
    }
    return out;
  }

 private:
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Post>> posts_;
};

}  // namespace

TEST_F(HostsRelay, CarriesAPacketNoSoonerThanTheDelayOfItsWay) {
  network().set_ways(1, {.delay = 80ms});
  const auto begin = Steady::now();
  post(0).send(1, 7);
  EXPECT_EQ(post(1).received(10s), 7);
  EXPECT_GE(Steady::now() - begin, 80ms);
  post(1).send(0, 8);
  EXPECT_EQ(post(0).received(10s), 8);
  EXPECT_GE(Steady::now() - begin, 160ms);
}

TEST_F(HostsRelay, LosesItsShareOfPacketsAndTheSameOnesFromTheSameSeed) {
  const auto lossy = [&](std::uint64_t seed) {
    make(seed);
    network().set_ways(1, {.loss = 0.2});
    return arrived_of(500);
  };
  const std::vector<int> some = lossy(1);
  EXPECT_GT(some.size(), 340U);
  EXPECT_LT(some.size(), 460U);
  EXPECT_EQ(lossy(1), some);
  EXPECT_NE(lossy(2), some);
}

TEST_F(HostsRelay, LosesAllOfALinkThatIsCutAndNothingOfOthers) {
  network().cut(0, 1);
  EXPECT_TRUE(arrived_of(20).empty());
  network().heal(0, 1);
  EXPECT_EQ(arrived_of(20).size(), 20U);
  network().cut(1);
  EXPECT_TRUE(arrived_of(20).empty());
}

TEST_F(HostsRelay, KeepsThePacketsOfAPausedLinkInOrderUntilItGoesOn) {
  network().pause(1);
  EXPECT_TRUE(arrived_of(20).empty());
  network().resume(1);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(post(1).received(10s), i);
}

}  // namespace tutti
