// What the line and the record tell of a wait, and what they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "trace/trace_bytes.h"
#include "tutti/lint/syntax_tree.h"
#include "tutti/trace/trace_report.h"

namespace tutti::tracing {
namespace {

using testing::HasSubstr;

TraceReport report_of(const TraceBytes& bytes) { return make_report({read_trace(bytes.bytes, "a")}); }

SyncClass class_of_line(std::string_view line) {
  const std::size_t at = line.find("loss.item()");
  const auto column = static_cast<std::uint32_t>(at + 1);
  return report_of(small_trace(10, line, column, column + 11)).sites.at(0).verdict.kind;
}

TEST(TraceClasses, ALineThatDecidesIsControlFlow) {
  EXPECT_EQ(class_of_line("    if loss.item() > 3:"), SyncClass::control_flow);
  EXPECT_EQ(class_of_line("while loss.item() > 3:"), SyncClass::control_flow);
  EXPECT_EQ(class_of_line("    assert loss.item() < 3"), SyncClass::control_flow);
  EXPECT_EQ(class_of_line("    rate = 1 if loss.item() > 3 else 2"), SyncClass::control_flow);
}

TEST(TraceClasses, ALineThatTellsIsDeferrable) {
  EXPECT_EQ(class_of_line("    print(loss.item())"), SyncClass::deferrable);
  EXPECT_EQ(class_of_line("losses.append(loss.item())"), SyncClass::deferrable);
  EXPECT_EQ(class_of_line("    total += loss.item()"), SyncClass::deferrable);
  EXPECT_EQ(class_of_line("    bar.set_postfix(loss=loss.item())"), SyncClass::deferrable);
}

TEST(TraceClasses, WhatALineDoesNotTellIsUnknownWithWhatItMayBe) {
  EXPECT_EQ(class_of_line("    value = loss.item()"), SyncClass::unknown);
  EXPECT_EQ(class_of_line("    value = loss.item()  # print(it) if you like"), SyncClass::unknown);
  const TraceReport report = report_of(small_trace(10, "    value = loss.item()", 13, 24));
  EXPECT_EQ(report.sites.at(0).verdict.may_be.size(), 3U);
}

TEST(TraceClasses, ASiteKeepsItsLineAndExpression) {
  const TraceReport report = report_of(small_trace(10));
  ASSERT_EQ(report.sites.size(), 1U);
  EXPECT_EQ(report.sites[0].key.place.name(), "train.py:3");
  EXPECT_EQ(report.sites[0].key.place.source, "if loss.item() > 3:");
  EXPECT_EQ(report.sites[0].key.place.expression, "loss.item()");
  ASSERT_TRUE(report.steps.has_value());
  EXPECT_EQ(report.steps->times.size(), 9U);
  EXPECT_EQ(report.steps->quantile(0.5), 1'000'000U);
  EXPECT_THAT(report.to_text(), HasSubstr("9 steps of 1.00 ms"));
}

// Escapes of a terminal, in all that a file gives.
TEST(TraceClasses, ATextOfTheFileReachesTheTerminalInPrintableForm) {
  TraceBytes bytes;
  bytes.named(RecordKind::text, 1, "\x1b[1m3.12");
  bytes.record(RecordKind::process, ProcessBody{1000, 5, 42, 1, 130001, 0, 1, 0}, "python3\x1b[2m");
  bytes.named(RecordKind::text, 2, "cu\x1b[3mSync")
      .named(RecordKind::text, 3, "tr\x1b[4m.py")
      .named(RecordKind::text, 4, "re\x1b[5m");
  bytes.named(RecordKind::text, 5, "x\x1b[6m.item()")
      .named(RecordKind::text, 6, "/lib\x1b[7m.so")
      .named(RecordKind::text, 7, "s\x1b[8m");
  bytes.named(RecordKind::text, 8, "a range\x1b[9m")
      .named(RecordKind::thread, 7, "th\x1b[10m")
      .raw(RecordKind::note, "note\x1b[11m");
  bytes.record(RecordKind::module, ModuleBody{1, 6, 0x1000, {}, 0})
      .record(RecordKind::native_frame, NativeFrameBody{2, 1, 0x22, 7, 0});
  bytes.record(RecordKind::python_frame, PythonFrameBody{1, 3, 4, 3, 3, 0, 0, 5}).stack(StackHead{1, 0, 1, 1, 0}, {1, 2});
  for (std::uint64_t i = 0; i < 10; ++i) {
    WaitBody wait{};
    wait.begin = 10'000 + i * 1'000'000;
    wait.end = wait.begin + 100'000;
    wait.api = 2;
    wait.thread = 7;
    wait.stack = 1;
    wait.calls = 1;
    wait.kind = WaitKind::stream;
    wait.range = 8;
    bytes.record(RecordKind::wait, wait);
  }
  const std::string told = report_of(bytes).to_text();
  EXPECT_THAT(told, HasSubstr("cu\\x1b[3mSync"));
  EXPECT_THAT(told, HasSubstr("a range\\x1b[9m"));
  EXPECT_EQ(told.find('\x1b'), std::string::npos) << told;
}

// The linter's, where this build has one.
bool has_linter() { return lint::SyntaxTree::parse("x").has_value(); }

class WithSource : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_linter()) GTEST_SKIP() << "this build has no linter";
    folder_ = std::filesystem::temp_directory_path() / ("tutti-trace-classes-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    std::filesystem::current_path(folder_);
  }
  void TearDown() override {
    std::filesystem::current_path("/");
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  // A wait at line 3 of train.py, which reads so.
  WaitSite site_in(const std::string& source) {
    std::ofstream("train.py") << source;
    return report_of(small_trace(10, "    value = loss.item()", 13, 24)).sites.at(0);
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(WithSource, WhatBecomesOfTheValueIsFollowedInTheFile) {
  const std::string read = "import torch\ndef read(loss):\n    value = loss.item()\n";
  const WaitSite decides = site_in(read + "    g()\n    if value > 3:\n        return 1\n");
  EXPECT_EQ(decides.verdict.kind, SyncClass::control_flow);
  EXPECT_EQ(decides.verdict.evidence, "line 5 decides by the value what the host does");
  EXPECT_EQ(site_in(read + "    print(value)\n").verdict.kind, SyncClass::deferrable);
  EXPECT_EQ(site_in(read + "    return torch.zeros(value)\n").verdict.kind, SyncClass::dynamic_shape);
  EXPECT_EQ(site_in(read + "    return torch.clamp(x, max=value)\n").verdict.kind, SyncClass::redundant);
  EXPECT_EQ(site_in(read + "    return value\n").verdict.kind, SyncClass::unknown);
}

TEST_F(WithSource, ALineThatHasMovedIsFoundAndOneThatHasChangedIsNotBelieved) {
  const std::string read = "import torch\n# more\n# more\ndef read(loss):\n    value = loss.item()\n    print(value)\n";
  EXPECT_EQ(site_in(read).verdict.kind, SyncClass::deferrable);
  const WaitSite changed = site_in("import torch\ndef read(loss):\n    value = other.item()\n    print(value)\n");
  EXPECT_EQ(changed.verdict.kind, SyncClass::unknown);
  EXPECT_EQ(changed.rule, "item") << "told from the line that the trace kept";
}

TEST(TraceRules, AWaitNamesTheRuleItFallsUnder) {
  if (!has_linter()) GTEST_SKIP() << "this build has no linter";
  const TraceReport report = report_of(small_trace(10));
  EXPECT_EQ(report.sites.at(0).rule, "item");
  EXPECT_THAT(report.to_text(), HasSubstr("rule: item (tutti lint --explain item)"));
  EXPECT_THAT(report.to_json(), HasSubstr("\"rule\":\"item\",\"use\":\"decides\",\"use_line\":3"));
  EXPECT_EQ(report_of(small_trace(10, "    x = model(y)", 9, 17)).sites.at(0).rule, "");
}

// A trace of its own for each kind of wait: twice, with nothing else.
TraceReport report_of_kind(WaitKind kind, CopyDirection direction, HostMemory memory, std::uint64_t time) {
  TraceBytes bytes = small_trace(0, "    x = f()");
  for (std::uint64_t i = 0; i < 2; ++i) {
    WaitBody wait{};
    wait.begin = 1'000'000 * i;
    wait.end = wait.begin + time;
    wait.bytes = 4096;
    wait.api = 2;
    wait.thread = 7;
    wait.stack = 1;
    wait.calls = 1;
    wait.kind = kind;
    wait.direction = direction;
    wait.memory = memory;
    bytes.record(RecordKind::wait, wait);
  }
  return report_of(bytes);
}

// The main thread sleeps until a host callback; a worker without Python copies 8 bytes meanwhile, and waits once more afterwards.
TraceBytes sleeping_trace(std::string_view line, std::string_view expression) {
  const auto column = static_cast<std::uint32_t>(line.find(expression) + 1);
  TraceBytes bytes = small_trace(0, line, column, column + static_cast<std::uint32_t>(expression.size()));
  bytes.named(RecordKind::text, 8, "cuLaunchHostFunc").named(RecordKind::text, 9, "/venv/jax/xla_cuda_plugin.so");
  bytes.named(RecordKind::text, 10, "step 3 > read");
  bytes.record(RecordKind::module, ModuleBody{2, 9, 0x9000, {}, 0});
  bytes.record(RecordKind::native_frame, NativeFrameBody{3, 2, 0x33, 0, 0});
  bytes.stack(StackHead{2, 0, 1, 1, 0}, {1, 3});
  bytes.stack(StackHead{3, python_of_main_thread, 1, 1, 0}, {1, 3});
  const auto wait = [&](WaitKind kind, std::uint32_t thread, std::uint32_t stack, std::uint64_t begin, std::uint64_t end) {
    WaitBody body{};
    body.begin = begin;
    body.end = end;
    body.api = kind == WaitKind::sleep ? 8 : 2;
    body.thread = thread;
    body.stack = stack;
    body.calls = 1;
    body.kind = kind;
    body.range = 10;
    if (kind == WaitKind::staging) {
      body.bytes = 8;
      body.direction = CopyDirection::to_host;
      body.memory = HostMemory::pageable;
    }
    bytes.record(RecordKind::wait, body);
  };
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::uint64_t begin = 1'000'000 * i;
    wait(WaitKind::staging, 8, 3, begin + 20'000, begin + 60'000);
    wait(WaitKind::sleep, 42, 2, begin, begin + 100'000);  // 42: of the process, and so of its main thread
    wait(WaitKind::stream, 8, 3, begin + 200'000, begin + 210'000);
  }
  return bytes;
}

TEST(TraceSleeps, WhatAWorkerWaitedForInsideIsAPartOfThem) {
  const TraceReport report = report_of(sleeping_trace("    value = float(loss)", "float(loss)"));
  ASSERT_EQ(report.sites.size(), 2U) << report.to_text();
  const WaitSite& slept = report.sites[0];
  EXPECT_EQ(slept.kind, WaitKind::sleep);
  EXPECT_EQ(slept.all(), 10U);
  EXPECT_EQ(slept.bytes, 8U);
  EXPECT_EQ(slept.direction, CopyDirection::to_host);
  EXPECT_EQ(slept.of_main_thread, 0U);
  EXPECT_EQ(slept.time + slept.warm_up_time, 1'000'000U);
  EXPECT_EQ(report.sites[1].kind, WaitKind::stream) << "that one was no part of a sleep";
}

// A compiler's threads wait more often than the program does.
TEST(TraceSteps, AreThoseOfTheProgramsOwnThreadsWhereTheseWait) {
  const auto with_worker = [](std::uint64_t own_waits) {
    TraceBytes bytes = small_trace(own_waits);
    bytes.named(RecordKind::text, 8, "cuEventSynchronize");
    bytes.stack(StackHead{2, python_of_main_thread, 1, 1, 0}, {1, 2});
    for (std::uint64_t i = 0; i < 50; ++i) {
      WaitBody wait{};
      wait.begin = 100 * i;
      wait.end = wait.begin + 50;
      wait.api = 8;
      wait.thread = 8;
      wait.stack = 2;
      wait.calls = 1;
      wait.kind = WaitKind::event;
      bytes.record(RecordKind::wait, wait);
    }
    return report_of(bytes);
  };
  const TraceReport own = with_worker(10);
  ASSERT_TRUE(own.steps.has_value());
  EXPECT_EQ(own.steps->times.size(), 9U);
  for (const WaitSite& site : own.sites) EXPECT_EQ(site.waits, site.of_main_thread == 0 ? 10U : 0U) << "the rest is warm-up";
  const TraceReport of_worker = with_worker(0);
  ASSERT_TRUE(of_worker.steps.has_value());
  EXPECT_EQ(of_worker.steps->times.size(), 49U);
}

TEST(TraceSleeps, AreClassifiedByTheirLineInTheWordsOfJax) {
  const auto verdict = [](std::string_view line, std::string_view expression) {
    return report_of(sleeping_trace(line, expression)).sites.at(0).verdict;
  };
  EXPECT_EQ(verdict("    value = float(loss)", "float(loss)").kind, SyncClass::unknown);
  const SyncVerdict told = verdict("    losses.append(float(loss))", "float(loss)");
  EXPECT_EQ(told.kind, SyncClass::deferrable);
  EXPECT_THAT(told.fix, HasSubstr("copy_to_host_async"));
  const SyncVerdict decides = verdict("    if float(loss) > 3:", "float(loss)");
  EXPECT_EQ(decides.kind, SyncClass::control_flow);
  EXPECT_THAT(decides.fix, HasSubstr("lax.cond"));
}

TEST(TraceSleeps, TellTheRangesTheyWereIn) {
  const TraceReport report = report_of(sleeping_trace("    value = float(loss)", "float(loss)"));
  EXPECT_EQ(report.sites.at(0).range, "step 3 > read");
  EXPECT_THAT(report.to_text(), HasSubstr("in the NVTX range step 3 > read"));
  EXPECT_THAT(report.to_json(), HasSubstr("\"range\":\"step 3 > read\""));
}

TEST(TraceClasses, TheRecordTellsWhatNeedsNoLine) {
  const auto kind = [](WaitKind wait, CopyDirection direction, HostMemory memory, std::uint64_t time = 50'000) {
    return report_of_kind(wait, direction, memory, time).sites.at(0).verdict.kind;
  };
  EXPECT_EQ(kind(WaitKind::staging, CopyDirection::to_device, HostMemory::pageable), SyncClass::pageable);
  EXPECT_EQ(kind(WaitKind::copy, CopyDirection::to_host, HostMemory::pageable), SyncClass::pageable);
  EXPECT_EQ(kind(WaitKind::stream, CopyDirection::to_device, HostMemory::pinned), SyncClass::redundant);
  EXPECT_EQ(kind(WaitKind::loading, CopyDirection::none, HostMemory::none), SyncClass::warm_up);
  EXPECT_EQ(kind(WaitKind::allocation, CopyDirection::none, HostMemory::none), SyncClass::flow_control);
  EXPECT_EQ(kind(WaitKind::context, CopyDirection::none, HostMemory::none, 900), SyncClass::no_op);
  EXPECT_EQ(kind(WaitKind::context, CopyDirection::none, HostMemory::none), SyncClass::unknown);
  EXPECT_EQ(kind(WaitKind::stream, CopyDirection::to_host, HostMemory::pinned, 900), SyncClass::unknown);
}

TEST(TraceClasses, ACopyAndTheWaitForItAreOne) {
  TraceBytes bytes = small_trace(0, "    x = x.to(device)", 9, 21);
  bytes.named(RecordKind::text, 8, "cuMemcpyHtoDAsync_v2");
  WaitBody wait{};
  wait.begin = 1'000;
  wait.end = 200'000;
  wait.stream = 5;
  wait.bytes = 4096;
  wait.api = 8;
  wait.thread = 7;
  wait.stack = 1;
  wait.calls = 1;
  wait.kind = WaitKind::staging;
  wait.direction = CopyDirection::to_device;
  wait.memory = HostMemory::pageable;
  bytes.record(RecordKind::wait, wait);
  wait.begin = 205'000;
  wait.end = 210'000;
  wait.api = 2;
  wait.kind = WaitKind::stream;
  bytes.record(RecordKind::wait, wait);
  const TraceReport report = report_of(bytes);
  ASSERT_EQ(report.sites.size(), 1U);
  EXPECT_EQ(report.sites[0].all(), 1U);
  EXPECT_EQ(report.sites[0].longest, 209'000U);
  EXPECT_EQ(report.sites[0].key.api, "cuMemcpyHtoDAsync_v2, cuStreamSynchronize");
  EXPECT_EQ(report.sites[0].verdict.kind, SyncClass::pageable);
}

// Ten steps of a millisecond, in each of which these waits follow each other; `gap` ns from the end of one to the next.
struct Step {
  WaitKind kind;
  std::uint64_t time;
  std::uint32_t stack = 1;
  CopyDirection direction = CopyDirection::to_host;
};
TraceReport report_of_steps(const std::vector<Step>& waits, std::uint64_t gap) {
  TraceBytes bytes = small_trace(0, "    value = loss.item()", 13, 24);
  bytes.named(RecordKind::text, 8, "    other = norm.item()").named(RecordKind::text, 9, "cuMemAlloc_v2");
  bytes.record(RecordKind::python_frame, PythonFrameBody{3, 3, 4, 9, 9, 13, 24, 8});
  bytes.stack(StackHead{2, 0, 1, 1, 0}, {3, 2});
  for (std::uint64_t i = 0; i < 10; ++i) {
    std::uint64_t time = 1'000'000 * i;
    for (const Step& each : waits) {
      WaitBody wait{};
      wait.begin = time;
      wait.end = time + each.time;
      wait.bytes = each.direction == CopyDirection::to_host ? 4 : 0;
      wait.api = each.kind == WaitKind::allocation ? 9 : 2;
      wait.thread = 7;
      wait.stack = each.stack;
      wait.calls = 1;
      wait.kind = each.kind;
      wait.direction = each.direction;
      wait.memory = each.direction == CopyDirection::to_host ? HostMemory::pinned : HostMemory::none;
      bytes.record(RecordKind::wait, wait);
      time = wait.end + gap;
    }
  }
  return report_of(bytes);
}

TEST(TraceClasses, ASmallValueReadJustAfterAnotherOneIsCoalescible) {
  const std::vector<Step> both{{WaitKind::stream, 100'000}, {WaitKind::stream, 20'000, 2}};
  const TraceReport close = report_of_steps(both, 10'000);
  ASSERT_EQ(close.sites.size(), 2U);
  EXPECT_EQ(close.sites[0].verdict.kind, SyncClass::unknown) << "the first of them has none before it";
  EXPECT_EQ(close.sites[1].verdict.kind, SyncClass::coalescible);
  EXPECT_THAT(close.sites[1].verdict.evidence, HasSubstr("just after the one at train.py:3 had ended"));
  EXPECT_EQ(report_of_steps(both, 100'000).sites.at(1).verdict.kind, SyncClass::unknown);
}

TEST(TraceClasses, MemoryThatIsAllocatedInTheStepsIsFlowControl) {
  const TraceReport report =
      report_of_steps({{WaitKind::stream, 100'000}, {WaitKind::allocation, 20'000, 2, CopyDirection::none}}, 10'000);
  ASSERT_EQ(report.sites.size(), 2U);
  EXPECT_EQ(report.sites[1].verdict.kind, SyncClass::flow_control);
  EXPECT_THAT(report.sites[1].verdict.fix, HasSubstr("take it from a pool"));
}

TEST(TraceClasses, AResourceThatIsMadeInTheStepsIsFlowControl) {
  const TraceReport report =
      report_of_steps({{WaitKind::stream, 100'000}, {WaitKind::resource, 50'000, 2, CopyDirection::none}}, 10'000);
  ASSERT_EQ(report.sites.size(), 2U);
  EXPECT_EQ(report.sites[1].verdict.kind, SyncClass::flow_control);
  EXPECT_THAT(report.sites[1].verdict.fix, HasSubstr("make it once"));
  EXPECT_THAT(report.to_text(), HasSubstr("resource of the driver"));
}

TEST(TraceReport, TellsThreadsAndStreamsOfTheWaits) {
  TraceBytes bytes = small_trace(0);
  for (const std::uint64_t stream : {0ULL, 0x7f00ULL, 0x7f00ULL}) {
    WaitBody wait{};
    wait.begin = 1'000;
    wait.end = 9'000;
    wait.stream = stream;
    wait.api = 2;
    wait.thread = stream == 0 ? 7 : 9;
    wait.stack = 1;
    wait.calls = 1;
    wait.kind = WaitKind::stream;
    bytes.record(RecordKind::wait, wait);
  }
  const std::vector<ProcessTrace> traces{read_trace(bytes.bytes, "a")};
  const TraceReport report = make_report(traces);
  EXPECT_THAT(report.to_json(), HasSubstr("\"threads\":[\"main 7\",\"thread 9\"],\"streams\":[\"0x7f00\"]"));
  EXPECT_THAT(to_timeline(report, traces), HasSubstr("\"thread\":9,\"stream\":\"0x7f00\""));
  EXPECT_THAT(to_page(report, traces), HasSubstr("\"0x7f00\""));
}

}  // namespace
}  // namespace tutti::tracing
