#include "conformance/samples.h"

#include <tutti/tensor/dtype_visit.h>
#include <cstring>

namespace tutti::conformance {

namespace {

// -3 ... 3 where there is a sign, 0 ... 6 where there is none, 0 and 1 for bool.
double element(DType dtype, int i) {
  if (dtype == DType::boolean) return (i * 5 + i / 3) % 2;
  const int value = (i * 5 + i / 7) % 7;
  return dtype == DType::u8 ? value : value - 3;
}

}  // namespace

Tensor make(DType dtype, const Shape& shape, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * size_of(dtype));
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value{};
      if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
        value = T(static_cast<float>(values[i]));
      } else {
        value = static_cast<T>(values[i]);
      }
      std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
  });
  return from_bytes(dtype, shape, bytes);
}

std::vector<double> read_values(const Tensor& x) {
  std::vector<double> out;
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (const T value : read<T>(x)) {
      if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
        out.push_back(static_cast<float>(value));
      } else {
        out.push_back(static_cast<double>(value));
      }
    }
  });
  return out;
}

std::vector<Sample> three_by_four(DType dtype, int salt) {
  const auto at = [&](int i) { return element(dtype, i + salt); };
  // A base of rows x columns, and the element of the sample at (i, j) as a place in that base.
  const auto base = [&](int count) {
    std::vector<double> out;
    for (int i = 0; i < count; ++i) out.push_back(at(i));
    return out;
  };
  const auto seen_through = [&](const std::function<int(int, int)>& place) {
    std::vector<double> out;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 4; ++j) out.push_back(at(place(i, j)));
    }
    return out;
  };
  std::vector<Sample> out;
  out.push_back({"dense", make(dtype, {3, 4}, base(12)), seen_through([](int i, int j) { return i * 4 + j; })});
  out.push_back({"every second column, backwards", slice(make(dtype, {3, 8}, base(24)), 1, {.start = 7, .stop = {}, .step = -2}),
                 seen_through([](int i, int j) { return i * 8 + 7 - 2 * j; })});
  out.push_back({"rows from the second on", slice(make(dtype, {4, 4}, base(16)), 0, {.start = 1, .stop = {}}),
                 seen_through([](int i, int j) { return (i + 1) * 4 + j; })});
  out.push_back({"transposed", transpose(make(dtype, {4, 3}, base(12))), seen_through([](int i, int j) { return j * 3 + i; })});
  out.push_back({"a row expanded", broadcast_to(make(dtype, {4}, base(4)), {3, 4}), seen_through([](int, int j) { return j; })});
  out.push_back(
      {"a column expanded", broadcast_to(make(dtype, {3, 1}, base(3)), {3, 4}), seen_through([](int i, int) { return i; })});
  return out;
}

std::vector<double> map(const std::vector<double>& a, const std::function<double(double)>& f) {
  std::vector<double> out;
  for (const double value : a) out.push_back(f(value));
  return out;
}

std::vector<double> map(const std::vector<double>& a, const std::vector<double>& b,
                        const std::function<double(double, double)>& f) {
  std::vector<double> out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(f(a[i], b[i]));
  return out;
}

}  // namespace tutti::conformance
