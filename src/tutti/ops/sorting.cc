#include "tutti/ops/sorting.h"

#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/sorting_attributes.h"
#include "tutti/ops/axis_last.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/sorted_pair.h"
#include "tutti/ops/views.h"

namespace tutti {

namespace {

void infer_topk(Inference& in) {
  in.expect_inputs(1);
  const auto wanted = in.attributes<SortAttributes>();
  Shape out = in.shape(0);
  if (out.empty()) in.reject_shapes("it needs an axis to sort along");
  if (wanted.keep < 0 || wanted.keep > out[out.size() - 1]) in.reject_shapes(text("it cannot keep ", wanted.keep, " of a line"));
  out[out.size() - 1] = wanted.keep;
  if (wanted.wants_values) in.output(in.dtype(0), out);
  if (wanted.wants_indices) in.output(DType::i64, out);
}

void infer_sort(Inference& in) {
  infer_topk(in);
  const Shape& x = in.shape(0);
  if (in.attributes<SortAttributes>().keep != x[x.size() - 1]) in.reject_shapes("it keeps whole lines only");
}

void infer_search(Inference& in) {
  if (in.inputs() != 3) in.expect_inputs(2);
  if (in.dtype(0) != in.dtype(1)) in.reject_dtypes("both inputs must have one dtype");
  if (in.shape(0).size() != 1) in.reject_shapes("the sorted input must have one axis");
  if (in.inputs() == 3 && in.dtype(2) != DType::i64) in.reject_dtypes("the sorter must be int64");
  if (in.inputs() == 3 && !(in.shape(2) == in.shape(0))) in.reject_shapes("the sorter must have the shape of what it sorts");
  in.output(DType::i64, in.shape(1));
}

const OpRow& sort_row = register_op({.name = "Sort", .function = "sort", .infer = infer_sort});
const OpRow& topk_row = register_op({.name = "TopKV2", .function = "topk", .infer = infer_topk});
const OpRow& search_row = register_op({.name = "SearchSorted", .function = "searchsorted", .infer = infer_search});

OpCall sort_call(const OpRow& row, const Tensor& lines, const SortAttributes& attributes, Site site,
                 const char* function = nullptr) {
  OpCall call(row, site);
  call.called_as.function = function;
  call.add(lines);
  call.attributes = Attributes(attributes);
  dispatch(call);
  return call;
}

Tensor sorted_along(const Tensor& x, std::int64_t asked, const SortOptions& options, bool wants_values, Site site) {
  const char* function = wants_values ? "sort" : "argsort";
  const std::size_t axis = checked_axis(function, asked, x.rank(site), site);
  const SortAttributes attributes{
      .keep = x.shape()[axis], .is_descending = options.descending, .wants_values = wants_values, .wants_indices = !wants_values};
  const Tensor lines = detail::axis_last(x, axis, site);
  const OpCall call = sort_call(sort_row, lines, attributes, site, function);
  return detail::axis_back(call.outputs[0], axis, site);
}

}  // namespace

namespace detail {

SortedPair sort_with_indices(const Tensor& x, Site site) {
  const SortAttributes attributes{.keep = x.shape(site)[x.rank(site) - 1]};
  OpCall call = sort_call(sort_row, x, attributes, site);
  return {call.outputs.take(0), call.outputs.take(1)};
}

Tensor order_of_random_keys(const Tensor& keys, Site site) {
  const SortAttributes attributes{.keep = keys.shape(site)[0], .wants_values = false, .is_spread = true};
  return std::move(sort_call(sort_row, keys, attributes, site).outputs[0]);
}

}  // namespace detail

Tensor sort(const Tensor& x, std::int64_t axis, const SortOptions& options, Site site) {
  return sorted_along(x, axis, options, true, site);
}
Tensor sort(const Tensor& x, const SortOptions& options, Site site) { return sort(x, -1, options, site); }

Tensor argsort(const Tensor& x, std::int64_t axis, const SortOptions& options, Site site) {
  return sorted_along(x, axis, options, false, site);
}
Tensor argsort(const Tensor& x, const SortOptions& options, Site site) { return argsort(x, -1, options, site); }

TopK topk(const Tensor& x, std::int64_t k, const TopKOptions& options, Site site) { return topk(x, k, -1, options, site); }

TopK topk(const Tensor& x, std::int64_t k, std::int64_t asked, const TopKOptions& options, Site site) {
  const std::size_t axis = checked_axis("topk", asked, x.rank(site), site);
  if (k < 0 || k > x.shape()[axis]) {
    throw InvalidArgument(text("topk: k (", k, ") must lie between 0 and the ", x.shape()[axis], " elements along axis ", axis),
                          site);
  }
  const Tensor lines = detail::axis_last(x, axis, site);
  const OpCall call = sort_call(topk_row, lines, {.keep = k, .is_descending = options.largest}, site);
  return {detail::axis_back(call.outputs[0], axis, site), detail::axis_back(call.outputs[1], axis, site)};
}

Tensor searchsorted(const Tensor& sorted, const Tensor& values, const SearchSortedOptions& options, Site site) {
  const DType dtype = promote(sorted.dtype(site), values.dtype(site));
  const Tensor among = cast(sorted, dtype, site);
  const Tensor searched = cast(values, dtype, site);
  Tensor sorter;
  OpCall call(search_row, site);
  call.add(among);
  call.add(searched);
  if (options.sorter.is_defined()) {
    const DType given = options.sorter.dtype();
    if (given != DType::i32 && given != DType::i64)
      throw DTypeError(text("searchsorted: the sorter must be int32 or int64, not ", to_string(given)), site);
    sorter = cast(options.sorter, DType::i64, site);
    call.add(sorter);
  }
  call.attributes = Attributes(SearchSortedAttributes{options.right});
  return dispatch_one(call);
}

}  // namespace tutti
