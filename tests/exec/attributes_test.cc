// The attributes of calls compare, hash and print by their fields, whatever lies between these.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "tutti/exec/attributes.h"
#include "tutti/exec/kernel.h"
#include "tutti/exec/scatter_attributes.h"
#include "tutti/tensor/view.h"

namespace tutti {
namespace {

struct Padded {
  bool flag = false;  // seven bytes follow
  double value = 0;
  std::array<std::int32_t, 3> list{};
};

// The same fields over other bytes.
Padded with_padding(unsigned char byte, bool flag, double value) {
  alignas(Padded) std::array<unsigned char, sizeof(Padded)> memory;
  memory.fill(byte);
  auto* made = reinterpret_cast<Padded*>(memory.data());
  made->flag = flag;
  made->value = value;
  made->list = {1, 2, 3};
  Padded out;
  std::memcpy(static_cast<void*>(&out), memory.data(), sizeof out);
  return out;
}

TEST(AttributesOfCalls, AreEqualByTheirFieldsAndNotByWhatLiesBetween) {
  const Attributes a(with_padding(0x00, true, 2));
  const Attributes b(with_padding(0xFF, true, 2));
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_FALSE(a == Attributes(with_padding(0x00, false, 2)));
  EXPECT_FALSE(a == Attributes(with_padding(0x00, true, 3)));
}

TEST(AttributesOfCalls, CompareFloatsByTheirBits) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Attributes(UniformAttributes{.low = nan}), Attributes(UniformAttributes{.low = nan}));
  EXPECT_FALSE(Attributes(UniformAttributes{.low = 0.0}) == Attributes(UniformAttributes{.low = -0.0}));
}

TEST(AttributesOfCalls, OfDifferentStructsDifferThoughTheirBytesAreTheSame) {
  EXPECT_FALSE(Attributes(TakeAttributes{0}) == Attributes());
  struct Other {
    std::int32_t axis = 0;
  };
  EXPECT_FALSE(Attributes(TakeAttributes{0}) == Attributes(Other{0}));
  EXPECT_EQ(Attributes(), Attributes());
}

TEST(AttributesOfCalls, WithoutATypeGoByTheirBytes) {
  const auto untyped = [](std::int32_t axis) {
    const TakeAttributes fields{axis};
    return Attributes::from_bytes(reinterpret_cast<const std::byte*>(&fields), sizeof fields);
  };
  EXPECT_EQ(untyped(3), untyped(3));
  EXPECT_EQ(untyped(3).hash(), untyped(3).hash());
  EXPECT_EQ(untyped(3).to_string(), "[3, 0, 0, 0]");
  EXPECT_FALSE(untyped(3) == untyped(4));
  EXPECT_NE(untyped(3).hash(), untyped(4).hash());
  const Attributes none = Attributes::from_bytes(untyped(0).data(), 0);
  EXPECT_FALSE(untyped(0) == none) << "the sizes differ";
  EXPECT_FALSE(untyped(3) == Attributes(TakeAttributes{3})) << "whose fields they are is not known";
  EXPECT_EQ(none, Attributes());
}

TEST(AttributesOfCalls, OfListsCompareWhatTheyHoldAndNotTheRoomBehind) {
  struct Axes {
    Dims axes;
  };
  Dims longer{1, 2, 3, 4};
  Dims shorter{1, 2};
  Dims cut = shorter;
  EXPECT_EQ(Attributes(Axes{shorter}), Attributes(Axes{cut}));
  EXPECT_EQ(Attributes(Axes{shorter}).hash(), Attributes(Axes{cut}).hash());
  EXPECT_FALSE(Attributes(Axes{shorter}) == Attributes(Axes{longer}));
}

TEST(AttributesOfCalls, PrintTheirFieldsInOrder) {
  EXPECT_EQ(Attributes().to_string(), "");
  EXPECT_EQ(Attributes(TakeAttributes{-2}).to_string(), "(-2)");
  EXPECT_EQ(Attributes(Padded{true, 0.5, {1, 2, 3}}).to_string(), "(true, 0.5, [1, 2, 3])");
  SliceAttributes part;
  part.axes.push_back({1, 2, 3});
  part.dropped = 1;
  EXPECT_EQ(Attributes(part).to_string(), "([(1, 2, 3)], 1, 0)");
}

TEST(AttributesOfCalls, HashApart) {
  std::size_t same = 0;
  for (std::int32_t a = 0; a < 64; ++a) {
    for (std::int32_t b = 0; b < a; ++b)
      same += Attributes(TakeAttributes{a}).hash() == Attributes(TakeAttributes{b}).hash() ? 1U : 0U;
  }
  EXPECT_EQ(same, 0U);
}

}  // namespace
}  // namespace tutti
