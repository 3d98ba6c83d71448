#include "tutti/exec/executor.h"

#include <cstring>
#include <exception>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/launch.h"
#include "tutti/hal/kernel_thread.h"
#include "tutti/place/placement.h"
#include "tutti/place/settings.h"
#include "tutti/place/stream.h"
#include "tutti/tensor/mirrors.h"

namespace tutti {

namespace {

// Inputs that had to be copied, alive until the op is under way.
class Brought {
 public:
  const TensorImpl* keep(Tensor tensor) {
    if (count_ < few_.size()) return &(few_[count_++] = std::move(tensor)).impl();
    return &more_.emplace_back(std::make_unique<Tensor>(std::move(tensor)))->impl();
  }

 private:
  std::array<Tensor, 2> few_;
  std::size_t count_ = 0;
  std::vector<std::unique_ptr<Tensor>> more_;
};

[[noreturn]] void refuse_inside_kernel(const char* op, Site site) {
  throw InvalidState(
      text("op ", op, " was called inside a kernel; a kernel computes on its operands only: compose ops on the host instead"),
      site);
}

// Inference may be a user's: what it throws reaches the caller as an Error with the call's site, and what it says is
// checked before a kernel trusts it.
void infer(const OpCall& call, Inference& inferred) {
  try {
    call.op.infer(inferred);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw InvalidArgument(text(call.op.name, ": its inference failed: ", e.what()), call.site);
  } catch (...) {
    throw InvalidArgument(text(call.op.name, ": its inference threw something that is not a std::exception"), call.site);
  }
  if (!call.op.is_elementwise || inferred.outputs() == 0) return;
  const Shape& common = inferred.output_at(0).shape;
  for (std::size_t i = 0; i < inferred.inputs(); ++i) {
    if (inferred.shape(i) == common) [[likely]]
      continue;
    const std::optional<Shape> both = broadcast(inferred.shape(i), common);
    if (!both || !(*both == common))
      inferred.reject_shapes(text("its inputs do not broadcast to the output's shape ", to_string(common)));
  }
}

void bring_inputs(OpCall& call, LogicalDevice& on, Brought& brought) {
  unsigned number = 0;
  for (OpInput& input : call.inputs()) {
    const unsigned at = number++;
    if (input.tensor == nullptr || &input.tensor->buffer()->device() == &on.device()) [[likely]]
      continue;
    if (call.op.access_of(at) == Access::update) {
      throw InvalidArgument(
          text(call.op.name, " writes a variable on ", input.tensor->buffer()->device().name(), " and cannot run on ", on.name()),
          call.site);
    }
    const Tensor source(Ref<TensorImpl>(const_cast<TensorImpl*>(input.tensor)));
    input.tensor = brought.keep(copy_to_device(source, on, call.op.name.c_str(), static_cast<int>(at), call.site));
    input.is_given_away = false;
  }
}

// Ready inputs and a device whose work the calling thread may do.
bool can_run_in_caller(const OpCall& call, LogicalDevice& on) {
  if (!on.device().runs_in_caller() || !detail::thread_settings.synchronous) return false;
  std::size_t number = 0;
  for (const OpInput& input : call.inputs()) {
    const std::size_t at = number++;
    if (input.tensor == nullptr) continue;
    const Buffer& buffer = *input.tensor->buffer();
    if (!buffer.is_ready() || (call.op.access_of(at) == Access::update && !buffer.is_idle())) return false;
  }
  return true;
}

// The memory of a given-away input, if the output fits into it exactly and nobody else holds it.
Ref<Buffer> reusable_memory(const OpCall& call, const OutputSpec& spec, bool in_caller) {
  std::size_t number = 0;
  for (const OpInput& input : call.inputs()) {
    const std::size_t at = number++;
    if (!input.is_given_away || call.op.access_of(at) != Access::consume) continue;
    const TensorImpl& tensor = *input.tensor;
    const bool fits = tensor.is_unique() && tensor.buffer()->is_unique() && size_of(tensor.dtype()) == size_of(spec.dtype) &&
                      tensor.shape() == spec.shape && tensor.offset() == 0 && tensor.strides() == dense_strides(spec.shape);
    if (fits && (!in_caller || tensor.buffer()->is_idle())) return tensor.buffer();
  }
  return nullptr;
}

}  // namespace

std::size_t checked_bytes(DType dtype, const Shape& shape, Site site) {
  const std::optional<std::int64_t> count = element_count(shape);
  std::int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<std::int64_t>(size_of(dtype)), &bytes)) {
    throw ShapeError(text("a tensor of shape ", to_string(shape), " and dtype ", to_string(dtype),
                          " cannot be: sizes must not be negative and all bytes must fit in 63 bits"),
                     site);
  }
  return static_cast<std::size_t>(bytes);
}

void execute(OpCall& call) {
  Runtime& instance = runtime(call.site);
  const char* name = call.op.name.c_str();
  if (is_inside_kernel()) [[unlikely]]
    refuse_inside_kernel(name, call.site);
  Inference inferred(call);
  infer(call, inferred);
  LogicalDevice& on = place_op(instance, name, call.op.mask.load(std::memory_order_acquire), call.pinned, call.site);
  Brought brought;
  bring_inputs(call, on, brought);
  const bool in_caller = can_run_in_caller(call, on);
  DeviceStream& stream = current_stream(on);
  const StreamId for_stream = in_caller ? StreamId::none : stream.id();

  call.output_count = inferred.outputs();
  for (std::size_t i = 0; i < call.output_count; ++i) {
    const OutputSpec& spec = inferred.output_at(i);
    const std::size_t bytes = checked_bytes(spec.dtype, spec.shape, call.site);
    Ref<Buffer> memory = i == 0 ? reusable_memory(call, spec, in_caller) : nullptr;
    if (!memory) memory = on.memory().allocate(bytes, for_stream, call.site);
    call.outputs[i] = make_dense(std::move(memory), spec.dtype, spec.shape);
  }
  Ref<Buffer> scratch;
  if (inferred.scratch_bytes() > 0)
    scratch = on.memory().allocate(static_cast<std::size_t>(inferred.scratch_bytes()), for_stream, call.site);

  Launch launch(call.op, call.attributes, on, call.site);
  const Shape* like = call.op.is_elementwise && call.output_count > 0 ? &inferred.output_at(0).shape : nullptr;
  std::size_t number = 0;
  for (const OpInput& input : call.inputs()) {
    const std::size_t at = number++;
    if (input.tensor != nullptr) {
      launch.input(*input.tensor, call.op.access_of(at), like);
    } else {
      launch.scalar(input.scalar_dtype, input.scalar, like);
    }
  }
  for (std::size_t i = 0; i < call.output_count; ++i) launch.output(call.outputs[i].impl());
  if (scratch) launch.scratch(*scratch);
  if (in_caller) {
    launch.run_in_caller();
  } else {
    launch.submit(stream);
  }
}

namespace {

// Copies on the side that is not the host; between two of those, on the one that receives.
void launch_copy(const Tensor& from, const Tensor& to, LogicalDevice& mover, bool in_caller, Site site) {
  static const OpRow& copy = find_op("_Copy");
  static const Attributes none{};
  Launch launch(copy, none, mover, site);
  launch.input(from.impl(), Access::read, &to.shape());
  launch.output(to.impl());
  if (in_caller) {
    launch.run_in_caller();
  } else {
    launch.submit(current_stream(mover));
  }
}

LogicalDevice& mover_between(const Tensor& x, LogicalDevice& to, Site site) {
  return to.is_cpu() ? runtime(site).of(x.impl().buffer()->device()) : to;
}

}  // namespace

Tensor fresh_copy(const Tensor& x, LogicalDevice& to, Site site) {
  require_usable(site);
  if (is_inside_kernel()) refuse_inside_kernel("_Copy", site);
  LogicalDevice& mover = mover_between(x, to, site);
  const bool in_caller = mover.device().runs_in_caller() && detail::thread_settings.synchronous && x.is_ready();
  const StreamId for_stream = in_caller ? StreamId::none : current_stream(mover).id();
  Tensor out =
      make_dense(to.memory().allocate(checked_bytes(x.dtype(), x.shape(), site), for_stream, site), x.dtype(), x.shape());
  launch_copy(x, out, mover, in_caller, site);
  return out;
}

Tensor copy_to_device(const Tensor& x, LogicalDevice& to, const char* for_op, int input, Site site) {
  Device& from = x.impl().buffer()->device();
  const bool is_here = &from == &to.device();
  if (is_here && x.is_contiguous()) return x;
  if (is_here || input < 0) return fresh_copy(x, to, site);
  if (Tensor kept = Mirrors::find(x.impl(), to.device()); kept.is_defined()) return kept;
  record_copy(for_op, from, to, checked_bytes(x.dtype(), x.shape(), site), static_cast<unsigned>(input), site);
  Tensor out = fresh_copy(x, to, site);
  Mirrors::keep(x.impl(), out);
  return out;
}

void overwrite(const Tensor& target, const Tensor& value, Site site) {
  require_usable(site);
  if (is_inside_kernel()) refuse_inside_kernel("_Copy", site);
  LogicalDevice& on = runtime(site).of(target.impl().buffer()->device());
  LogicalDevice& mover = mover_between(value, on, site);
  const bool in_caller = mover.device().runs_in_caller() && detail::thread_settings.synchronous && value.is_ready() &&
                         target.impl().buffer()->is_idle();
  launch_copy(value, target, mover, in_caller, site);
}

Tensor upload(const char* op, DType dtype, const Shape& shape, const void* bytes, Site site) {
  static const Attributes none{};
  Runtime& instance = runtime(site);
  if (is_inside_kernel()) refuse_inside_kernel(op, site);
  const OpRow& row = find_op(op, site);
  const std::size_t size = checked_bytes(dtype, shape, site);
  LogicalDevice& on = place_op(instance, row.name.c_str(), row.mask.load(std::memory_order_acquire), nullptr, site);
  LogicalDevice& host = on.is_cpu() ? on : instance.cpu();
  // Nobody else uses this memory yet, so the host may write it at once; the device fetches it in its own time.
  Tensor staged = make_dense(host.memory().allocate(size, StreamId::none, site), dtype, shape);
  staged.impl().buffer()->failure().clear();
  if (size > 0) std::memcpy(staged.impl().address(), bytes, size);
  if (on.is_cpu()) return staged;
  DeviceStream& stream = current_stream(on);
  Tensor out = make_dense(on.memory().allocate(size, stream.id(), site), dtype, shape);
  Launch launch(row, none, on, site);
  launch.input(staged.impl(), Access::read, nullptr);
  launch.output(out.impl());
  launch.submit(stream);
  return out;
}

void raise_failure(const Tensor& x) {
  if (const FailureRef failure = x.impl().buffer()->failure().get()) failure->raise();
}

}  // namespace tutti
