#include "tutti/base/intrusive.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace tutti {
namespace {

struct Node : Counted {
  explicit Node(std::atomic<int>& count) : released(count) {}
  void release() noexcept {
    ++released;
    delete this;
  }
  std::atomic<int>& released;
  int value = 7;
};

TEST(Ref, TheLastOwnerReleasesTheObjectOnce) {
  std::atomic<int> released = 0;
  {
    const Ref<Node> a(new Node(released));
    {
      const Ref<Node> b = a;
      EXPECT_EQ(a, b);
      EXPECT_FALSE(a->is_unique());
    }
    EXPECT_EQ(released, 0);
    EXPECT_TRUE(a->is_unique());
    EXPECT_EQ((*a).value, 7);
  }
  EXPECT_EQ(released, 1);
}

TEST(Ref, MovingPassesOwnershipOn) {
  std::atomic<int> released = 0;
  Ref<Node> a(new Node(released));
  Ref<Node> b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): the promise under test
  EXPECT_TRUE(b->is_unique());
  a = std::move(b);
  EXPECT_EQ(released, 0);
  a = nullptr;
  EXPECT_EQ(released, 1);
}

TEST(Ref, AssigningReleasesWhatWasHeld) {
  std::atomic<int> first = 0;
  std::atomic<int> second = 0;
  Ref<Node> a(new Node(first));
  const Ref<Node> b(new Node(second));
  a = b;
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
  Node* const held = a.get();
  a = *&a;  // to itself
  EXPECT_EQ(a.get(), held);
  EXPECT_EQ(second, 0);
}

TEST(Ref, AnEmptyOneHoldsNothing) {
  const Ref<Node> empty;
  const Ref<Node> null = nullptr;
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.get(), nullptr);
  EXPECT_EQ(empty, null);
}

TEST(Ref, ThreadsThatCopyAndDropReleaseOnceAtTheEnd) {
  std::atomic<int> released = 0;
  {
    const Ref<Node> shared(new Node(released));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([copy = shared] {
        for (int i = 0; i < 20'000; ++i) {
          const Ref<Node> again = copy;
          ASSERT_EQ(again->value, 7);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

// Owners on different threads let go at the same time; whoever is last releases, exactly once, seeing all writes.
TEST(Ref, RacingLastOwnersReleaseExactlyOnce) {
  for (int round = 0; round < 500; ++round) {
    std::atomic<int> released = 0;
    Ref<Node> a(new Node(released));
    Ref<Node> b = a;
    std::thread other([mine = std::move(b)]() mutable { mine = nullptr; });
    a = nullptr;
    other.join();
    ASSERT_EQ(released, 1);
  }
}

}  // namespace
}  // namespace tutti
