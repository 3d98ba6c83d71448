#include "tutti/ops/sets.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/sorting_attributes.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/reading.h"
#include "tutti/ops/sorted_pair.h"
#include "tutti/ops/sorting.h"

namespace tutti {

namespace {

void infer_unique_count(Inference& in) {
  in.expect_inputs(1);
  if (in.shape(0).size() != 1) in.reject_shapes("the sorted elements must have one axis");
  in.output(DType::i64, Shape{});
}

// Inputs: the sorted elements and, where indices or the inverse are wanted, the indices that sorted them.
void infer_unique(Inference& in) {
  const auto wanted = in.attributes<UniqueAttributes>();
  const bool needs_order = wanted.wants_indices || wanted.wants_inverse;
  in.expect_inputs(needs_order ? 2 : 1);
  if (in.shape(0).size() != 1) in.reject_shapes("the sorted elements must have one axis");
  if (needs_order && in.dtype(1) != DType::i64) in.reject_dtypes("the order must be int64");
  if (needs_order && !(in.shape(1) == in.shape(0))) in.reject_shapes("the order must have the shape of the elements");
  const Shape none{0};
  const Shape sized{wanted.size};
  in.output(in.dtype(0), sized);
  in.output(DType::i64, wanted.wants_indices ? sized : none);
  in.output(DType::i64, wanted.wants_inverse ? in.shape(0) : none);
  in.output(DType::i64, wanted.wants_counts ? sized : none);
}

const OpRow& unique_count_row = register_op({.name = "UniqueCount", .function = "unique_all", .infer = infer_unique_count});
const OpRow& unique_row = register_op({.name = "Unique", .function = "unique_all", .infer = infer_unique});

UniqueAll find_unique(const char* function, const Tensor& x, UniqueAttributes wanted, const UniqueSize* size, Site site) {
  if (size != nullptr) {
    if (size->size < 0) throw InvalidArgument(text(function, ": a size of ", size->size, " was asked for"), site);
    if (!size->fill.is_number()) throw InvalidArgument(text(function, ": the fill must be a number, not a tensor"), site);
    wanted.fill = detail::scalar_input(size->fill.number(), x.dtype(site), site).scalar;
    wanted.size = size->size;
  }
  const Tensor flat = reshape(x, Shape{x.size(site)}, site);
  detail::SortedPair sorted;
  if (wanted.wants_indices || wanted.wants_inverse) {
    sorted = detail::sort_with_indices(flat, site);
  } else {
    sorted.values = sort(flat, -1, {}, site);
  }
  UniqueAll out;
  OpCall counting(unique_count_row, site);
  counting.called_as.function = function;
  counting.add(sorted.values);
  out.count = dispatch_one(counting);
  if (size == nullptr) wanted.size = detail::read_count(out.count, site);
  OpCall call(unique_row, site);
  call.called_as.function = function;
  call.add(sorted.values);
  if (sorted.indices.is_defined()) call.add(sorted.indices);
  call.attributes = Attributes(wanted);
  dispatch(call);
  out.values = call.outputs.take(0);
  out.indices = call.outputs.take(1);
  if (wanted.wants_inverse) out.inverse_indices = reshape(call.outputs[2], x.shape(), site);
  out.counts = call.outputs.take(3);
  return out;
}

UniqueValues values_of(const Tensor& x, const UniqueSize* size, Site site) {
  UniqueAll found = find_unique("unique_values", x, {}, size, site);
  return {std::move(found.values), std::move(found.count)};
}
UniqueCounts counts_of(const Tensor& x, const UniqueSize* size, Site site) {
  UniqueAll found = find_unique("unique_counts", x, {.wants_counts = true}, size, site);
  return {std::move(found.values), std::move(found.counts), std::move(found.count)};
}
UniqueInverse inverse_of(const Tensor& x, const UniqueSize* size, Site site) {
  UniqueAll found = find_unique("unique_inverse", x, {.wants_inverse = true}, size, site);
  return {std::move(found.values), std::move(found.inverse_indices), std::move(found.count)};
}
UniqueAll all_of(const Tensor& x, const UniqueSize* size, Site site) {
  return find_unique("unique_all", x, {.wants_indices = true, .wants_inverse = true, .wants_counts = true}, size, site);
}

}  // namespace

Tensor unique_values(const Tensor& x, Site site) { return values_of(x, nullptr, site).values; }
UniqueCounts unique_counts(const Tensor& x, Site site) { return counts_of(x, nullptr, site); }
UniqueInverse unique_inverse(const Tensor& x, Site site) { return inverse_of(x, nullptr, site); }
UniqueAll unique_all(const Tensor& x, Site site) { return all_of(x, nullptr, site); }

UniqueValues unique_values(const Tensor& x, const UniqueSize& size, Site site) { return values_of(x, &size, site); }
UniqueCounts unique_counts(const Tensor& x, const UniqueSize& size, Site site) { return counts_of(x, &size, site); }
UniqueInverse unique_inverse(const Tensor& x, const UniqueSize& size, Site site) { return inverse_of(x, &size, site); }
UniqueAll unique_all(const Tensor& x, const UniqueSize& size, Site site) { return all_of(x, &size, site); }

}  // namespace tutti
