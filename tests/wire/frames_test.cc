#include "tutti/mesh/wire/frames.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::wire {
namespace {

std::string framed(std::string_view message) {
  std::string out;
  const std::size_t begin = begin_frame(out);
  out += message;
  end_frame(out, begin);
  return out;
}

TEST(Frames, ComeOutWholeHoweverTheStreamIsCut) {
  const std::string stream = framed("first") + framed(std::string(300, 'x')) + framed("3");
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameReader reader(1000);
    std::vector<std::string> messages;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.append(std::string_view(stream).substr(at, piece));
      while (const auto message = reader.next()) messages.emplace_back(*message);
    }
    ASSERT_EQ(messages, (std::vector<std::string>{"first", std::string(300, 'x'), "3"})) << piece;
    EXPECT_EQ(reader.held(), 0U);
    EXPECT_FALSE(reader.broken());
  }
}

TEST(Frames, OfImpossibleLengthsBreakTheReaderForGood) {
  for (const std::string& start : {std::string(4, '\0'), std::string("\xff\xff\xff\xff", 4), framed(std::string(1001, 'x'))}) {
    FrameReader reader(1000);
    reader.append(start);
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.broken());
    reader.append(framed("fine"));
    EXPECT_FALSE(reader.next());
    EXPECT_LE(reader.held(), start.size());
  }
}

TEST(Frames, UpToTheLimitAreRead) {
  FrameReader reader(1000);
  reader.append(framed(std::string(1000, 'x')));
  const auto message = reader.next();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->size(), 1000U);
}

TEST(Frames, TakeMemoryAsTheyArriveNotAsTheyAnnounce) {
  FrameReader reader(largest_answer);
  reader.append(std::string("\x00\x00\x00\x04", 4));  // 64 MiB
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.broken());
  EXPECT_EQ(reader.held(), 4U);
}

}  // namespace
}  // namespace tutti::wire
