// What the report tells to do at a line is something that the line does not do yet, and every line is told something.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tutti/tutti.h"

namespace tutti {

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Class, evidence, fix and what else the report says of the demand syncs at a site.
std::string told_of(Site site) {
  const auto report = nlohmann::json::parse(sync_report().to_json());
  for (const auto& each : report.at("sites")) {
    if (each.at("demand") && each.at("site") == site.to_string()) return each.dump();
  }
  ADD_FAILURE() << "no sync at " << site.to_string();
  return {};
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const SyncForbidden& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

class Fixes : public testing::Test {
 protected:
  void SetUp() override {
    simulate_gpus(1);
    on_.emplace("GPU:0");
  }

 private:
  std::optional<DeviceScope> on_;
};

}  // namespace

TEST_F(Fixes, OfAnUnknownReadAreOneForEachUseThatItMayHave) {
  const Site here;
  (void)item<float>(sum(ones({3})), here);
  EXPECT_THAT(told_of(here), AllOf(HasSubstr(R"("class":"unknown")"), HasSubstr("only printed, logged or stored"),
                                   HasSubstr("read_async() here, and get() or try_get() it a step later"),
                                   HasSubstr("decides what the host does"), HasSubstr("where(), cond() and while_loop()"),
                                   HasSubstr("goes into other ops"), HasSubstr("pass them the tensor")));
  EXPECT_THAT(sync_report().to_text(), HasSubstr("\n    if it goes into other ops -> pass them the tensor"));
}

TEST_F(Fixes, OfAnUnknownSyncBeginWithItsRemovalBecauseOpsAreOrderedAlready) {
  const Site tensor;
  const Site stream;
  const Site event;
  const Site device;
  const Site all;
  Stream beside("GPU:0");
  const Tensor x = ones({3});
  x.sync({}, tensor);
  {
    const StreamScope use(beside);
    (void)(x + 1);
  }
  beside.sync({}, stream);
  {
    const StreamScope use(beside);
    (void)(x + 1);
  }
  Event made;
  made.record(beside);
  made.sync({}, event);
  (void)(x + 1);
  synchronize("GPU:0", {}, device);
  (void)(x + 1);
  sync_devices({}, all);
  for (const Site& site : {tensor, stream, event, device, all}) {
    EXPECT_THAT(told_of(site), AllOf(HasSubstr(R"("class":"unknown")"), HasSubstr("remove it: ops are ordered already"),
                                     HasSubstr("Intent::measure"), HasSubstr("the read waits itself")));
  }
}

TEST_F(Fixes, AreGivenToASyncThatWasRefusedToo) {
  const SyncScope strict(OnSync::error);
  const Tensor x = sum(ones({3}));
  const Site read;
  const Site waited;
  const Site counted;
  const Site got;
  EXPECT_THROW((void)read_async<float>(x).get(got), SyncForbidden);
  EXPECT_THROW((void)item<float>(x, read), SyncForbidden);
  EXPECT_THROW(x.sync({}, waited), SyncForbidden);
  EXPECT_THROW((void)nonzero(ones({3}), counted), SyncForbidden);
  EXPECT_THAT(told_of(read), AllOf(HasSubstr("refused 1 time"), HasSubstr("read_async() here")));
  EXPECT_THAT(told_of(got), AllOf(HasSubstr("try_get()"), Not(HasSubstr("read_async"))));
  EXPECT_THAT(told_of(waited), AllOf(HasSubstr("refused 1 time"), HasSubstr("remove it: ops are ordered already")));
  EXPECT_THAT(told_of(counted), AllOf(HasSubstr("refused 1 time"), HasSubstr("dynamic shape"), HasSubstr(".size")));
}

TEST_F(Fixes, OfAShapeNameTheFormWithASizeAndTheCountAlone) {
  const Tensor x = ones({5});
  const Site found;
  const Site unique;
  const Site repeated;
  (void)nonzero(x, found).shape();
  (void)unique_values(x, unique);
  (void)repeat_interleave(x, ones({5}, DType::i64), {}, repeated);
  EXPECT_THAT(told_of(found),
              AllOf(HasSubstr("nonzero(x, {.size = n})"), HasSubstr("if only the count is used, count_nonzero(x)")));
  EXPECT_THAT(told_of(unique), AllOf(HasSubstr("unique_values(x, {.size = n})"), Not(HasSubstr("nonzero"))));
  EXPECT_THAT(told_of(repeated), AllOf(HasSubstr("{.output_size = n}"), Not(HasSubstr("nonzero"))));
}

TEST_F(Fixes, OfAGetDoNotSayWhatItDoesAlready) {
  const Pending<float> a = read_async<float>(sum(ones({3})));
  const Pending<float> b = read_async<float>(sum(ones({4})));
  const Site used;
  const Site next;
  const Site logged;
  (void)a.get(used);
  (void)b.get(next);
  (void)read_async<float>(sum(ones({5}))).get(Intent::log, logged);
  EXPECT_THAT(told_of(used), AllOf(HasSubstr("try_get()"), Not(HasSubstr("read_async"))));
  EXPECT_THAT(told_of(next), AllOf(HasSubstr("coalescible"), HasSubstr("stack()"), Not(HasSubstr("read_all"))));
  EXPECT_THAT(told_of(logged), AllOf(HasSubstr("deferrable"), HasSubstr("try_get()"), Not(HasSubstr("read_async"))));

  const SyncScope strict(OnSync::error);
  EXPECT_THAT(refusal_of([&] { (void)a.get(); }), AllOf(HasSubstr("try_get()"), Not(HasSubstr("read_async"))));
  EXPECT_THAT(refusal_of([] { (void)item<float>(ones({}) + 1); }), HasSubstr("read_async()"));
}

TEST_F(Fixes, OfAnExplicitSyncDoNotCallItARead) {
  const Tensor x = ones({3});
  const Site logged;
  const Site decided;
  (void)(x + 1);
  synchronize("GPU:0", {.intent = Intent::log}, logged);
  (void)(x + 1);
  synchronize("GPU:0", {.intent = Intent::branch}, decided);
  for (const Site& site : {logged, decided})
    EXPECT_THAT(told_of(site), AllOf(Not(HasSubstr("read a value")), Not(HasSubstr("read_async")), HasSubstr("remove it")));
  EXPECT_THAT(told_of(logged), HasSubstr("deferrable"));
  EXPECT_THAT(told_of(decided), HasSubstr("control flow"));
}

TEST_F(Fixes, OfABarrierSayWhenItIsNotNeeded) {
  const Site met;
  { const BlockingRegion inside(SyncReason::barrier, met); }
  EXPECT_THAT(told_of(met), HasSubstr("a collective waits for the other processes itself"));
}

}  // namespace tutti
