// What every composition of the memory layers promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "memory/hand_device.h"
#include "tutti/base/text.h"
#include "tutti/memory/growth_resource.h"
#include "tutti/memory/limit_adaptor.h"
#include "tutti/memory/pool_resource.h"
#include "tutti/memory/statistics_adaptor.h"
#include "tutti/memory/tracking_adaptor.h"

namespace tutti {
namespace {

struct NoOwner final : BlockOwner {
  void take_back(Block&) noexcept override {}
};

template <class R, bool grows, bool is_limited>
struct Composition {
  using Resource = R;
  static constexpr bool growth = grows;
  static constexpr bool limited = is_limited;
};

using Plain = PoolResource<GrowthResource>;
using Limited = PoolResource<LimitAdaptor<GrowthResource>>;
using Compositions =
    ::testing::Types<Composition<Plain, true, false>, Composition<Plain, false, false>, Composition<Limited, true, true>,
                     Composition<Limited, false, true>, Composition<StatisticsAdaptor<Plain>, true, false>,
                     Composition<StatisticsAdaptor<Limited>, true, true>, Composition<TrackingAdaptor<Limited>, true, true>,
                     Composition<TrackingAdaptor<StatisticsAdaptor<Limited>>, true, true>,
                     Composition<StatisticsAdaptor<TrackingAdaptor<Limited>>, true, true>,
                     Composition<StatisticsAdaptor<TrackingAdaptor<Limited>>, false, true>>;

constexpr std::size_t capacity = 8 * mebibyte;

template <class C>
class MemoryResourceOf : public ::testing::Test {
 protected:
  static auto make(HandDevice& device, BlockOwner& owner) {
    using R = typename C::Resource;
    if constexpr (C::limited) {
      return std::make_unique<R>(device, owner, std::uint64_t{capacity}, device.space, C::growth);
    } else {
      device.space.device_has = capacity;
      return std::make_unique<R>(device, owner, device.space, C::growth);
    }
  }
  Block* allocate(std::size_t bytes) { return resource->allocate(bytes, StreamId::none, Site{}); }
  void TearDown() override { EXPECT_TRUE(device.space.faults.empty()) << device.space.faults.front(); }

  HandDevice device{capacity};
  NoOwner owner;
  std::unique_ptr<typename C::Resource> resource = make(device, owner);
};
TYPED_TEST_SUITE(MemoryResourceOf, Compositions);

TYPED_TEST(MemoryResourceOf, GivesMemoryThatCanBeWritten) {
  Block* block = this->allocate(1000);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block->bytes(), 1000U);
  EXPECT_GE(block->capacity(), 1000U);
  EXPECT_EQ(&block->device(), &this->device);
  std::memset(block->address(), 1, block->capacity());
}

TYPED_TEST(MemoryResourceOf, AlignsEveryBlockTo256Bytes) {
  for (std::size_t bytes = 0; bytes < 5000; bytes += 37) {
    Block* block = this->allocate(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->address()) % 256, 0U);
  }
}

TYPED_TEST(MemoryResourceOf, GivesDistinctBlocksForRequestsOfZeroBytes) {
  std::set<std::byte*> seen;
  for (int i = 0; i < 10; ++i) {
    Block* block = this->allocate(0);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(block->bytes(), 0U);
    EXPECT_TRUE(seen.insert(block->address()).second);
  }
}

TYPED_TEST(MemoryResourceOf, UsesFreedMemoryAgain) {
  Block* first = this->allocate(4096);
  std::byte* const address = first->address();
  this->resource->deallocate(*first);
  EXPECT_EQ(this->allocate(4096)->address(), address);
}

TYPED_TEST(MemoryResourceOf, PadsSmallRequestsByASixteenthAndLargeOnesNotAtAll) {
  for (const std::size_t bytes : {1UL, 256UL, 257UL, 4097UL, 70'000UL, 1'000'000UL}) {
    EXPECT_LE(this->allocate(bytes)->capacity(), bytes + bytes / 16 + 256) << bytes;
  }
  EXPECT_EQ(this->allocate(mebibyte + 256)->capacity(), mebibyte + 256);
}

TYPED_TEST(MemoryResourceOf, JoinsFreedNeighboursIntoOneBlock) {
  std::vector<Block*> blocks;
  while (Block* block = this->allocate(64 * kibibyte)) blocks.push_back(block);
  ASSERT_GE(blocks.size(), 100U);
  for (Block* block : blocks) this->resource->deallocate(*block);
  Block* whole = this->allocate(7 * mebibyte);
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(whole->bytes(), 7 * mebibyte);
}

TYPED_TEST(MemoryResourceOf, ServesARequestOfExactlyEverythingAndNothingMore) {
  Block* all = this->allocate(capacity);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(this->allocate(1), nullptr);
  this->resource->deallocate(*all);
  EXPECT_NE(this->allocate(capacity), nullptr);
}

TYPED_TEST(MemoryResourceOf, RefusesRequestsNoMachineCanServe) {
  const std::size_t one = 1;
  for (const std::size_t bytes : {capacity + 1, one << 43U, (one << 47U) + 1, ~std::size_t{0} - 255, ~std::size_t{0}}) {
    EXPECT_EQ(this->allocate(bytes), nullptr) << bytes;
  }
  EXPECT_NE(this->allocate(100), nullptr);
}

TYPED_TEST(MemoryResourceOf, TrimUnmapsAllThatIsFree) {
  Block* block = this->allocate(3 * mebibyte);
  EXPECT_GE(this->device.space.mapped(), 3 * mebibyte);
  this->resource->deallocate(*block);
  const std::size_t mapped = this->device.space.mapped();
  EXPECT_EQ(this->resource->trim(Site{}), mapped);
  EXPECT_EQ(this->device.space.mapped(), 0U);
  EXPECT_NE(this->allocate(3 * mebibyte), nullptr);
}

TYPED_TEST(MemoryResourceOf, TrimLeavesWhatIsOwned) {
  Block* below = this->allocate(300 * kibibyte);
  Block* middle = this->allocate(900 * kibibyte);
  Block* above = this->allocate(300 * kibibyte);
  std::memset(below->address(), 3, below->bytes());
  std::memset(above->address(), 4, above->bytes());
  this->resource->deallocate(*middle);
  EXPECT_GT(this->resource->trim(Site{}), 0U);
  EXPECT_EQ(below->address()[below->bytes() - 1], std::byte{3});
  EXPECT_EQ(above->address()[0], std::byte{4});
  EXPECT_LE(this->device.space.mapped(), 1024 * kibibyte);
  Block* again = this->allocate(900 * kibibyte);
  ASSERT_NE(again, nullptr);
  std::memset(again->address(), 5, again->bytes());
  EXPECT_EQ(below->address()[below->bytes() - 1], std::byte{3});
  EXPECT_EQ(above->address()[0], std::byte{4});
}

TYPED_TEST(MemoryResourceOf, JoinsAHoleThatIsMappedAgainWithItsNeighbour) {
  Block* below = this->allocate(mebibyte);
  Block* above = this->allocate(mebibyte);
  ASSERT_EQ(above->address(), below->end());
  this->resource->deallocate(*below);
  this->resource->trim(Site{});
  ASSERT_EQ(this->device.space.mapped(), mebibyte);
  below = this->allocate(mebibyte);
  ASSERT_EQ(above->address(), below->end());
  this->resource->deallocate(*below);
  this->resource->deallocate(*above);
  const std::size_t calls = this->device.space.map_calls;
  EXPECT_NE(this->allocate(2 * mebibyte), nullptr);
  EXPECT_EQ(this->device.space.map_calls, calls);
}

// Live blocks never overlap, their contents stay, the records agree with the memory, and all comes back in the end.
TYPED_TEST(MemoryResourceOf, KeepsItsPromisesOverRandomSequences) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(text("seed ", seed));
    std::mt19937_64 random(seed);
    std::vector<Block*> live;
    std::map<std::byte*, Block*> by_address;
    const auto drop = [&](std::size_t i) {
      Block* block = live[i];
      const auto stamp = static_cast<std::byte>(reinterpret_cast<std::uintptr_t>(block->address()) >> 8U);
      EXPECT_EQ(block->address()[0], stamp);
      EXPECT_EQ(block->address()[block->capacity() - 1], stamp);
      by_address.erase(block->address());
      live[i] = live.back();
      live.pop_back();
      this->resource->deallocate(*block);
    };
    for (int step = 0; step < 2000; ++step) {
      const auto choice = random() % 100;
      if (choice < 2) {
        this->resource->trim(Site{});
      } else if (choice < 45 && !live.empty()) {
        drop(random() % live.size());
      } else {
        const std::size_t bytes = random() % (std::size_t{1} << (4 + random() % 18));
        Block* block = this->allocate(bytes);
        if (block == nullptr) {
          ASSERT_FALSE(live.empty());
          while (live.size() > 4) drop(live.size() - 1);
          continue;
        }
        ASSERT_GE(block->capacity(), bytes);
        const auto above = by_address.lower_bound(block->address());
        ASSERT_TRUE(above == by_address.end() || block->end() <= above->first);
        ASSERT_TRUE(above == by_address.begin() || std::prev(above)->second->end() <= block->address());
        by_address[block->address()] = block;
        live.push_back(block);
        const auto stamp = static_cast<std::byte>(reinterpret_cast<std::uintptr_t>(block->address()) >> 8U);
        block->address()[0] = block->address()[block->capacity() - 1] = stamp;
      }
      if (step % 100 != 0) continue;
      std::size_t recorded = 0;
      std::size_t owned = 0;
      this->resource->for_each_block([&](const Block& block) {
        recorded += block.capacity();
        owned += block.state == BlockState::live ? 1 : 0;
        if (block.above != nullptr) {
          EXPECT_EQ(block.above->below, &block);
          EXPECT_EQ(block.above->address(), block.end());
          EXPECT_FALSE(block.state == BlockState::free && block.above->state == BlockState::free);
        }
      });
      ASSERT_EQ(recorded, this->device.space.mapped());
      ASSERT_EQ(owned, live.size());
      ASSERT_LE(this->device.space.mapped(), capacity);
    }
    while (!live.empty()) drop(live.size() - 1);
    this->resource->trim(Site{});
    ASSERT_EQ(this->device.space.mapped(), 0U);
  }
}

TEST(SizeClass, RoundsUpToTheBeginningOfAClassThatIsNotSmaller) {
  for (std::uint64_t units = 1; units < 200'000; units += 1 + units / 97) {
    const std::uint64_t rounded = size_class::round_up(units);
    EXPECT_GE(rounded, units);
    EXPECT_LE(rounded - units, units / 16);
    EXPECT_EQ(size_class::round_up(rounded), rounded);
    EXPECT_LE(size_class::of(units), size_class::of(rounded));
    EXPECT_LT(size_class::of(rounded - 1), size_class::of(rounded));
  }
}

TEST(FreeBlocks, FindTheOneBlockThatFitsAmongManyOfItsClassThatDoNot) {
  std::vector<Block> blocks(20);
  FreeBlocks free;
  for (Block& block : blocks) {
    block.set_units(&block == &blocks[0] ? 100'001 : 100'000);
    ASSERT_EQ(block.size_class, blocks[0].size_class);
    free.insert(block);
  }
  EXPECT_EQ(free.take(100'001), &blocks[0]);
  EXPECT_EQ(free.take(100'001), nullptr);
  EXPECT_NE(free.take(100'000), nullptr);
}

TEST(Statistics, CountsWhatIsInUseItsPeakAndWhatWasAskedFor) {
  HandDevice device;
  NoOwner owner;
  StatisticsAdaptor<Plain> resource(device, owner, device.space, true);
  Block* a = resource.allocate(1000, StreamId::none, Site{});
  Block* b = resource.allocate(3000, StreamId::none, Site{});
  EXPECT_EQ(resource.statistics().in_use, 1024U + 3072U);
  EXPECT_EQ(resource.statistics().requested, 4000U);
  resource.deallocate(*b);
  EXPECT_EQ(resource.statistics().in_use, 1024U);
  EXPECT_EQ(resource.statistics().peak, 1024U + 3072U);
  resource.reset_peak();
  EXPECT_EQ(resource.statistics().peak, 1024U);
  resource.deallocate(*a);
  EXPECT_EQ(resource.statistics().in_use, 0U);
  EXPECT_EQ(resource.statistics().requested, 0U);
  EXPECT_EQ(resource.statistics().allocations, 2U);
  EXPECT_EQ(resource.statistics().live, 0U);
}

}  // namespace
}  // namespace tutti
