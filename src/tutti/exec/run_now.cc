#include "tutti/exec/dispatch.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/generator.h"
#include "tutti/exec/last_call.h"
#include "tutti/exec/launch.h"
#include "tutti/exec/memory_order.h"
#include "tutti/exec/stream.h"
#include "tutti/exec/transfer.h"
#include "tutti/hal/kernel_thread.h"
#include "tutti/place/placement.h"
#include "tutti/tensor/view.h"

namespace tutti {

namespace {

// Inputs that had to be copied, alive until the op is under way.
class CopiedInputs {
 public:
  const TensorImpl* keep(Tensor tensor) {
    if (count_ < few_.size()) return &(few_[count_++] = std::move(tensor)).impl();
    return &more_.emplace_back(std::make_unique<Tensor>(std::move(tensor)))->impl();
  }
  // The program cannot order what it never sees.
  void order_always(Launch& launch) const {
    for (std::size_t i = 0; i < count_; ++i) launch.order_always(*few_[i].impl().buffer());
    for (const auto& each : more_) launch.order_always(*each->impl().buffer());
  }

 private:
  std::array<Tensor, 2> few_;
  std::size_t count_ = 0;
  std::vector<std::unique_ptr<Tensor>> more_;
};

// Inference may be a user's: what it throws reaches the caller as an Error with the call's site, and what it says is
// checked before a kernel trusts it.
void infer(const OpCall& call, Inference& inferred) {
  if (inferred.inputs() > 0 && !call.op.takes.contains(inferred.dtype(0))) [[unlikely]]
    inferred.reject_dtypes(text("it is defined for ", to_string(call.op.takes), " only"));
  try {
    call.op.infer(inferred);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw InvalidArgument(text(call.function(), ": its inference failed: ", e.what()), call.site);
  } catch (...) {
    throw InvalidArgument(text(call.function(), ": its inference threw something that is not a std::exception"), call.site);
  }
  if (inferred.outputs() == 0) [[unlikely]] {
    throw InvalidArgument(
        text(call.function(), ": its inference named no output; it must call output(dtype, shape) for each one"), call.site);
  }
  if (!call.op.is_elementwise) return;
  const Shape& common = inferred.output_at(0).shape;
  for (std::size_t i = 0; i < inferred.inputs(); ++i) {
    if (inferred.shape(i) == common) [[likely]]
      continue;
    const std::optional<Shape> both = broadcast(inferred.shape(i), common);
    if (!both || !(*both == common))
      inferred.reject_shapes(text("its inputs do not broadcast to the output's shape ", to_string(common)));
  }
}

// The device that holds every tensor the op gets; null where there is none.
const Device* device_of_inputs(const OpCall& call) {
  const Device* common = call.like != nullptr ? &call.like->buffer()->device() : nullptr;
  for (const OpInput& input : call.inputs()) {
    if (input.tensor == nullptr) continue;
    const Device* const device = &input.tensor->buffer()->device();
    if (common != nullptr && common != device) return nullptr;
    common = device;
  }
  return common;
}

void bring_inputs(OpCall& call, LogicalDevice& on, CopiedInputs& copies) {
  unsigned number = 0;
  for (OpInput& input : call.inputs()) {
    const unsigned at = number++;
    if (input.tensor == nullptr || &input.tensor->buffer()->device() == &on.device()) [[likely]]
      continue;
    if (call.op.access_of(at) == Access::update) {
      throw InvalidArgument(text(call.function(), " writes a variable on ", input.tensor->buffer()->device().name(),
                                 " and cannot run on ", on.name()),
                            call.site);
    }
    const Tensor source(Ref<TensorImpl>(const_cast<TensorImpl*>(input.tensor)));
    input.tensor = copies.keep(copy_to_device(source, on, call.names(), static_cast<int>(at), call.site));
    input.is_given_away = false;
  }
}

void make_inputs_dense(OpCall& call, LogicalDevice& on, CopiedInputs& copies) {
  std::size_t number = 0;
  for (OpInput& input : call.inputs()) {
    const std::size_t at = number++;
    if (input.tensor == nullptr || call.op.access_of(at) == Access::update) continue;
    const Tensor source(Ref<TensorImpl>(const_cast<TensorImpl*>(input.tensor)));
    if (source.is_contiguous()) continue;
    input.tensor = copies.keep(copy_to_device(source, on, call.names(), -1, call.site));
    input.is_given_away = false;
  }
}

// The dtype that decides which backends have a kernel.
DType deciding_dtype(const Inference& inferred) {
  return inferred.inputs() > 0 ? inferred.dtype(0) : inferred.output_at(0).dtype;
}

// Ready inputs and a device whose work the calling thread may do.
bool can_run_in_caller(const OpCall& call, LogicalDevice& on) {
  if (!on.device().runs_in_caller() || !detail::thread_state.settings.synchronous || call.op.may_block) return false;
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
Ref<Buffer> reusable_memory(const OpCall& call, const OutputSpec& spec, const MemoryOrder& order, bool in_caller) {
  std::size_t number = 0;
  for (const OpInput& input : call.inputs()) {
    const std::size_t at = number++;
    if (!input.is_given_away || call.op.access_of(at) != Access::consume) continue;
    const TensorImpl& tensor = *input.tensor;
    const bool fits = tensor.is_unique() && tensor.buffer()->is_unique() && !tensor.buffer()->is_lent() &&
                      size_of(tensor.dtype()) == size_of(spec.dtype) && tensor.shape() == spec.shape && tensor.offset() == 0 &&
                      tensor.strides() == (order.is_row_order ? dense_strides(spec.shape) : order.strides);
    // The same tensor given away twice.
    const auto reads_it_too = [&](const OpInput& other) {
      return &other != &input && other.tensor != nullptr && other.tensor->buffer() == tensor.buffer();
    };
    if (fits && std::none_of(call.inputs().begin(), call.inputs().end(), reads_it_too) &&
        (!in_caller || tensor.buffer()->is_idle()))
      return tensor.buffer();
  }
  return nullptr;
}

// The most of what inference and the kernel of this backend ask for.
std::int64_t scratch_bytes(const OpCall& call, const Inference& inferred, LogicalDevice& on) {
  const Workspace workspace = call.op.workspaces[static_cast<std::size_t>(on.device().backend())].load(std::memory_order_acquire);
  return workspace == nullptr ? inferred.scratch_bytes() : std::max(inferred.scratch_bytes(), workspace(call, inferred));
}

}  // namespace

namespace {

// What a draw takes from its generator, into the attributes, which begin with it.
void take_numbers(OpCall& call) {
  thread_local TakenNumbers last;
  call.attributes.overwrite(0, take(call.draw, last));
}

// The inputs with their axes in that order. Those of another rank (indices, a padding value) stay as they are.
void permute_inputs(OpCall& call, const Dims& order, CopiedInputs& views) {
  for (OpInput& input : call.inputs()) {
    if (input.tensor == nullptr || input.tensor->shape().size() != order.size()) continue;
    const Tensor source(Ref<TensorImpl>(const_cast<TensorImpl*>(input.tensor)));
    input.tensor = views.keep(detail::permuted(source, order));
    input.is_given_away = false;
  }
}

}  // namespace

void run_kernel(OpCall& call) {
  Runtime& instance = runtime(call.site);
  std::optional<Inference> inferred(std::in_place, call);
  infer(call, *inferred);
  LogicalDevice& on = place_op(instance, call.names(), call.op.mask_for(deciding_dtype(*inferred)),
                               {.variable = call.pinned, .inputs = device_of_inputs(call)}, call.site);
  CopiedInputs copies;
  bring_inputs(call, on, copies);
  Dims axes;
  if (call.op.arrange != nullptr) [[unlikely]] {
    axes = call.op.arrange(call, on);
    if (!axes.empty()) {
      permute_inputs(call, axes, copies);
      infer(call, inferred.emplace(call));
    }
  }
  if (!call.op.strided && !call.op.is_elementwise) make_inputs_dense(call, on, copies);
  const bool in_caller = can_run_in_caller(call, on);
  DeviceStream& stream = current_stream(on);
  const StreamId for_stream = in_caller ? StreamId::none : stream.id();

  const MemoryOrder order =
      call.op.is_elementwise && inferred->outputs() == 1 ? order_of_output(call, inferred->output_at(0).shape) : MemoryOrder{};
  for (std::size_t i = 0; i < inferred->outputs(); ++i) {
    const OutputSpec& spec = inferred->output_at(i);
    const std::size_t bytes = checked_bytes(call.function(), spec.dtype, spec.shape, call.site);
    Ref<Buffer> memory = i == 0 ? reusable_memory(call, spec, order, in_caller) : nullptr;
    if (!memory) memory = on.memory().allocate(bytes, for_stream, call.site);
    call.outputs.push_back(order.is_row_order ? make_dense(std::move(memory), spec.dtype, spec.shape)
                                              : make_ordered(std::move(memory), spec.dtype, spec.shape, order.strides));
  }
  Ref<Buffer> scratch;
  if (const std::int64_t bytes = scratch_bytes(call, *inferred, on); bytes > 0)
    scratch = on.memory().allocate(static_cast<std::size_t>(bytes), for_stream, call.site);

  Launch launch(call.op, call.attributes, on, call.site, call.called_as.function);
  const Shape* like = call.op.is_elementwise ? &inferred->output_at(0).shape : nullptr;
  std::size_t number = 0;
  for (const OpInput& input : call.inputs()) {
    const std::size_t at = number++;
    if (input.tensor != nullptr) {
      launch.input(*input.tensor, call.op.access_of(at), like);
    } else {
      launch.scalar(input.scalar_dtype, input.scalar, like);
    }
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) launch.output(call.outputs[i].impl());
  if (scratch) launch.scratch(*scratch);
  if (!order.is_row_order) [[unlikely]]
    launch.take_axes_in(order);
  if (detail::thread_state.settings.manual_order) [[unlikely]]
    copies.order_always(launch);
  if (in_caller) {
    launch.run_in_caller();
  } else {
    launch.submit(stream);
  }
  if (axes.empty()) [[likely]]
    return;
  for (std::size_t i = 0; i < call.outputs.size(); ++i)
    call.outputs[i] = detail::permuted(call.outputs[i], detail::inverted(axes));
}

namespace {

// Calls made meanwhile go to the executor around the one that passed its call on.
class OuterExecutor {
 public:
  explicit OuterExecutor(Executor* outer) noexcept : before_(std::exchange(detail::thread_state.top, outer)) {}
  ~OuterExecutor() { detail::thread_state.top = before_; }
  OuterExecutor(const OuterExecutor&) = delete;
  OuterExecutor& operator=(const OuterExecutor&) = delete;

 private:
  Executor* const before_;
};

}  // namespace

void run_now(OpCall& call) {
  if (is_inside_kernel()) [[unlikely]]
    detail::refuse_inside_kernel(call.function(), call.site);
  if (detail::notes_calls.load(std::memory_order_relaxed)) [[unlikely]]
    detail::note_call(call.function(), call.site);
  if (call.draw.generator != nullptr) [[unlikely]]
    take_numbers(call);
  if (call.op.run != nullptr) return call.op.run(call);
  run_kernel(call);
}

void Executor::pass_on(OpCall& call) {
  const OuterExecutor meanwhile(outer_);
  dispatch(call);
}

ExecutorScope::ExecutorScope(Executor& executor) noexcept : executor_(&executor) {
  executor.outer_ = std::exchange(detail::thread_state.top, &executor);
}

ExecutorScope::~ExecutorScope() { detail::thread_state.top = executor_->outer_; }

}  // namespace tutti
