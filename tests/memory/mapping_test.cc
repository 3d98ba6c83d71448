// How memory is mapped from the device: in steps that double, up front, within a limit, into holes.
#include <gtest/gtest.h>

#include "memory/hand_device.h"
#include "tutti/hal/door.h"
#include "tutti/memory/growth_resource.h"
#include "tutti/memory/limit_adaptor.h"

namespace tutti {
namespace {

constexpr std::size_t any = ~std::size_t{0};
constexpr std::size_t granule = 64 * kibibyte;

TEST(MemoryGrowth, MapsNothingBeforeTheFirstRequest) {
  CountedSpace space(64 * mebibyte);
  const GrowthResource growth(space, true);
  EXPECT_EQ(space.mapped(), 0U);
  EXPECT_EQ(growth.mapped(), 0U);
}

TEST(MemoryGrowth, DoublesWhatIsMapped) {
  CountedSpace space(64 * mebibyte);
  GrowthResource growth(space, true);
  EXPECT_EQ(growth.map(1, any, nullptr, Site{}).bytes, 2 * mebibyte);
  EXPECT_EQ(growth.map(1, any, nullptr, Site{}).bytes, 2 * mebibyte);
  EXPECT_EQ(growth.map(1, any, nullptr, Site{}).bytes, 4 * mebibyte);
  EXPECT_EQ(growth.map(1, any, nullptr, Site{}).bytes, 8 * mebibyte);
  EXPECT_EQ(space.mapped(), 16 * mebibyte);
  EXPECT_EQ(growth.mapped(), 16 * mebibyte);
}

TEST(MemoryGrowth, MapsAtLeastWhatIsNeededInWholeGranules) {
  CountedSpace space(64 * mebibyte);
  GrowthResource growth(space, true);
  EXPECT_EQ(growth.map(9 * mebibyte + 1, any, nullptr, Site{}).bytes, 9 * mebibyte + granule);
  EXPECT_TRUE(space.faults.empty());
}

TEST(MemoryGrowth, MapsNearlyAllAtOnceWhenSwitchedOff) {
  CountedSpace space(64 * mebibyte);
  GrowthResource growth(space, false);
  EXPECT_EQ(growth.map(1, any, nullptr, Site{}).bytes, 62 * mebibyte);
}

TEST(MemoryGrowth, TakesASmallerStepWhenTheDeviceRefusesALargeOne) {
  CountedSpace space(64 * mebibyte);
  space.device_has = 40 * mebibyte;
  GrowthResource growth(space, false);
  const std::size_t got = growth.map(1, any, nullptr, Site{}).bytes;
  EXPECT_GT(got, 30 * mebibyte);
  EXPECT_LE(got, 40 * mebibyte);
  EXPECT_EQ(growth.refusal(), "");
}

TEST(MemoryGrowth, KeepsTheDevicesAnswerWhenItRefuses) {
  CountedSpace space(64 * mebibyte);
  space.device_has = 1 * mebibyte;
  GrowthResource growth(space, true);
  EXPECT_FALSE(growth.map(2 * mebibyte, any, nullptr, Site{}));
  EXPECT_EQ(growth.refusal(), "only so much memory on this board");
  EXPECT_TRUE(growth.map(1 * mebibyte, any, nullptr, Site{}));
  EXPECT_EQ(growth.refusal(), "");
}

TEST(MemoryGrowth, FillsHolesLeftByUnmapping) {
  CountedSpace space(64 * mebibyte);
  GrowthResource growth(space, true);
  const Extent first = growth.map(2 * mebibyte, 2 * mebibyte, nullptr, Site{});
  growth.map(2 * mebibyte, 2 * mebibyte, nullptr, Site{});
  growth.unmap({first.address + granule, mebibyte}, Site{});
  EXPECT_EQ(space.mapped(), 3 * mebibyte);
  EXPECT_EQ(growth.map(mebibyte, any, nullptr, Site{}).address, first.address + granule);
  EXPECT_EQ(growth.map(mebibyte, any, nullptr, Site{}).address, first.address + 4 * mebibyte);
  EXPECT_TRUE(space.faults.empty());
}

TEST(MemoryGrowth, MapsAtAGivenAddressOnlyWhereNothingIsMapped) {
  CountedSpace space(64 * mebibyte);
  GrowthResource growth(space, true);
  const Extent first = growth.map(mebibyte, mebibyte, nullptr, Site{});
  EXPECT_FALSE(growth.map(mebibyte, any, first.address, Site{}));
  EXPECT_EQ(growth.map(mebibyte, any, first.address + mebibyte, Site{}).address, first.address + mebibyte);
}

TEST(MemoryGrowth, PassesTheDoor) {
  reset_sync_totals();
  CountedSpace space(64 * mebibyte);
  GrowthResource growth(space, true);
  const Site here;
  growth.map(1, any, nullptr, here);
  const auto totals = sync_totals();
  ASSERT_EQ(totals.size(), 1U);
  EXPECT_EQ(totals[0].reason, SyncReason::memory_mapping);
  EXPECT_EQ(totals[0].site, here);
}

TEST(MemoryLimitLayer, NeverMapsMoreThanTheLimit) {
  CountedSpace space(64 * mebibyte);
  LimitAdaptor<GrowthResource> limited(3 * mebibyte, space, true);
  EXPECT_EQ(limited.map(1, any, nullptr, Site{}).bytes, 2 * mebibyte);
  EXPECT_EQ(limited.map(1, any, nullptr, Site{}).bytes, 1 * mebibyte);
  EXPECT_EQ(limited.room(), 0U);
  EXPECT_FALSE(limited.map(1, any, nullptr, Site{}));
  EXPECT_EQ(limited.refusal(), "");
  limited.set_limit(4 * mebibyte);
  EXPECT_EQ(limited.map(1, any, nullptr, Site{}).bytes, 1 * mebibyte);
}

TEST(MemoryLimitLayer, MapsTheWholeGranuleThatALimitEndsIn) {
  CountedSpace space(64 * mebibyte);
  LimitAdaptor<GrowthResource> limited(100'000, space, true);
  EXPECT_EQ(limited.map(1, any, nullptr, Site{}).bytes, 2 * granule);
  EXPECT_FALSE(limited.map(1, any, nullptr, Site{}));
  EXPECT_EQ(space.mapped(), 2 * granule);
}

}  // namespace
}  // namespace tutti
