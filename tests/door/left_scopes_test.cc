// Scopes of syncs that are left out of order, or by another thread: said in the log, and nobody else's scope is harmed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "place/captured_log.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A demand sync, whatever there is to wait for.
void sync_once() { (void)item<float>(ones({})); }

bool may_sync() {
  try {
    sync_once();
    return true;
  } catch (const SyncForbidden&) {
    return false;
  }
}

auto left_out_of_order(const char* what) {
  return ElementsAre(AllOf(HasSubstr(what), HasSubstr(__FILE__), HasSubstr("was left before one opened inside it")));
}

auto left_on_another_thread(const char* what) {
  return ElementsAre(AllOf(HasSubstr(what), HasSubstr(__FILE__), HasSubstr("was left on another thread")));
}

template <class Scope>
void leave_on_another_thread(std::unique_ptr<Scope>& scope) {
  std::thread([&] { scope.reset(); }).join();
}

}  // namespace

TEST(LeftOutOfOrder, ASyncCountLeavesTheInnerOneCounting) {
  const CapturedLog log;
  auto outer = std::make_unique<SyncCount>(Site());
  auto inner = std::make_unique<SyncCount>(Site());
  sync_once();
  EXPECT_EQ(outer->demand_syncs(), 1U);
  outer.reset();
  sync_once();
  EXPECT_EQ(inner->demand_syncs(), 2U);
  inner.reset();
  sync_once();
  EXPECT_THAT(log.of(LogLevel::error), left_out_of_order("the SyncCount opened at "));
}

TEST(LeftOutOfOrder, ASyncBudgetNoLongerCountsAndTheInnerOneDoes) {
  const CapturedLog log;
  auto outer = std::make_unique<SyncBudget>(1, "outer", Site());
  auto inner = std::make_unique<SyncBudget>(3, "inner", Site());
  sync_once();
  outer.reset();
  sync_once();
  sync_once();
  EXPECT_THROW(sync_once(), SyncForbidden);
  EXPECT_EQ(inner->spent(), 3U);
  inner.reset();
  sync_once();
  EXPECT_THAT(log.of(LogLevel::error), left_out_of_order("the SyncBudget opened at "));
}

TEST(LeftOutOfOrder, ASyncScopeLeavesTheModeOfTheInnerOneAndThenThatOfBefore) {
  const CapturedLog log;
  auto outer = std::make_unique<SyncScope>(OnSync::error, Site());
  auto inner = std::make_unique<SyncScope>(OnSync::count, Site());
  outer.reset();
  EXPECT_EQ(get_sync_debug_mode(), OnSync::count);
  inner.reset();
  EXPECT_EQ(get_sync_debug_mode(), OnSync::allow);
  EXPECT_TRUE(may_sync());
  EXPECT_THAT(log.of(LogLevel::error), left_out_of_order("the SyncScope opened at "));
}

TEST(LeftOutOfOrder, AnAllowSyncAllowsNothingAfterTheLastOne) {
  const CapturedLog log;
  const SyncScope strict(OnSync::error);
  auto outer = std::make_unique<AllowSync>("outer", Site());
  auto inner = std::make_unique<AllowSync>("inner", Site());
  outer.reset();
  EXPECT_TRUE(may_sync());
  inner.reset();
  EXPECT_FALSE(may_sync());
  EXPECT_THAT(log.of(LogLevel::error), left_out_of_order("the AllowSync opened at "));
}

TEST(LeftOutOfOrder, ScopesOfDifferentKindsAreToldApart) {
  const CapturedLog log;
  auto strict = std::make_unique<SyncScope>(OnSync::error, Site());
  auto count = std::make_unique<SyncCount>(Site());
  auto allow = std::make_unique<AllowSync>("meant", Site());
  strict.reset();
  sync_once();
  EXPECT_EQ(count->demand_syncs(), 1U);
  allow.reset();
  EXPECT_TRUE(may_sync());
  EXPECT_EQ(count->demand_syncs(), 2U);
}

TEST(LeftOnAnotherThread, ASyncCountIsNotHeardOfAgain) {
  const CapturedLog log;
  auto count = std::make_unique<SyncCount>(Site());
  leave_on_another_thread(count);
  sync_once();
  const SyncCount next;
  sync_once();
  EXPECT_EQ(next.demand_syncs(), 1U);
  EXPECT_THAT(log.of(LogLevel::error), left_on_another_thread("the SyncCount opened at "));
}

TEST(LeftOnAnotherThread, ASyncBudgetForbidsNothingAnyMoreEvenInsideAnotherScope) {
  const CapturedLog log;
  auto budget = std::make_unique<SyncBudget>(0, "none", Site());
  const SyncCount inner;
  EXPECT_FALSE(may_sync());
  leave_on_another_thread(budget);
  EXPECT_TRUE(may_sync());
  EXPECT_EQ(inner.demand_syncs(), 1U);
  EXPECT_THAT(log.of(LogLevel::error), left_on_another_thread("the SyncBudget opened at "));
}

TEST(LeftOnAnotherThread, ASyncScopeLeavesBothThreadsTheModeTheyHad) {
  const CapturedLog log;
  set_sync_debug_mode(OnSync::count);
  auto strict = std::make_unique<SyncScope>(OnSync::error, Site());
  std::thread([&] {
    strict.reset();
    EXPECT_EQ(get_sync_debug_mode(), OnSync::allow);
  }).join();
  EXPECT_EQ(get_sync_debug_mode(), OnSync::count);
  EXPECT_TRUE(may_sync());
  EXPECT_THAT(log.of(LogLevel::error), left_on_another_thread("the SyncScope opened at "));
}

TEST(LeftOnAnotherThread, AnAllowSyncAllowsNothingOnEitherThread) {
  const CapturedLog log;
  const SyncScope strict(OnSync::error);
  auto allow = std::make_unique<AllowSync>("meant", Site());
  std::thread([&] {
    const SyncScope here(OnSync::error);
    allow.reset();
    EXPECT_FALSE(may_sync());
  }).join();
  EXPECT_FALSE(may_sync());
  EXPECT_THAT(log.of(LogLevel::error), left_on_another_thread("the AllowSync opened at "));
}

}  // namespace tutti
