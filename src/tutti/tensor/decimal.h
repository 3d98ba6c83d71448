// Decimal digits of a binary floating-point value: the shortest that name it, or as many as are asked for.
#pragma once

#include <string>

#include "tutti/tensor/dtype.h"

namespace tutti {

// The value d.ddd x 10^exponent. Zero is the digit 0.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

// The fewest digits that no other value of the dtype is nearer to. `magnitude` is finite, not negative and exactly a value
// of the dtype; bf16 is taken as the f32 it is the upper half of.
Decimal shortest_decimal(double magnitude, DType dtype);

// `count` digits: the shortest where there are as many of them, the exact value rounded, ties to even, where not.
Decimal decimal_of(double magnitude, DType dtype, int count);

// The shortest digits, but none beyond `places` after the point and none missing before it.
Decimal decimal_to_places(double magnitude, DType dtype, int places);

// "0.25", "12.": without an exponent, the point always there.
std::string positional(const Decimal& decimal);

}  // namespace tutti
