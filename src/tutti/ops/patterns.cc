#include "tutti/ops/patterns.h"

#include <cmath>
#include <limits>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/manipulation_attributes.h"
#include "tutti/exec/transfer.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/views.h"

namespace tutti {

namespace {

void infer_range(Inference& in) { in.output(in.wanted().dtype, in.wanted().shape); }

void infer_band(Inference& in) {
  in.expect_inputs(1);
  if (in.shape(0).size() < 2) in.reject_shapes("a matrix has two axes at least");
  in.output(in.dtype(0), in.shape(0));
}

const OpRow& range_row = register_op({.name = "Range", .function = "arange", .infer = infer_range});
const OpRow& band_row = register_op({.name = "MatrixBandPart", .function = "tril", .infer = infer_band, .strided = true});

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t largest_index = std::numeric_limits<std::int64_t>::max();

Tensor make_range(const char* function, const RangeAttributes& range, std::int64_t count, DType dtype, Site site,
                  const Tensor* like = nullptr) {
  const OutputSpec spec{dtype, {count}};
  checked_bytes(function != nullptr ? function : "arange", dtype, spec.shape, site);
  OpCall call(range_row, site);
  call.called_as.function = function;
  call.attributes = Attributes(range);
  call.wanted = &spec;
  call.like = like != nullptr ? &like->impl(site) : nullptr;
  return dispatch_one(call);
}

Tensor band(const char* function, const Tensor& x, std::int64_t low, std::int64_t high, Site site) {
  OpCall call(band_row, site);
  call.called_as.function = function;
  call.add(x);
  call.attributes = Attributes(BandAttributes{low, high});
  return dispatch_one(call);
}

bool is_whole(const NumberArg& number) { return number.value().kind != DTypeKind::floating; }

double real_of(const NumberArg& number, Site site) {
  const WeakScalar& value = number.value();
  if (value.is_too_large) throw InvalidArgument("arange: a number does not fit in int64", site);
  const double real = is_whole(number) ? static_cast<double>(value.integer) : value.real;
  if (!std::isfinite(real)) throw InvalidArgument(text("arange: ", real, " is not finite"), site);
  return real;
}

// For an integer dtype: a fraction has no place there.
std::int64_t whole_of(const NumberArg& number, DType dtype, Site site) {
  const double real = real_of(number, site);
  if (is_whole(number)) return number.value().integer;
  if (real != std::floor(real) || real < -0x1p63 || real >= 0x1p63)
    throw InvalidArgument(text("arange: ", real, " is no value of ", to_string(dtype)), site);
  return static_cast<std::int64_t>(real);
}

// How many steps fit before stop; no numbers of 64 bits overflow on the way.
std::int64_t whole_count(std::int64_t start, std::int64_t stop, std::int64_t step, Site site) {
  if (step == 0) throw InvalidArgument("arange needs a step other than 0", site);
  const bool forward = step > 0;
  if (forward ? stop <= start : stop >= start) return 0;
  const std::uint64_t span = forward ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)
                                     : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop);
  const std::uint64_t by = forward ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const std::uint64_t count = (span - 1) / by + 1;
  if (count > static_cast<std::uint64_t>(largest_index))
    throw ShapeError("arange: there would be more elements than can be counted", site);
  return static_cast<std::int64_t>(count);
}

std::int64_t real_count(double start, double stop, double step, Site site) {
  if (step == 0) throw InvalidArgument("arange needs a step other than 0", site);
  const double count = std::ceil((stop - start) / step);
  if (!(count < 0x1p62)) throw ShapeError("arange: there would be more elements than can be counted", site);
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

}  // namespace

Tensor detail::band_of(const Tensor& x, const BandAttributes& which, Site site) {
  return band(nullptr, x, which.low, which.high, site);
}

Tensor arange(NumberArg start, NumberArg stop, NumberArg step, const ArangeOptions& options, Site site) {
  const bool all_whole = is_whole(start) && is_whole(stop) && is_whole(step);
  const DType dtype = options.dtype.value_or(all_whole ? DType::i64 : DType::f32);
  if (dtype == DType::boolean) throw DTypeError("arange: there is no range of bools; name another dtype", site);
  RangeAttributes range;
  std::int64_t count = 0;
  if (is_floating(dtype) && !all_whole) {
    range.start = real_of(start, site);
    range.step = real_of(step, site);
    count = real_count(range.start, real_of(stop, site), range.step, site);
  } else {
    range.first = whole_of(start, dtype, site);
    range.by = whole_of(step, dtype, site);
    range.start = static_cast<double>(range.first);
    range.step = static_cast<double>(range.by);
    // A stop between two whole numbers leaves out the same as the next one in the direction of the step.
    const double end = real_of(stop, site);
    const std::int64_t whole_stop =
        is_whole(stop) ? stop.value().integer : whole_of(NumberArg(range.by > 0 ? std::ceil(end) : std::floor(end)), dtype, site);
    count = whole_count(range.first, whole_stop, range.by, site);
  }
  return make_range("arange", range, count, dtype, site);
}

Tensor detail::positions(std::int64_t count, const Tensor& like, Site site) {
  return make_range(nullptr, {.first = 0, .by = 1, .start = 0, .step = 1}, count, DType::i64, site, &like);
}

Tensor arange(NumberArg start, NumberArg stop, const ArangeOptions& options, Site site) {
  return arange(start, stop, 1, options, site);
}
Tensor arange(NumberArg stop, const ArangeOptions& options, Site site) { return arange(0, stop, 1, options, site); }

Tensor linspace(double start, double stop, std::int64_t count, const LinspaceOptions& options, Site site) {
  if (!is_floating(options.dtype))
    throw DTypeError(text("linspace gives floating dtypes, not ", to_string(options.dtype), "; use arange for integers"), site);
  if (count < 0) throw ShapeError(text("linspace: ", count, " is no number of elements"), site);
  RangeAttributes range;
  range.start = start;
  const std::int64_t steps = options.endpoint ? count - 1 : count;
  if (steps > 0) range.step = (stop - start) / static_cast<double>(steps);
  range.last = stop;
  range.has_last = options.endpoint && count > 1;
  return make_range("linspace", range, count, options.dtype, site);
}

Tensor eye(std::int64_t rows, const EyeOptions& options, Site site) { return eye(rows, rows, options, site); }

Tensor eye(std::int64_t rows, std::int64_t columns, const EyeOptions& options, Site site) {
  const Shape shape{rows, columns};
  checked_bytes("eye", options.dtype, shape, site);
  return band("eye", broadcast_to(ones({}, options.dtype, site), shape, site), options.offset, options.offset, site);
}

Tensor tril(const Tensor& x, std::int64_t offset, Site site) { return band("tril", x, least, offset, site); }
Tensor triu(const Tensor& x, std::int64_t offset, Site site) { return band("triu", x, offset, largest_index, site); }

std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, const MeshgridOptions& options, Site site) {
  if (vectors.size() > most_axes) throw ShapeError("meshgrid: the results would have more than 8 axes", site);
  Shape grid;
  for (const Tensor& x : vectors) {
    if (x.rank(site) > 1) throw ShapeError(text("meshgrid takes vectors; one has the shape ", to_string(x.shape())), site);
    if (x.dtype() != vectors.front().dtype()) {
      throw DTypeError(text("meshgrid takes vectors of one dtype; there are ", to_string(vectors.front().dtype()), " and ",
                            to_string(x.dtype())),
                       site);
    }
    grid.push_back(x.size());
  }
  const bool swaps = options.indexing == Indexing::xy && vectors.size() > 1;
  if (swaps) std::swap(grid[0], grid[1]);
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    Shape along;
    for (std::size_t axis = 0; axis < grid.size(); ++axis) along.push_back(1);
    const std::size_t at = swaps && i < 2 ? 1 - i : i;
    along[at] = grid[at];
    out.push_back(broadcast_to(reshape(vectors[i], along, site), grid, site));
  }
  return out;
}

}  // namespace tutti
