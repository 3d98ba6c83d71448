#include "tutti/base/free_list.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace tutti {
namespace {

struct Traced {
  explicit Traced(std::string n) : name(std::move(n)) { ++alive; }
  ~Traced() { --alive; }
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;
  std::string name;
  inline static int alive = 0;
};

TEST(FreeList, ConstructsAndDestroysEachObjectOnce) {
  std::vector<Traced*> made;
  for (int i = 0; i < 300; ++i) made.push_back(FreeList<Traced>::make("object number " + std::to_string(i)));
  EXPECT_EQ(Traced::alive, 300);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(made[static_cast<std::size_t>(i)]->name, "object number " + std::to_string(i));
  for (Traced* object : made) FreeList<Traced>::destroy(object);
  EXPECT_EQ(Traced::alive, 0);
}

struct Block {
  explicit Block(int value) : fill(value) {}
  int fill;
  char rest[50]{};
};

TEST(FreeList, GivesTheLastFreedMemoryOutFirst) {
  Block* first = FreeList<Block>::make(1);
  FreeList<Block>::destroy(first);
  Block* second = FreeList<Block>::make(2);
  EXPECT_EQ(first, second);
  FreeList<Block>::destroy(second);
}

TEST(FreeList, LiveObjectsDoNotOverlapAndAreAligned) {
  std::set<std::uintptr_t> addresses;
  std::vector<Block*> made;
  for (int i = 0; i < 1000; ++i) {
    made.push_back(FreeList<Block>::make(i));
    addresses.insert(reinterpret_cast<std::uintptr_t>(made.back()));
  }
  EXPECT_EQ(addresses.size(), 1000U);
  std::uintptr_t before = 0;
  for (const std::uintptr_t address : addresses) {
    EXPECT_EQ(address % alignof(Block), 0U);
    EXPECT_GE(address - before, sizeof(Block));
    before = address;
  }
  for (Block* block : made) FreeList<Block>::destroy(block);
}

struct Tiny {
  explicit Tiny(char value) : c(value) {}
  char c;
};

TEST(FreeList, ServesTypesSmallerThanAPointer) {
  std::vector<Tiny*> made;
  for (int i = 0; i < 200; ++i) made.push_back(FreeList<Tiny>::make(static_cast<char>(i)));
  for (int i = 0; i < 200; ++i) EXPECT_EQ(made[static_cast<std::size_t>(i)]->c, static_cast<char>(i));
  for (Tiny* tiny : made) FreeList<Tiny>::destroy(tiny);
}

struct Passed {
  explicit Passed(int v) : value(v) {}
  int value;
};

// Made here, let go elsewhere, again and again: the memory must come back, or the set of addresses grows without end.
TEST(FreeList, MemoryFreedOnAnotherThreadComesBack) {
  std::set<Passed*> addresses;
  for (int round = 0; round < 50; ++round) {
    std::vector<Passed*> made;
    for (int i = 0; i < 200; ++i) {
      made.push_back(FreeList<Passed>::make(i));
      addresses.insert(made.back());
    }
    std::thread([&made] {
      for (Passed* object : made) FreeList<Passed>::destroy(object);
    }).join();
  }
  EXPECT_LE(addresses.size(), 600U);  // 10,000 objects were made
}

struct Ending {
  explicit Ending(int v) : value(v) {}
  int value;
};

// What a thread lets go when its own list is gone already.
TEST(FreeList, MemoryFreedAtTheEndOfAThreadComesBack) {
  struct LetGo {
    ~LetGo() { FreeList<Ending>::destroy(object); }
    Ending* object = nullptr;
  };
  std::set<Ending*> addresses;
  for (int i = 0; i < 200; ++i) {
    std::thread([&addresses, i] {
      static thread_local LetGo last;
      last.object = FreeList<Ending>::make(i);
      addresses.insert(last.object);
    }).join();
  }
  EXPECT_LE(addresses.size(), 64U);  // 200 objects were made
}

TEST(FreeList, ManyThreadsAtOnceNeverShareAnObject) {
  std::vector<std::thread> threads;
  std::vector<int> mismatches(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &mismatches] {
      std::vector<Passed*> made;
      for (int round = 0; round < 200; ++round) {
        for (int i = 0; i < 150; ++i) made.push_back(FreeList<Passed>::make(t * 1000 + i));
        for (int i = 0; i < 150; ++i) {
          mismatches[static_cast<std::size_t>(t)] += made[static_cast<std::size_t>(i)]->value == t * 1000 + i ? 0 : 1;
          FreeList<Passed>::destroy(made[static_cast<std::size_t>(i)]);
        }
        made.clear();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mismatches, std::vector<int>(4));
}

}  // namespace
}  // namespace tutti
