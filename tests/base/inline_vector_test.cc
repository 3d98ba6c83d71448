#include "tutti/base/inline_vector.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tutti {
namespace {

template <std::size_t N>
std::vector<int> contents(const InlineVector<int, N>& v) {
  return {v.begin(), v.end()};
}

TEST(InlineVector, StartsEmpty) {
  InlineVector<int, 4> v;
  EXPECT_TRUE(v.empty());
  EXPECT_EQ(v.size(), 0U);
  EXPECT_TRUE(v.view().empty());
}

TEST(InlineVector, KeepsTheFirstElementsInsideItself) {
  InlineVector<int, 4> v;
  for (int i = 0; i < 4; ++i) v.push_back(i);
  const auto inside = [&v] {
    const auto* data = reinterpret_cast<const std::byte*>(v.data());
    const auto* self = reinterpret_cast<const std::byte*>(&v);
    return data >= self && data < self + sizeof v;
  };
  EXPECT_TRUE(inside());
  v.push_back(4);
  EXPECT_FALSE(inside());
  EXPECT_EQ(contents(v), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(InlineVector, TakesAnElementOfItsOwnAtEverySize) {
  InlineVector<int, 2> v;
  v.push_back(7);
  for (int i = 0; i < 20; ++i) v.push_back(v[0]);
  EXPECT_EQ(contents(v), std::vector<int>(21, 7));
}

TEST(InlineVector, CopiesAreIndependent) {
  InlineVector<int, 2> a;
  for (int i = 0; i < 5; ++i) a.push_back(i);
  InlineVector<int, 2> b = a;
  b[0] = 42;
  EXPECT_EQ(a[0], 0);
  EXPECT_EQ(b[0], 42);
  EXPECT_EQ(b.size(), 5U);
}

TEST(InlineVector, BehavesLikeAVectorUnderRandomUse) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    InlineVector<int, 3> v;
    std::vector<int> model;
    for (int step = 0; step < 200; ++step) {
      switch (random() % 8) {
        case 0:
          if (random() % 4 == 0) {
            v.clear();
            model.clear();
          }
          break;
        case 1: {
          const std::size_t size = random() % (model.size() + 1);
          v.resize(size);
          model.resize(size);
          break;
        }
        case 2:
          if (!model.empty()) {
            const std::size_t i = random() % model.size();
            v[i] = model[i] = static_cast<int>(random() % 1000);
          }
          break;
        default: model.push_back(static_cast<int>(random() % 1000)); v.push_back(model.back());
      }
      ASSERT_EQ(contents(v), model) << "step " << step;
      ASSERT_EQ(v.view().size(), model.size());
    }
  }
}

}  // namespace
}  // namespace tutti
