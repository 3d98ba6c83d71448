#include "oracle/oracle.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <numeric>

#include "runner/python.h"

namespace tutti::oracle {

namespace {

std::string optional_number(const std::optional<std::int64_t>& number) { return number ? std::to_string(*number) : "null"; }

// The sanitizers are slow and look at how things are computed, which is the same on both devices: each seed is for one of them.
constexpr bool takes_turns() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

}  // namespace

std::string json(const Dims& dims) {
  std::string out = "[";
  for (const std::int64_t size : dims) out += (out.size() > 1 ? "," : "") + std::to_string(size);
  return out + "]";
}

Shape Random::shape(std::size_t least_rank, std::size_t most_rank) {
  Shape out;
  const auto rank = from(static_cast<std::int64_t>(least_rank), static_cast<std::int64_t>(most_rank));
  const std::int64_t long_axis = one_in(3) ? from(0, rank) : -1;
  for (std::int64_t i = 0; i < rank; ++i)
    out.push_back(one_in(25) ? 0 : i == long_axis ? from(20, rank > 2 ? 60 : 700) : from(1, 6));
  return out;
}

Shape Random::broadcast_partner(const Shape& shape) {
  const auto dropped = static_cast<std::size_t>(one_in(2) ? from(0, static_cast<std::int64_t>(shape.size())) : 0);
  Shape out(shape.view().subspan(dropped));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (one_in(4)) out[i] = 1;
  }
  return out;
}

void Input::slice(std::int64_t axis, const Range& range) {
  tensor = tutti::slice(tensor, axis, range);
  views += (views.empty() ? "" : ",") + std::string("[\"slice\",") + std::to_string(axis) + "," + optional_number(range.start) +
           "," + optional_number(range.stop) + "," + std::to_string(range.step) + "]";
}
void Input::transpose(const Dims& axes) {
  tensor = tutti::permute_dims(tensor, axes);
  views += (views.empty() ? "" : ",") + std::string("[\"transpose\",") + json(axes) + "]";
}
void Input::expand(const Shape& shape) {
  tensor = tutti::broadcast_to(tensor, shape);
  views += (views.empty() ? "" : ",") + std::string("[\"expand\",") + json(shape) + "]";
}
void Input::reshape(const Shape& shape) {
  tensor = tutti::reshape(tensor, shape);
  views += (views.empty() ? "" : ",") + std::string("[\"reshape\",") + json(shape) + "]";
}

Input make_input(DType dtype, const Shape& shape, std::vector<std::byte> bytes) {
  return {from_bytes(dtype, shape, bytes), dtype, shape, std::move(bytes), {}};
}

Input random_input(Random& random, DType dtype, const Shape& shape, Layout layout, Values values) {
  const bool transposes = layout == Layout::transposed || layout == Layout::sliced_and_transposed;
  const bool slices = layout == Layout::sliced || layout == Layout::sliced_and_transposed;
  // axes[i]: which axis of the base becomes axis i.
  std::vector<std::int64_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (transposes) {
    for (std::size_t i = axes.size(); i > 1; --i)
      std::swap(axes[i - 1], axes[static_cast<std::size_t>(random.from(0, static_cast<std::int64_t>(i) - 1))]);
  }
  Shape sliced = shape;  // the shape after slicing, before transposing
  for (std::size_t i = 0; i < shape.size(); ++i) sliced[static_cast<std::size_t>(axes[i])] = shape[i];
  Shape base = sliced;
  std::vector<Range> ranges(shape.size());
  std::vector<bool> is_sliced(shape.size());
  for (std::size_t i = 0; slices && i < shape.size(); ++i) {
    if (shape.size() > 1 && random.one_in(3)) continue;
    is_sliced[i] = true;
    const std::int64_t step = random.from(1, 3);
    const std::int64_t before = random.from(0, 2);
    const std::int64_t n = sliced[i];
    base[i] = before + n * step;
    if (random.one_in(2)) {
      ranges[i] = {before, {}, step};
    } else {
      // Backwards; past the front only an absent end reaches.
      ranges[i] = {-1, before > 0 ? std::optional(before - 1) : std::nullopt, -step};
    }
  }
  if (layout == Layout::expanded) {
    base = Shape(shape.view().subspan(
        shape.empty() ? 0 : static_cast<std::size_t>(random.from(0, static_cast<std::int64_t>(shape.size()) - 1))));
    for (std::size_t i = 0; i < base.size(); ++i) {
      if (random.one_in(2)) base[i] = 1;
    }
  }
  Input out = make_input(dtype, base, random_bytes(random, dtype, element_count(base).value(), values));
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (is_sliced[i]) out.slice(static_cast<std::int64_t>(i), ranges[i]);
  }
  if (transposes) out.transpose(Dims(axes));
  if (layout == Layout::expanded) out.expand(shape);
  EXPECT_EQ(out.tensor.shape(), shape) << to_string(out.tensor.shape()) << " made by " << out.views;
  return out;
}

Oracle::Oracle() : folder_(std::filesystem::temp_directory_path() / ("tutti_oracle_" + std::to_string(::getpid()))) {
  std::filesystem::create_directories(folder_);
  cases_.open(folder_ / "cases");
  data_.open(folder_ / "data", std::ios::binary);
}

Oracle::~Oracle() { std::filesystem::remove_all(folder_); }

std::int64_t Oracle::store(const std::vector<std::byte>& bytes) {
  const std::int64_t at = stored_;
  data_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  stored_ += static_cast<std::int64_t>(bytes.size());
  return at;
}

void Oracle::add(std::uint64_t seed, const std::string& op, const std::string& parameters,
                 std::initializer_list<const Input*> inputs, const Tensor& result) {
  add(seed, op, parameters, std::vector<const Input*>(inputs), result);
}

void Oracle::add(std::uint64_t seed, const std::string& op, const std::string& parameters,
                 const std::vector<const Input*>& inputs, const std::vector<Tensor>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) add_output(seed, op, parameters, inputs, results[i], i);
}

void Oracle::add(std::uint64_t seed, const std::string& op, const std::string& parameters,
                 const std::vector<const Input*>& inputs, const Tensor& result) {
  add_output(seed, op, parameters, inputs, result, 0);
}

void Oracle::add_output(std::uint64_t seed, const std::string& op, const std::string& parameters,
                        const std::vector<const Input*>& inputs, const Tensor& result, std::size_t number) {
  cases_ << R"({"op":")" << op << R"(","seed":)" << seed << R"(,"number":)" << number << R"(,"device":")" << result.device()
         << R"(","params":{)" << parameters << R"(},"inputs":[)";
  for (const Input* input : inputs) {
    cases_ << (input == inputs.front() ? "" : ",") << R"({"dtype":")" << to_string(input->dtype) << R"(","base":)"
           << json(input->base) << R"(,"at":)" << store(input->bytes) << R"(,"views":[)" << input->views << "]}";
  }
  const std::vector<std::byte> found = bytes_of(result);
  cases_ << R"(],"output":{"dtype":")" << to_string(result.dtype()) << R"(","shape":)" << json(result.shape()) << R"(,"at":)"
         << store(found) << "}}\n";
}

void Oracle::judge() {
  cases_.close();
  data_.close();
  const std::string command = python_with_numpy(std::filesystem::path(TUTTI_JUDGES) / "judge.py") + " '" +
                              (folder_ / "cases").string() + "' '" + (folder_ / "data").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0)
      << "NumPy disagrees, or Debian's Python with NumPy (python3-numpy) is missing; see the lines above";
}

void compare_with_numpy(int count, Body body) {
  // A machine with a GPU is judged on it, any other on a simulated one.
  if (list_physical_devices("GPU").empty()) simulate_gpus(1);
  std::uint64_t first = 1;
  if (const char* only = std::getenv("TUTTI_TEST_SEED")) {
    first = std::strtoull(only, nullptr, 10);
    count = 1;
  }
  Oracle oracle;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const bool is_gpu : {false, true}) {
      if (takes_turns() && is_gpu != (seed % 2 == 0)) continue;
      const DeviceScope on(is_gpu ? "GPU:0" : "CPU:0");
      Random random(seed);
      body(random, oracle);
      if (testing::Test::HasFailure()) return;
    }
  }
  oracle.judge();
}

}  // namespace tutti::oracle
