// Batches have every example once an epoch, in an order that can be had again, and reach a device without a host wait.
#include <gmock/gmock.h>

#include <limits>
#include <set>

#include "streams/gate.h"
#include "tutti/exec/dispatch.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::tuple<Tensor, Tensor> ten() { return {reshape(arange(20), {10, 2}), arange(10)}; }

template <class Data>
std::vector<std::vector<std::int64_t>> labels_of(const Data& data, const DatasetPosition& from = {}) {
  std::vector<std::vector<std::int64_t>> out;
  auto epoch = data.from(from);
  for (const auto& [x, y] : epoch) {
    out.push_back(read<std::int64_t>(y));
    EXPECT_EQ(read<std::int64_t>(sum(x, 1)), read<std::int64_t>(4 * y + 1)) << "rows belong together";
  }
  return out;
}

TEST(Datasets, GiveWhatIsLeftAsALastBatchOrDropIt) {
  const auto data = Dataset(ten());
  EXPECT_THAT(labels_of(data.batch(4)), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7), ElementsAre(8, 9)));
  EXPECT_EQ(data.batch(4).batches(), 3);
  EXPECT_EQ(labels_of(data.batch(4, {.drop_remainder = true})).size(), 2U);
  EXPECT_EQ(labels_of(data.batch(10)).size(), 1U);
  EXPECT_EQ(labels_of(data.batch(99)).size(), 1U);
}

TEST(Datasets, HaveEveryExampleOnceInEveryShuffledEpoch) {
  const auto data = Dataset(ten()).shuffle(7).batch(3);
  std::set<std::vector<std::vector<std::int64_t>>> orders;
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    const auto batches = labels_of(data, {.epoch = epoch});
    std::multiset<std::int64_t> all;
    for (const auto& batch : batches) all.insert(batch.begin(), batch.end());
    EXPECT_THAT(all, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    EXPECT_EQ(batches, labels_of(data, {.epoch = epoch})) << "the same again";
    orders.insert(batches);
  }
  EXPECT_EQ(orders.size(), 5U);
  EXPECT_NE(labels_of(data), labels_of(data.shuffle(8)));
}

TEST(Datasets, GoOnFromAnyPlace) {
  const auto data = Dataset(ten()).shuffle(1).batch(3).prefetch("CPU:0", 3);
  auto epoch = data.epoch(2);
  static_cast<void>(epoch.next());
  static_cast<void>(epoch.next());
  EXPECT_EQ(epoch.position(), (DatasetPosition{.epoch = 2, .batch = 2}));
  auto all = labels_of(data, {.epoch = 2});
  all.erase(all.begin(), all.begin() + 2);
  EXPECT_EQ(labels_of(data, epoch.position()), all);
}

TEST(Datasets, ApplyFunctionsToBatchesOneAfterTheOther) {
  const auto data = Dataset(ten())
                        .batch(5)
                        .map([](const std::tuple<Tensor, Tensor>& batch) { return std::get<1>(batch) * 2; })
                        .map([](const Tensor& y) { return std::pair(y, y + 1); });
  std::vector<std::int64_t> all;
  for (const auto& [y, next] : data.epoch()) {
    for (const std::int64_t each : read<std::int64_t>(next)) all.push_back(each);
  }
  EXPECT_THAT(all, ElementsAre(1, 3, 5, 7, 9, 11, 13, 15, 17, 19));
}

TEST(Datasets, ReachADeviceAheadOfTimeWithoutAHostWait) {
  simulate_gpus(2);
  const auto data = Dataset(ten()).shuffle(3).batch(4).prefetch("GPU:1");
  std::vector<Tensor> kept;
  {
    const SyncScope strict(OnSync::error);
    for (const auto& [x, y] : data.epoch()) {
      EXPECT_THAT(x.device(), HasSubstr("GPU:1"));
      kept.push_back(sum(x) - 4 * sum(y));
    }
  }
  std::vector<std::int64_t> sums;
  for (const Tensor& each : kept) sums.push_back(item<std::int64_t>(each));
  EXPECT_THAT(sums, ElementsAre(4, 4, 2));
}

// Sees what is copied to a GPU: out of which memory, and on which streams.
class CopiesToGpus final : public Executor {
 public:
  void run(OpCall& call) override {
    if (call.op.name == "_Copy" && call.pinned != nullptr && !call.pinned->is_cpu()) {
      ++(is_pinned(call.tensor(0)) ? pinned : pageable);
      streams.insert(current_stream(*call.pinned).id());
    }
    pass_on(call);
  }
  int pinned = 0;
  int pageable = 0;
  std::set<StreamId> streams;
};

// The stream of the ops stands still, and batches arrive all the same.
TEST(Datasets, ReachADeviceBeforeTheyAreAskedForOutOfPinnedMemoryOnAStreamOfTheirOwn) {
  simulate_gpus(1, {.pinned_copies = true});
  std::vector<std::tuple<Tensor, Tensor>> made;
  const auto data = Dataset(ten()).shuffle(3).batch(2).prefetch("GPU:0").map(
      [&](const std::tuple<Tensor, Tensor>& batch) { return made.emplace_back(batch); });
  testing_streams::Gate gate;
  static_cast<void>(gate.close("GPU:0"));
  gate.await_entered();
  CopiesToGpus copies;
  auto epoch = data.epoch();
  {
    const ExecutorScope seen(copies);
    static_cast<void>(epoch.next());
  }
  ASSERT_EQ(made.size(), 3U) << "one was asked for";
  for (const auto& [x, y] : made) {
    x.sync({.timeout = std::chrono::seconds(30)});
    y.sync({.timeout = std::chrono::seconds(30)});
  }
  EXPECT_EQ(copies.pinned, 6);
  EXPECT_EQ(copies.pageable, 0);
  EXPECT_EQ(copies.streams.size(), 1U);
  EXPECT_FALSE(copies.streams.contains(default_stream("GPU:0").id()));
  for (const SyncTotals& each : sync_totals()) EXPECT_NE(each.reason, SyncReason::pageable_staging) << each.site.to_string();
}

TEST(Datasets, RefuseWhatIsNoTable) {
  EXPECT_THROW(Dataset(std::tuple(arange(3), arange(4))), ShapeError);
  EXPECT_THROW(Dataset(std::vector<Tensor>{constant(1)}), ShapeError);
  EXPECT_THROW(Dataset(std::vector<Tensor>{}), InvalidArgument);
  EXPECT_EQ(Dataset(ten()).batch(std::numeric_limits<std::int64_t>::max()).batches(), 1);
  EXPECT_THROW(static_cast<void>(Dataset(ten()).batch(0)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(Dataset(ten()).batch(11, {.drop_remainder = true})), InvalidArgument);
}

}  // namespace
}  // namespace tutti
