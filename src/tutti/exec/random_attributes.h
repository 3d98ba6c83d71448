// The attribute structs of random draws other than uniform floats. Key and counter are Philox's, as for those.
#pragma once

#include <cstdint>

namespace tutti {

struct NormalAttributes {
  std::uint64_t key = 0;
  std::uint64_t counter = 0;
  double mean = 0;
  double stddev = 1;
};

// Modulo 2^64. A range of 0 stands for all integers of 64 bits.
struct RandomIntegerAttributes {
  std::uint64_t key = 0;
  std::uint64_t counter = 0;
  std::uint64_t low = 0;
  std::uint64_t range = 0;
};

struct BernoulliAttributes {
  std::uint64_t key = 0;
  std::uint64_t counter = 0;
  std::uint64_t threshold = 0;  // a word below it gives 1; at most 2^32
};

}  // namespace tutti
