// Files of the recorder, whole, cut off, damaged and foreign.
#include "tutti/trace/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/trace_bytes.h"
#include "tutti/base/error.h"

namespace tutti::tracing {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(std::string_view bytes) {
  try {
    (void)read_trace(bytes, "some.file");
  } catch (const InvalidArgument& error) {
    return error.message();
  }
  return "";
}

TEST(TraceFile, GivesBackWhatWasRecorded) {
  const ProcessTrace trace = read_trace(small_trace(3).record(RecordKind::end, EndBody{9'000'000, 3, 0}).bytes, "a");
  EXPECT_EQ(trace.process.pid, 42U);
  EXPECT_THAT(trace.command, ElementsAre("python3", "train.py"));
  EXPECT_EQ(trace.python, "3.12.3");
  EXPECT_EQ(trace.damage, "");
  ASSERT_EQ(trace.waits.size(), 3U);
  const Stack& stack = trace.stacks.at(trace.waits[0].stack);
  ASSERT_THAT(stack.python, ElementsAre(1));
  EXPECT_EQ(trace.frames.at(1).file, "train.py");
  EXPECT_EQ(trace.frames.at(1).line, 3U);
  EXPECT_EQ(trace.modules.at(trace.frames.at(2).module).path, "/usr/lib/libtorch_cuda.so");
  ASSERT_TRUE(trace.end.has_value());
  EXPECT_EQ(trace.end->waits, 3U);
}

TEST(TraceFile, IsReadUpToWhereItBreaksOff) {
  const std::string whole = small_trace(4).bytes;
  const std::size_t before_waits = small_trace(0).bytes.size();
  const std::size_t one = sizeof(RecordHead) + sizeof(WaitBody);
  for (std::size_t length = sizeof(FileHead); length < whole.size(); ++length) {
    const ProcessTrace trace = read_trace(std::string_view(whole).substr(0, length), "a");
    const std::size_t kept = length < before_waits ? 0 : (length - before_waits) / one;
    ASSERT_EQ(trace.waits.size(), kept) << length;
    if (length > before_waits) {
      ASSERT_EQ(trace.damage.empty(), (length - before_waits) % one == 0) << length;
    }
  }
}

TEST(TraceFile, IsReadUpToADamagedByte) {
  const std::string whole = small_trace(2).bytes;
  for (std::size_t at = sizeof(FileHead); at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    const ProcessTrace trace = read_trace(bytes, "a");
    // Two bytes of a record's head have no meaning yet.
    if (trace.damage.empty()) {
      ASSERT_EQ(trace.waits.size(), 2U) << at;
    } else {
      ASSERT_THAT(trace.damage, HasSubstr("at byte")) << at;
    }
  }
}

TEST(TraceFile, OfSomethingElseIsRefusedWithWhatWasExpected) {
  EXPECT_THAT(refusal(""), HasSubstr("'some.file' is no trace: a file that `tutti trace` has recorded was expected"));
  EXPECT_THAT(refusal(std::string(1000, 'x')), HasSubstr("is no trace"));
  std::string later = small_trace(1).bytes;
  later[8] = 2;
  EXPECT_THAT(refusal(later), HasSubstr("is a trace of version 2; this tutti reads version 1"));
}

TEST(TraceFile, SkipsKindsOfALaterVersion) {
  const ProcessTrace trace =
      read_trace(small_trace(1).raw(static_cast<RecordKind>(99), "what is this").raw(RecordKind::note, "a note").bytes, "a");
  EXPECT_EQ(trace.damage, "");
  EXPECT_THAT(trace.notes, ElementsAre("a note"));
}

TEST(TraceFile, ThatRefersToWhatIsNotThereIsDamaged) {
  EXPECT_THAT(read_trace(small_trace(1).stack(StackHead{2, 0, 1, 0, 0}, {77}).bytes, "a").damage, HasSubstr("is damaged"));
  EXPECT_THAT(read_trace(small_trace(1).stack(StackHead{2, 0, 9, 0, 0}, {1}).bytes, "a").damage, HasSubstr("is damaged"));
  WaitBody backwards{};
  backwards.begin = 2;
  EXPECT_THAT(read_trace(small_trace(1).record(RecordKind::wait, backwards).bytes, "a").damage, HasSubstr("is damaged"));
}

}  // namespace
}  // namespace tutti::tracing
