#include "cuda/against_cpu.h"

#include <tutti/tensor/dtype_visit.h>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

namespace tutti::testing_cuda {

namespace {

constexpr int most_complaints = 20;

const char* name_of(Arrangement arrangement) {
  switch (arrangement) {
    case Arrangement::dense: return "dense";
    case Arrangement::transposed: return "transposed";
    case Arrangement::stepped: return "stepped";
    case Arrangement::backwards: return "backwards";
    case Arrangement::shifted: return "shifted";
    case Arrangement::expanded: return "expanded";
  }
  return "";
}

// What has to be laid out so that the view below has the input's shape.
Shape base_shape(const Input& input) {
  Shape base = input.shape;
  if (base.empty()) return base;
  const std::size_t last = base.size() - 1;
  switch (input.arrangement) {
    case Arrangement::transposed:
      for (std::size_t i = 0; i <= last; ++i) base[i] = input.shape[last - i];
      break;
    case Arrangement::stepped: base[last] = 2 * base[last] + 1; break;
    case Arrangement::shifted: base[last] += 1; break;
    case Arrangement::expanded: base[0] = 1; break;
    default: break;
  }
  return base;
}

Tensor seen_as(const Tensor& base, const Input& input) {
  const auto rank = static_cast<std::int64_t>(input.shape.size());
  if (rank == 0) return base;
  switch (input.arrangement) {
    case Arrangement::transposed: return transpose(base);
    case Arrangement::stepped: return slice(base, -1, {.start = 1, .stop = {}, .step = 2});
    case Arrangement::backwards: {
      const Tensor turned = slice(base, -1, {.start = {}, .stop = {}, .step = -1});
      return rank == 1 ? turned : slice(turned, 0, {.start = {}, .stop = {}, .step = -1});
    }
    case Arrangement::shifted: return slice(base, -1, {.start = 1, .stop = {}});
    case Arrangement::expanded: return broadcast_to(base, input.shape);
    default: return base;
  }
}

// Elements on the host, in row order.
struct Elements {
  DType dtype;
  std::vector<std::byte> bytes;

  explicit Elements(const Tensor& x) : dtype(x.dtype()) {
    const Tensor host = detail::to_host(x, SyncReason::value_read, Intent::unstated, Site{});
    const auto* from = host.impl().address();
    bytes.assign(from, from + static_cast<std::size_t>(x.size()) * size_of(dtype));
  }
  [[nodiscard]] std::size_t count() const { return bytes.size() / size_of(dtype); }
  template <class T>
  [[nodiscard]] T at(std::size_t i) const {
    T value;
    std::memcpy(static_cast<void*>(&value), bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
  [[nodiscard]] double number(std::size_t i) const {
    return visit_dtype(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
        return static_cast<double>(static_cast<float>(at<T>(i)));
      } else {
        return static_cast<double>(at<T>(i));
      }
    });
  }
  [[nodiscard]] bool is_same(const Elements& other, std::size_t i) const {
    const std::size_t size = size_of(dtype);
    return std::memcmp(bytes.data() + i * size, other.bytes.data() + i * size, size) == 0;
  }
  // Neighbouring numbers have neighbouring places; both zeros have the same.
  [[nodiscard]] double place(std::size_t i) const {
    const std::size_t size = size_of(dtype);
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1);
    return (bits & sign) != 0 ? -static_cast<double>(bits & ~sign) : static_cast<double>(bits);
  }
};

Tensor absolute(const Tensor& x) {
  const Tensor wide = cast(x, DType::f64);
  return relu(wide) + relu(wide * -1.0);
}

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

double least_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x1p-24;
    case DType::f64: return std::numeric_limits<double>::denorm_min();
    default: return std::numeric_limits<float>::denorm_min();
  }
}

}  // namespace

double own_rounding(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x1p-11;
    case DType::bf16: return 0x1p-8;
    case DType::f64: return 0x1p-53;
    default: return 0x1p-24;
  }
}

double working_rounding(DType dtype) { return is_half(dtype) ? own_rounding(DType::f32) : own_rounding(dtype); }

std::vector<Shape> small_shapes() { return {{}, {0}, {1}, {7}, {33, 0, 5}, {3, 5, 7}, {17, 129}, {2, 1, 3, 2, 5}, {3, 9001}}; }

bool is_small_run() { return std::getenv("TUTTI_TEST_SMALL") != nullptr; }

Shape long_shape() { return {is_small_run() ? 4099 : (1 << 20) + 3}; }

std::vector<Arrangement> arrangements_for(const Shape& shape) {
  if (shape.empty()) return {Arrangement::dense};
  if (*element_count(shape) > 100'000) return {Arrangement::dense, Arrangement::backwards, Arrangement::shifted};
  return {std::begin(all_arrangements), std::end(all_arrangements)};
}

void AgainstCpu::SetUp() {
  OnGpu::SetUp();
  if (IsSkipped()) return;
  state_ = (seed_ = fresh_seed()) * 0x9E3779B97F4A7C15ULL + 1;
}

std::uint64_t AgainstCpu::next() {
  state_ ^= state_ >> 12U;
  state_ ^= state_ << 25U;
  state_ ^= state_ >> 27U;
  return state_ * 0x2545F4914F6CDD1DULL;
}

std::vector<std::byte> AgainstCpu::draw(const Input& input, std::int64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size_of(input.dtype));
  // The exponents of the largest and the least result, and somewhat more.
  const double low = input.dtype == DType::f64 ? -760 : input.dtype == DType::f16 ? -20 : -110;
  const double high = input.dtype == DType::f64 ? 720 : input.dtype == DType::f16 ? 12 : 95;
  visit_dtype(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t bits = next();
      const std::uint64_t choice = bits >> 60U;
      const double fraction = static_cast<double>(bits >> 11U & 0xFFFFFFFFFFFFU) * 0x1p-48;
      T value{};
      if (input.draw == Draw::sparse && choice < 8) {
        if constexpr (std::is_floating_point_v<T>) value = choice < 2 ? T{-0.0} : T{0};
      } else if constexpr (std::is_same_v<T, bool>) {
        value = (bits & 1U) != 0;
      } else if (input.draw == Draw::any ? choice < 8 : input.draw == Draw::sparse) {
        std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
      } else if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(static_cast<int>(fraction * 9) - (std::is_signed_v<T> ? 4 : 0));
      } else {
        const double number = input.draw == Draw::exponents ? low + fraction * (high - low) : fraction * 8 - 4;
        if constexpr (std::is_same_v<T, double>) {
          value = number;
        } else {
          value = T(static_cast<float>(number));
        }
      }
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
    }
  });
  return bytes;
}

void AgainstCpu::expect_same(const std::string& op, const std::vector<Input>& inputs, const Function& function,
                             const Tolerance& tolerance) {
  if (complaints_ >= most_complaints) return;
  std::vector<Tensor> on_cpu;
  std::vector<Tensor> on_gpu;
  std::ostringstream what;
  what << op << '(';
  for (const Input& input : inputs) {
    what << to_string(input.dtype) << to_string(input.shape) << ' ' << name_of(input.arrangement) << ", ";
    const Shape base = base_shape(input);
    const std::vector<std::byte> bytes = draw(input, *element_count(base));
    on_gpu.push_back(seen_as(from_bytes(input.dtype, base, bytes), input));
    const DeviceScope cpu("CPU:0");
    on_cpu.push_back(seen_as(from_bytes(input.dtype, base, bytes), input));
  }
  what << "TUTTI_TEST_SEED=" << seed_ << ')';
  SCOPED_TRACE(what.str());
  const auto complain = [&](const std::string& line) {
    ++complaints_;
    ADD_FAILURE() << line;
  };

  const Tensor got = function(on_gpu);
  const PlacementRecord record = last_placement();
  if (!got.device().ends_with("GPU:0")) complain("the result is on " + got.device());
  if (!op.empty() && (record.op != op || !record.chosen.ends_with("GPU:0") || record.copies != 0)) {
    complain("placed " + record.op + " on " + record.chosen + " (" + to_string(record.reason) + ") with " +
             std::to_string(record.copies) + " copies");
  }

  const DeviceScope cpu("CPU:0");
  const Tensor wanted = function(on_cpu);
  if (got.dtype() != wanted.dtype() || !(got.shape() == wanted.shape()))
    return complain("the result is " + std::string(to_string(got.dtype())) + to_string(got.shape()));
  const Elements mine(got);
  const Elements theirs(wanted);
  std::vector<double> magnitude;
  if (tolerance.magnitude != nullptr && is_floating(got.dtype())) {
    std::vector<Tensor> sizes;
    for (const Tensor& x : on_cpu) sizes.push_back(absolute(x));
    magnitude = read<double>(tolerance.magnitude(sizes));
  }
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < mine.count(); ++i) {
    if (mine.is_same(theirs, i)) continue;
    const double a = mine.number(i);
    const double b = theirs.number(i);
    bool is_fine = std::isnan(a) && std::isnan(b);
    if (is_floating(got.dtype())) is_fine = is_fine || std::abs(mine.place(i) - theirs.place(i)) <= tolerance.ulps;
    if (!magnitude.empty()) {
      double most = tolerance.steps * working_rounding(got.dtype()) * magnitude[i] + least_of(got.dtype());
      if (is_half(got.dtype())) most += 2 * own_rounding(got.dtype()) * std::max(std::abs(a), std::abs(b));
      is_fine = is_fine || std::abs(a - b) <= most;
    }
    if (is_fine) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return;
  std::ostringstream line;
  line.precision(17);
  line << wrong << " of " << mine.count() << " differ; element " << first << " is " << mine.number(first) << " on the GPU and "
       << theirs.number(first) << " on the CPU";
  if (!magnitude.empty()) line << " (magnitude " << magnitude[first] << ")";
  complain(line.str());
}

}  // namespace tutti::testing_cuda
