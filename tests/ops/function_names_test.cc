// Errors name the function a program called; the placement log, the journal and the ledger keep the row's name.
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
  EXPECT_EQ(log.count("a value read of what greater made blocks"), 1U) << "its row is that of less";
}

// Whoever waits for what a function made is refused in its name, also where it shares a row or is made of others.
TEST(FunctionNames, AreInRefusedSyncs) {
  const Tensor x = ones({2, 2});
  const Tensor holds = ones({2, 2}, DType::boolean);
  x.sync();
  const SyncScope scope(OnSync::error);
  const auto expect = [](const std::string& function, const std::string& message) {
    EXPECT_THAT(message, HasSubstr(" of what " + function + " made would block the host here"));
  };
  const auto expect_of = [&](const std::string& function, const std::function<Tensor()>& call) {
    expect(function, refusal_of([&] { call().sync(); }));
  };
  expect_of("greater", [&] { return x > 1; });
  expect_of("zeros", [] { return zeros({2}); });
  expect_of("ones", [] { return ones({2}); });
  expect_of("zeros_like", [&] { return zeros_like(x); });
  expect_of("eye", [] { return eye(2); });
  expect_of("stack", [&] { return stack({x, x}); });
  expect_of("roll", [&] { return roll(x, {1}, {0}); });
  expect_of("tile", [&] { return tile(x, {2, 2}); });
  expect_of("repeat", [&] { return repeat(x, 2, 0); });
  expect_of("repeat_interleave", [&] { return repeat_interleave(x, 2, 0); });
  expect_of("reshape", [&] { return reshape(transpose(x), {4}); });
  expect_of("contiguous", [&] { return contiguous(transpose(x)); });
  expect_of("copy_to", [&] { return copy_to(x, "CPU:0"); });
  expect("unique_values", refusal_of([&] { (void)unique_values(x); }));
  expect("unique_counts", refusal_of([&] { (void)unique_counts(x); }));
  expect("nonzero", refusal_of([&] { (void)nonzero(x); }));
  expect("masked_select", refusal_of([&] { (void)masked_select(x, holds); }));
}

TEST(FunctionNames, AreBesideTheOpsOfThePlacementLogTheJournalAndTheLedger) {
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
  for (const SyncTotals& each : sync_totals()) {
    if (std::string(each.op) != "SelectV2") continue;
    is_in_ledger = true;
    EXPECT_STREQ(each.function, "where");
  }
  EXPECT_TRUE(is_in_ledger);
}

}  // namespace
}  // namespace tutti
