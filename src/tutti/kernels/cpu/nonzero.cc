#include <numeric>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/exec/index_message.h"
#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

namespace {

constexpr std::int64_t range_elements = serial_elements / 2;

// Reads any dtype as bytes that are 0 or 1. Half precision needs its sign bit ignored: +0 and -0 are zero.
class TruthReader {
 public:
  explicit TruthReader(const Operand& operand) : is_half_(operand.dtype == DType::f16 || operand.dtype == DType::bf16) {
    reader_ = is_half_ ? Reader(operand, DType::f32) : Reader(operand);
    to_bool_ = conversion_rows()[static_cast<std::size_t>(is_half_ ? DType::f32 : operand.dtype)]
                                [static_cast<std::size_t>(DType::boolean)];
  }
  [[nodiscard]] std::int64_t count() const { return reader_.layout().count(); }
  void read(std::int64_t begin, std::int64_t n, Scratch& scratch, std::uint8_t* truth) const {
    const void* elements = reader_.read(begin, n, scratch);
    to_bool_(&elements, 0, truth, static_cast<std::size_t>(n));
  }

 private:
  bool is_half_;
  Reader reader_;
  Row to_bool_;
};

template <class Body>
void for_each_range_number(Parallel& parallel, std::size_t ranges, Body&& body) {
  if (ranges == 1) {
    body(std::size_t{0});
  } else {
    parallel.for_each_chunk(ranges, body);
  }
}

// How many elements of each range are not zero.
std::vector<std::int64_t> counts_by_range(const TruthReader& reader, Parallel& parallel) {
  const std::int64_t ranges = (reader.count() + range_elements - 1) / range_elements;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranges));
  for_each_range_number(parallel, counts.size(), [&](std::size_t range) {
    Scratch scratch;
    std::array<std::uint8_t, block_elements> truth;
    const std::int64_t begin = static_cast<std::int64_t>(range) * range_elements;
    const std::int64_t end = std::min(begin + range_elements, reader.count());
    std::int64_t found = 0;
    for (std::int64_t at = begin; at < end; at += block_elements) {
      const std::int64_t n = std::min(block_elements, end - at);
      reader.read(at, n, scratch, truth.data());
      found += std::accumulate(truth.begin(), truth.begin() + n, 0);
    }
    counts[range] = found;
  });
  return counts;
}

}  // namespace

static void count_nonzero(const KernelCall& call, KernelContext& context) {
  const std::vector<std::int64_t> counts = counts_by_range(TruthReader(call.in(0)), context.parallel);
  *call.out().as<std::int64_t>() = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

static void nonzero(const KernelCall& call, KernelContext& context) {
  const Operand& in = call.in(0);
  const Operand& out = call.out();
  const TruthReader reader(in);
  std::vector<std::int64_t> starts = counts_by_range(reader, context.parallel);
  std::int64_t total = 0;
  for (std::int64_t& count : starts) {
    const std::int64_t here = count;
    count = total;
    total += here;
  }
  if (total != out.axes[0].size) {
    throw KernelFailed(changed_since_counted(out.axes[0].size, total), call.site);
  }
  if (total == 0 || in.rank == 0) return;
  for_each_range_number(context.parallel, starts.size(), [&](std::size_t range) {
    Scratch scratch;
    std::array<std::uint8_t, block_elements> truth;
    const std::int64_t begin = static_cast<std::int64_t>(range) * range_elements;
    const std::int64_t end = std::min(begin + range_elements, reader.count());
    std::int64_t row = starts[range];
    for (std::int64_t at = begin; at < end; at += block_elements) {
      const std::int64_t n = std::min(block_elements, end - at);
      reader.read(at, n, scratch, truth.data());
      for (std::int64_t i = 0; i < n; ++i) {
        if (truth[static_cast<std::size_t>(i)] == 0) continue;
        std::int64_t rest = at + i;
        std::int64_t* target = out.as<std::int64_t>() + row++ * out.axes[0].stride;
        for (std::size_t axis = in.rank; axis-- > 0;) {
          target[static_cast<std::int64_t>(axis) * out.axes[1].stride] = rest % in.axes[axis].size;
          rest /= in.axes[axis].size;
        }
      }
    }
  });
}

[[maybe_unused]] static const bool is_registered = register_host_kernel("CountNonzero", count_nonzero) &&
                                            register_host_kernel("NonZero", nonzero);

}  // namespace tutti::kernels
