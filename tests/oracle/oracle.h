// Random tensors of every dtype and layout, and NumPy as the judge of what ops make of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "ops/elements.h"
#include "tutti/tutti.h"

namespace tutti::oracle {

using testing_ops::all_dtypes;
using testing_ops::bytes_of;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed), seed_(seed) {}

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  std::int64_t from(std::int64_t low, std::int64_t high);
  bool one_in(std::int64_t n) { return from(1, n) == 1; }
  double real(double low, double high);
  // Up to that many axes, now and then with a size of 0, and sometimes one long axis.
  Shape shape(std::size_t least_rank = 0, std::size_t most_rank = 4);
  // One that broadcasts with it.
  Shape broadcast_partner(const Shape& shape);

 private:
  std::mt19937_64 engine_;
  std::uint64_t seed_;
};

// What the elements are like. Any: NaN, infinities, zeros, extremes among them.
enum class Values { any, moderate, small_range };
std::vector<std::byte> random_bytes(Random& random, DType dtype, std::int64_t count, Values values);

enum class Layout { dense, sliced, transposed, expanded, sliced_and_transposed };
inline constexpr std::array all_layouts{Layout::dense, Layout::sliced, Layout::transposed, Layout::expanded,
                                        Layout::sliced_and_transposed};

std::string json(const Dims& dims);

// A tensor and how NumPy gets the same: a dense array and views of it.
struct Input {
  Tensor tensor;
  DType dtype;
  Shape base;
  std::vector<std::byte> bytes;
  std::string views;  // JSON, comma separated

  void slice(std::int64_t axis, const Range& range);
  void transpose(const Dims& axes);
  void expand(const Shape& shape);
  void reshape(const Shape& shape);
};
Input make_input(DType dtype, const Shape& shape, std::vector<std::byte> bytes);
// On the current device, with exactly this shape.
Input random_input(Random& random, DType dtype, const Shape& shape, Layout layout, Values values);

// Collects the cases of one test; NumPy judges all of them in one process.
class Oracle {
 public:
  Oracle();
  ~Oracle();

  void add(std::uint64_t seed, const std::string& op, const std::string& parameters, std::initializer_list<const Input*> inputs,
           const Tensor& result);
  void add(std::uint64_t seed, const std::string& op, const std::string& parameters, const std::vector<const Input*>& inputs,
           const Tensor& result);
  // An op with several results: the judge is asked for each by its number.
  void add(std::uint64_t seed, const std::string& op, const std::string& parameters, const std::vector<const Input*>& inputs,
           const std::vector<Tensor>& results);
  // Fails the test where NumPy disagrees, or is missing.
  void judge();

 private:
  void add_output(std::uint64_t seed, const std::string& op, const std::string& parameters,
                  const std::vector<const Input*>& inputs, const Tensor& result, std::size_t number);
  std::int64_t store(const std::vector<std::byte>& bytes);

  std::filesystem::path folder_;
  std::ofstream cases_;
  std::ofstream data_;
  std::int64_t stored_ = 0;
};

// Runs the body with a generator of its own for each of `count` seeds, on the CPU and on a GPU (a simulated one where there
// is no other), and lets NumPy
// judge. TUTTI_TEST_SEED=n runs that seed alone.
using Body = void (*)(Random& random, Oracle& oracle);
void compare_with_numpy(int count, Body body);

}  // namespace tutti::oracle
