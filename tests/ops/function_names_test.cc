// Errors name the function a program called; the placement log and the ledger keep the row's name.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
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

TEST(FunctionNames, AreInFailuresThatArriveLaterAndInRefusedPlacements) {
  simulate_gpus(2);
  const Tensor spoiled = take(ones({2}), constant({9}));
  EXPECT_NE(refusal_of([&] { spoiled.sync(); }).find("(op take on "), std::string::npos);
  const DeviceScope on("GPU:7");
  EXPECT_NE(refusal_of([&] { (void)empty({2}); }).find("asked for by op empty in"), std::string::npos);
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
