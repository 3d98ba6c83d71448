// Printing compared, string by string, with NumPy itself: arrays go to a file, Debian's Python prints each one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/tensor/format.h"

namespace tutti {
namespace {

// Reads: int64 count, then per array dtype, rank, sizes, elements. Writes: per array int64 length, text.
constexpr std::string_view program = R"(
import struct, sys
try:
    import numpy
except ImportError:
    sys.exit("NumPy is missing: install the Debian package python3-numpy")
names = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "", "float32", "float64"]
data = open(sys.argv[1], "rb").read()
at = 0
def number():
    global at
    at += 8
    return struct.unpack_from("<q", data, at - 8)[0]
with open(sys.argv[2], "wb") as out:
    for _ in range(number()):
        dtype = numpy.dtype(names[number()])
        shape = tuple(number() for _ in range(number()))
        count = 1
        for size in shape:
            count *= size
        array = numpy.frombuffer(data, dtype, count, at).reshape(shape) if count else numpy.zeros(shape, dtype)
        at += count * dtype.itemsize
        text = str(array).encode()
        out.write(struct.pack("<q", len(text)) + text)
)";

struct Array {
  DType dtype;
  Shape shape;
  std::vector<std::byte> data;
};

template <class T>
Array array_of(const std::vector<T>& values, const Shape& shape) {
  Array out{dtype_of<T>, shape, std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(out.data.data(), values.data(), out.data.size());
  return out;
}

void put(std::string& out, std::int64_t number) { out.append(reinterpret_cast<const char*>(&number), sizeof number); }

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class NumPy : public testing::Test {
 protected:
  NumPy() { std::filesystem::create_directories(folder_); }
  ~NumPy() override { std::filesystem::remove_all(folder_); }

  void expect_same(const std::vector<Array>& arrays) const {
    std::string batch;
    put(batch, static_cast<std::int64_t>(arrays.size()));
    for (const Array& array : arrays) {
      put(batch, static_cast<std::int64_t>(array.dtype));
      put(batch, static_cast<std::int64_t>(array.shape.size()));
      for (const std::int64_t size : array.shape) put(batch, size);
      batch.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
    }
    std::ofstream(folder_ / "arrays", std::ios::binary) << batch;
    std::ofstream(folder_ / "print.py") << program;
    // -I: whatever Python environment the user has set up, Debian's own NumPy answers.
    const std::string command = "cd '" + folder_.string() + "' && /usr/bin/python3 -I print.py arrays texts";
    ASSERT_EQ(std::system(command.c_str()), 0)
        << "Debian's Python with NumPy did not run (packages python3 and python3-numpy): " << command;

    const std::string answer = contents_of(folder_ / "texts");
    std::size_t at = 0;
    int wrong = 0;
    for (std::size_t i = 0; i < arrays.size() && wrong < 5; ++i) {
      std::int64_t length = 0;
      ASSERT_LE(at + sizeof length, answer.size());
      std::memcpy(&length, answer.data() + at, sizeof length);
      const std::string expected = answer.substr(at + sizeof length, static_cast<std::size_t>(length));
      at += sizeof length + expected.size();
      const std::string found = format_elements(arrays[i].data.data(), arrays[i].dtype, arrays[i].shape);
      EXPECT_EQ(found, expected) << "array " << i << ": " << to_string(arrays[i].dtype) << to_string(arrays[i].shape);
      wrong += found == expected ? 0 : 1;
    }
    EXPECT_TRUE(wrong > 0 || at == answer.size());
  }

 private:
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("tutti_print_" + std::to_string(::getpid()));
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::int64_t from(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool one_in(std::int64_t n) { return from(1, n) == 1; }

  Shape shape() {
    Shape out;
    const std::int64_t rank = from(0, 4);
    const bool is_large = one_in(4);
    const std::array<std::int64_t, 5> most{0, is_large ? 1500 : 60, is_large ? 60 : 12, is_large ? 20 : 5, is_large ? 9 : 4};
    for (std::int64_t i = 0; i < rank; ++i) out.push_back(one_in(30) ? 0 : from(1, most[static_cast<std::size_t>(rank)]));
    return out;
  }

  // One class of values per array: what decides the notation is how they stand together.
  template <class T>
  std::vector<T> floats(std::size_t count) {
    std::vector<T> out;
    const std::int64_t kind = from(0, 8);
    for (std::size_t i = 0; i < count; ++i) out.push_back(convert<T>(special() ? strange() : one(kind)));
    return out;
  }
  template <class T>
  std::vector<T> raw(std::size_t count, std::int64_t low, std::int64_t high) {
    std::vector<T> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<T>(from(low, high)));
    return out;
  }
  template <class T>
  std::vector<T> integers(std::size_t count) {
    if (one_in(2)) return raw<T>(count, std::numeric_limits<T>::min() == 0 ? 0 : -20, 20);
    return raw<T>(count, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  }
  void choose_strangeness() { strangeness_ = one_in(3) ? from(2, 10) : 0; }

 private:
  template <class T>
  static T convert(double value) {
    if constexpr (sizeof(T) == 2) {
      return T(static_cast<float>(value));
    } else {
      return static_cast<T>(value);
    }
  }
  bool special() { return strangeness_ != 0 && one_in(strangeness_); }
  double strange() {
    const std::array<double, 5> values{std::nan(""), HUGE_VAL, -HUGE_VAL, -0.0, 0.0};
    return values[static_cast<std::size_t>(from(0, 4))];
  }
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine_); }
  double sign() { return one_in(2) ? -1.0 : 1.0; }
  double one(std::int64_t kind) {
    switch (kind) {
      case 0: return static_cast<double>(from(-20, 20));
      case 1: return static_cast<double>(from(-20, 20)) / 2;
      case 2: return real(-1, 1);
      case 3: return sign() * std::pow(10, real(-6, 9));
      case 4: return sign() * std::pow(10, real(-330, -30));
      case 5: return sign() * std::pow(10, real(10, 308));
      case 6: return sign() * std::ldexp(1, static_cast<int>(from(-30, 40)));
      case 7: return static_cast<double>(from(1, 999)) / 100;
      default: return real(1, 900);
    }
  }

  std::mt19937_64 engine_;
  std::int64_t strangeness_ = 0;
};

Array random_array(Random& random, DType dtype) {
  const Shape shape = random.shape();
  const auto count = static_cast<std::size_t>(*element_count(shape));
  random.choose_strangeness();
  switch (dtype) {
    case DType::u8: return array_of(random.integers<std::uint8_t>(count), shape);
    case DType::i8: return array_of(random.integers<std::int8_t>(count), shape);
    case DType::i16: return array_of(random.integers<std::int16_t>(count), shape);
    case DType::i32: return array_of(random.integers<std::int32_t>(count), shape);
    case DType::i64: return array_of(random.integers<std::int64_t>(count), shape);
    case DType::f16: return array_of(random.floats<f16>(count), shape);
    case DType::f32: return array_of(random.floats<float>(count), shape);
    case DType::f64: return array_of(random.floats<double>(count), shape);
    default: break;
  }
  Array out = array_of(random.raw<std::uint8_t>(count, 0, 1), shape);
  out.dtype = DType::boolean;
  return out;
}

std::vector<Array> random_batch(std::uint64_t seed, const std::vector<DType>& dtypes, int each) {
  Random random(seed);
  std::vector<Array> out;
  for (int i = 0; i < each; ++i) {
    for (const DType dtype : dtypes) out.push_back(random_array(random, dtype));
  }
  return out;
}

std::uint64_t fresh_seed() { return std::random_device{}(); }

TEST_F(NumPy, PrintsTheSameIntegersAndBools) {
  const std::uint64_t seed = fresh_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  expect_same(random_batch(seed, {DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64}, 60));
}

TEST_F(NumPy, PrintsTheSameFloats) {
  const std::uint64_t seed = fresh_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  expect_same(random_batch(seed, {DType::f16, DType::f32, DType::f64}, 150));
}

TEST_F(NumPy, PrintsTheSameForEveryHalf) {
  std::vector<Array> arrays;
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits)
    arrays.push_back(array_of(std::vector{std::bit_cast<f16>(static_cast<std::uint16_t>(bits))}, {}));
  expect_same(arrays);
}

// A power of two is nearer to the value below than to the value above, and here it has to be printed with more digits
// than it needs.
TEST_F(NumPy, PrintsTheSamePowersOfTwoWithDigitsToSpare) {
  std::vector<Array> arrays;
  for (int power = -149; power < 128; ++power) {
    for (const float neighbour : {1.2345678e-5F, 1.234567e-5F, 1.23456e-5F, 1.2345e-5F}) {
      arrays.push_back(array_of(std::vector{std::ldexp(1.0F, power), neighbour}, {2}));
    }
  }
  for (int power = -24; power < 16; ++power) {
    for (const float neighbour : {1.234e-4F, 1.26e-5F, 1.3e-5F, 0.00012F}) {
      arrays.push_back(array_of(std::vector{f16(std::ldexp(1.0F, power)), f16(neighbour), f16(5000)}, {3}));
    }
  }
  expect_same(arrays);
}

TEST_F(NumPy, PrintsTheSameAtTheEdgesOfItsRules) {
  std::vector<Array> arrays;
  for (const double value : {1e-4, 9.9999e-5, 1e8, 99999999.0, 99999999.5, 1e16, 9999999999999998.0, 0.000123456785, 0.5, 2.5e-9,
                             1.000000005, 123456.123456785, 5e-324, 1.7976931348623157e308, 1e23, 9007199254740993.0}) {
    for (const double other : {value, value * 1000, value * 1000.0000001, value / 3, 0.0}) {
      arrays.push_back(array_of(std::vector<double>{value, other}, {2}));
      arrays.push_back(array_of(std::vector<float>{static_cast<float>(value), static_cast<float>(other)}, {1, 2}));
      arrays.push_back(array_of(std::vector<f16>{f16(static_cast<float>(value)), f16(static_cast<float>(other))}, {2, 1}));
      arrays.push_back(array_of(std::vector<double>{-value}, {}));
      arrays.push_back(array_of(std::vector<float>{static_cast<float>(value)}, {}));
    }
  }
  for (const std::int64_t size : {998, 1000, 1001})
    arrays.push_back(array_of(std::vector<std::int32_t>(static_cast<std::size_t>(size), 7), {size}));
  for (std::int64_t width = 1; width < 40; ++width)
    arrays.push_back(array_of(std::vector<std::int8_t>(static_cast<std::size_t>(width), -128), {1, 1, width}));
  arrays.push_back(array_of(std::vector<std::int16_t>(7 * 6 * 7 * 5, 3), {7, 6, 7, 5}));
  expect_same(arrays);
}

}  // namespace
}  // namespace tutti
