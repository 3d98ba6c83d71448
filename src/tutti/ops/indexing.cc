#include "tutti/ops/indexing.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/attributes.h"
#include "tutti/exec/executor.h"
#include "tutti/exec/transfer.h"
#include "tutti/ops/reading.h"
#include "tutti/place/placement.h"

namespace tutti {

namespace {

void infer_take(Inference& in) {
  in.expect_inputs(2);
  if (in.dtype(1) != DType::i32 && in.dtype(1) != DType::i64) in.reject_dtypes("the indices must be int32 or int64");
  const Shape& x = in.shape(0);
  const Shape& indices = in.shape(1);
  const std::size_t axis = checked_axis(in.attributes<TakeAttributes>().axis, x.size(), in.site());
  if (x.size() - 1 + indices.size() > most_axes) in.reject_shapes("the result would have more than 8 axes");
  Shape out(x.view().first(axis));
  for (const std::int64_t size : indices) out.push_back(size);
  for (const std::int64_t size : x.view().subspan(axis + 1)) out.push_back(size);
  in.output(in.dtype(0), out);
}

void infer_count(Inference& in) {
  in.expect_inputs(1);
  in.output(DType::i64, Shape{});
}

struct NonzeroAttributes {
  std::int64_t count = 0;
};

void infer_nonzero(Inference& in) {
  in.expect_inputs(1);
  in.output(DType::i64, {in.attributes<NonzeroAttributes>().count, static_cast<std::int64_t>(in.shape(0).size())});
}

const OpRow& take_row = register_op({.name = "GatherV2", .infer = infer_take});
const OpRow& count_row = register_op({.name = "CountNonzero", .infer = infer_count});
const OpRow& nonzero_row = register_op({.name = "NonZero", .infer = infer_nonzero});

}  // namespace

Tensor take(const Tensor& x, const Tensor& indices, std::int64_t axis, Site site) {
  OpCall call(take_row, site);
  call.add(x);
  call.add(indices);
  call.attributes = Attributes(TakeAttributes{static_cast<std::int32_t>(checked_axis(axis, x.rank(site), site))});
  execute(call);
  return std::move(call.outputs[0]);
}

Tensor count_nonzero(const Tensor& x, Site site) {
  OpCall call(count_row, site);
  call.add(x);
  execute(call);
  return std::move(call.outputs[0]);
}

Tensor nonzero(const Tensor& x, Site site) {
  const std::int64_t count = detail::read_count(count_nonzero(x, site), site);
  OpCall call(nonzero_row, site);
  call.add(x);
  call.attributes = Attributes(NonzeroAttributes{count});
  execute(call);
  return std::move(call.outputs[0]);
}

Tensor contiguous(const Tensor& x, Site site) {
  return copy_to_device(x, runtime(site).of(x.impl(site).buffer()->device()), "_Copy", -1, site);
}

Tensor reshape(const Tensor& x, const Shape& shape, Site site) {
  const Shape resolved = resolve_reshape(x.shape(site), shape, site);
  if (std::optional<Tensor> view = try_reshape(x, resolved)) return *std::move(view);
  return *try_reshape(contiguous(x, site), resolved);
}

Tensor copy_to(const Tensor& x, std::string_view device, Site site) {
  (void)x.impl(site);  // before anything is recorded
  LogicalDevice& to = find_device(device, site);
  record_placement("_Copy", to, PlacementReason::explicit_copy, site);
  return fresh_copy(x, to, site);
}

Tensor pin(const Tensor& x, std::string_view device, Site site) {
  (void)x.impl(site);  // before anything is recorded
  Runtime& instance = runtime(site);
  LogicalDevice* by = device.empty() ? &instance.cpu() : &find_device(device, site);
  for (LogicalDevice* each : instance.devices()) {
    if (device.empty() && by->staging() == nullptr && each->staging() != nullptr) by = each;
  }
  record_placement("_Copy", instance.cpu(), PlacementReason::explicit_copy, site);
  return pinned_copy(x, *by, site);
}

bool is_pinned(const Tensor& x, Site site) {
  const Buffer& buffer = *x.impl(site).buffer();
  Runtime& instance = runtime(site);
  if (!instance.of(buffer.device()).is_cpu()) return false;
  for (LogicalDevice* each : instance.devices()) {
    if (each->staging() != nullptr && each->device().reaches(buffer.address(), buffer.bytes())) return true;
  }
  return false;
}

}  // namespace tutti
