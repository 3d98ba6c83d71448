// Errors name the function a program called; the placement log and the ledger keep the row's name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "place/captured_log.h"
#include "tutti/ops/catalogue.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

template <class Call>
std::string refusal_of(Call&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.message();
  }
  return "nothing: it was accepted";
}

TEST(FunctionNames, OfEveryRowAreInTheCatalogueWithThatRow) {
  for (const OpRow* row : list_ops()) {
    if (row->kind == OpKind::order) continue;                         // of streams, which the catalogue does not tell of
    if (row->name == "Identity") continue;                            // of gradients, likewise
    if (row->function == "Sgd" || row->function == "Adam") continue;  // classes, likewise
    bool is_entry = false;
    bool is_listed = false;
    bool lists_it = false;
    for (const CatalogueSection& section : catalogue()) {
      for (const CatalogueEntry& entry : section.entries) {
        const std::vector<const OpRow*> rows = ops_of(entry);
        const bool has_row = std::find(rows.begin(), rows.end(), row) != rows.end();
        is_entry = is_entry || entry.name == row->function;
        is_listed = is_listed || has_row;
        lists_it = lists_it || (has_row && entry.name == row->function);
      }
    }
    EXPECT_TRUE(is_entry) << row->name << " names the function " << row->function;
    EXPECT_EQ(lists_it, is_listed) << row->name << " names the function " << row->function << ", which does not run it";
  }
}

TEST(FunctionNames, BeginWhatACallIsRefusedWith) {
  const Tensor a = ones({2, 3});
  const Tensor b = ones({4});
  const Tensor truth = ones({2}, DType::boolean);
  const auto begins = [](const std::string& message, const std::string& name) {
    EXPECT_EQ(message.substr(0, name.size() + 1), name + ":") << message;
  };
  begins(refusal_of([&] { (void)where(truth, a, b); }), "where");
  begins(refusal_of([&] { (void)concat({a, b}); }), "concat");
  begins(refusal_of([&] { (void)matmul(a, b); }), "matmul");
  begins(refusal_of([&] { (void)matmul(a, ones({})); }), "matmul");
  begins(refusal_of([&] { (void)sum(a, 0, {.dtype = DType::boolean}); }), "sum");
  begins(refusal_of([&] { (void)take(ones({1, 1, 1, 1, 1}), zeros({1, 1, 1, 1, 1}, DType::i64)); }), "take");
  begins(refusal_of([&] { (void)(a + b); }), "add");
  begins(refusal_of([&] { (void)sqrt(arange(3)); }), "sqrt");
  begins(refusal_of([&] { (void)mean(arange(3)); }), "mean");
}

using testing::HasSubstr;

TEST(FunctionNames, AreInFailuresThatArriveLaterEvenWhereFunctionsShareARow) {
  simulate_gpus(1);
  const Tensor x = ones({2, 3});
  const Tensor bad = constant({9});
  for (const char* device : {"CPU:0", "GPU:0"}) {
    const DeviceScope on(device);
    EXPECT_THAT(refusal_of([&] { take(x, bad).sync(); }), HasSubstr("(op take on "));
    EXPECT_THAT(refusal_of([&] { embedding(x, bad).sync(); }), HasSubstr("(op embedding on "));
    EXPECT_THAT(refusal_of([&] { index_select(x, 0, bad).sync(); }), HasSubstr("(op index_select on "));
    EXPECT_THAT(refusal_of([&] { at(x, {bad}).add(1).sync(); }), HasSubstr("(op At::add on "));
    EXPECT_THAT(refusal_of([&] { at(x, {bad}).get().sync(); }), HasSubstr("(op At::get on "));
    clear_errors();
  }
}

TEST(FunctionNames, AreInInjectedFaultsWhichAreChosenByTheRow) {
  simulate_gpus(1);
  const Tensor x = ones({2});
  inject_fault({.kind = FaultKind::kernel, .op = "Less"});
  EXPECT_THAT(refusal_of([&] { greater(x, 0).sync(); }), HasSubstr("(op greater on "));
  clear_errors();
}

TEST(FunctionNames, AreAmongWhatIsStillPending) {
  simulate_gpus(1);
  const Tensor x = ones({2, 3});
  const Tensor places = constant({1});
  sync_devices();
  inject_fault({.kind = FaultKind::stall});
  const Tensor late = embedding(x, places);
  const std::string told = refusal_of([&] { late.sync({.timeout = std::chrono::milliseconds(1)}); });
  clear_faults();
  EXPECT_THAT(told, HasSubstr("\n    embedding"));
}

TEST(FunctionNames, AreInRefusedPlacementsAndCopies) {
  simulate_gpus(2);
  const Tensor x = copy_to(ones({2, 3}), "GPU:1");
  const Tensor places = copy_to(constant({1}), "GPU:0");
  set_copy_policy(CopyPolicy::explicit_only);
  EXPECT_THAT(refusal_of([&] { (void)embedding(x, places); }), HasSubstr("cannot compute embedding as input #0"));
  const DeviceScope on("GPU:7");
  for (const auto& [function, call] : std::initializer_list<std::pair<const char*, std::function<Tensor()>>>{
           {"empty", [] { return empty({2}); }},
           {"zeros", [] { return zeros({2}); }},
           {"ones", [] { return ones({2}); }},
           {"full", [] { return full({2}, 3); }},
           {"ones_like", [&] { return ones_like(x); }},
           {"empty_like", [&] { return empty_like(x); }},
           {"linspace", [] { return linspace(0, 1, 5); }},
           {"embedding", [&] { return embedding(x, places); }}}) {
    EXPECT_THAT(refusal_of([&] { (void)call(); }), HasSubstr(std::string("asked for by op ") + function + " in"));
  }
}

TEST(FunctionNames, AreInACallFromInsideAKernel) {
  const auto infer = [](Inference& in) { in.output(in.dtype(0), in.shape(0)); };
  const auto calls_greater = [](const KernelCall&, KernelContext&) { (void)greater(ones({1}), 0); };
  register_op({.name = "CallsGreater", .infer = infer}, {.cpu = calls_greater});
  const DeviceScope on("CPU:0");
  const Tensor x = ones({1});
  EXPECT_THAT(refusal_of([&] { call_op("CallsGreater", {x})[0].sync(); }), HasSubstr("op ones was called inside a kernel"));
  clear_errors();
}

TEST(FunctionNames, AreInWarningsOfSyncs) {
  const CapturedLog log;
  const SyncScope scope(OnSync::warn);
  (void)item<float>(sum(where(ones({2}, DType::boolean), ones({2}), 0)));
  (void)item<bool>(greater(sum(ones({2})), 1));
  EXPECT_EQ(log.count("a value read of what sum made blocks"), 1U);
  EXPECT_EQ(log.count("a value read of what less made blocks"), 1U) << "its row is that of less";
}

TEST(FunctionNames, AreNotInThePlacementLogTheJournalOrTheLedger) {
  const CapturedLog log;
  set_log_device_placement(true);
  journal::start();
  where(ones({2}, DType::boolean), ones({2}), 0).sync();
  journal::stop();
  EXPECT_EQ(log.count("Executing op SelectV2 in device"), 1U);
  EXPECT_EQ(last_placement().op, "SelectV2");
  bool is_recorded = false;
  for (const journal::ThreadEvents& thread : journal::snapshot().threads) {
    for (const journal::Event& event : thread.events) is_recorded = is_recorded || std::string(event.name) == "SelectV2";
  }
  EXPECT_TRUE(is_recorded);
  bool is_in_ledger = false;
  for (const SyncTotals& each : sync_totals()) is_in_ledger = is_in_ledger || std::string(each.op) == "SelectV2";
  EXPECT_TRUE(is_in_ledger);
}

}  // namespace
}  // namespace tutti
