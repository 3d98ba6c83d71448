// Stacks of waits, merged for a flame graph.
#include "tutti/trace/flames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/trace_bytes.h"
#include "tutti/trace/trace_file.h"

namespace tutti::tracing {
namespace {

using testing::ElementsAre;

std::vector<std::string> names(const Flames& flames) {
  std::vector<std::string> out;
  for (const Flame& flame : flames.tree) out.push_back(flames.frames[flame.frame].function);
  return out;
}

WaitBody wait_in(std::uint32_t stack, std::uint64_t begin, std::uint64_t length) {
  WaitBody wait{};
  wait.begin = begin;
  wait.end = begin + length;
  wait.api = 2;
  wait.thread = 7;
  wait.stack = stack;
  wait.calls = 1;
  wait.kind = WaitKind::stream;
  return wait;
}

TEST(Flames, OfOneStackAreOnePathWithTheSumOfItsWaits) {
  const Flames flames = flames_of(make_report({read_trace(small_trace(5).bytes, "a")}));
  EXPECT_THAT(names(flames), ElementsAre("all waits", "read", "copy to the host, cuStreamSynchronize"));
  for (const Flame& flame : flames.tree) {
    EXPECT_EQ(flame.waits + flame.warm_up_waits, 5U);
    EXPECT_EQ(flame.time + flame.warm_up_time, 500'000U);
  }
  EXPECT_EQ(flames.frames[flames.tree[1].frame].where, "train.py:3");
  EXPECT_EQ(flames.frames[flames.tree[1].frame].kind, FlameKind::own);
  EXPECT_EQ(flames.tree[2].site, 0);
}

TEST(Flames, WithoutPythonAreTheNativeFrames) {
  TraceBytes bytes = small_trace(0);
  bytes.stack(StackHead{2, 0, 0, 1, 0}, {2}).record(RecordKind::wait, wait_in(2, 10, 100));
  const Flames flames = flames_of(make_report({read_trace(bytes.bytes, "a")}));
  EXPECT_THAT(names(flames), ElementsAre("all waits", "at::native::item()", "stream sync, cuStreamSynchronize"));
  EXPECT_EQ(flames.frames[flames.tree[1].frame].kind, FlameKind::library);
}

TEST(Flames, OfManyStacksAreThoseThatHoldMost) {
  TraceBytes bytes = small_trace(0);
  for (std::uint32_t i = 0; i < 50; ++i) {
    bytes.record(RecordKind::python_frame, PythonFrameBody{10 + i, 3, 4, 100 + i, 100 + i, 0, 0, 0});
    bytes.stack(StackHead{10 + i, 0, 2, 0, 0}, {10 + i, 1});
    bytes.record(RecordKind::wait, wait_in(10 + i, 1000 * i, 1 + i));
  }
  const TraceReport report = make_report({read_trace(bytes.bytes, "a")});
  const Flames all = flames_of(report);
  EXPECT_EQ(all.tree.size(), 102U);
  EXPECT_EQ(all.left_out, 0U);
  const Flames few = flames_of(report, 8);
  ASSERT_EQ(few.tree.size(), 8U);
  EXPECT_EQ(few.left_out, 94U);
  EXPECT_EQ(few.tree[0].time, all.tree[0].time);
  for (std::size_t i = 1; i < few.tree.size(); ++i) EXPECT_LT(few.tree[i].parent, i);
  EXPECT_EQ(few.frames[few.tree[2].frame].where, "train.py:147");
  EXPECT_EQ(few.tree[2].time, 48U);
}

}  // namespace
}  // namespace tutti::tracing
