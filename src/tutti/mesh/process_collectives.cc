#include "tutti/mesh/process_collectives.h"

#include <optional>

#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/last_call.h"
#include "tutti/exec/launch.h"
#include "tutti/exec/reduction_attributes.h"
#include "tutti/exec/transfer.h"
#include "tutti/journal/journal.h"
#include "tutti/mesh/engines/fold.h"
#include "tutti/ops/creation.h"
#include "tutti/place/runtime.h"

namespace tutti::detail {

namespace {

struct GroupAttributes {
  ProcessGroup* group;
  DeviceLine* line;  // null: not of GPUs, or not one of each process
  std::int64_t size;
  std::int32_t root;
  Reduction reduction;  // between processes
  Reduction asked;
  bool is_on_gpu = false;  // known when it runs
};

Shape with_front(std::int64_t size, const Shape& shape) {
  Shape out{size};
  for (const std::int64_t extent : shape) out.push_back(extent);
  return out;
}

Shape without_front(const Inference& in) {
  const Shape& shape = in.shape(0);
  if (shape.empty() || shape[0] != in.attributes<GroupAttributes>().size)
    in.reject_shapes("the first axis must have a place for each process of the group");
  Shape out;
  for (std::size_t i = 1; i < shape.size(); ++i) out.push_back(shape[i]);
  return out;
}

void same_shape(Inference& in) { in.output(in.dtype(0), in.shape(0)); }
void one_more_axis(Inference& in) { in.output(in.dtype(0), with_front(in.attributes<GroupAttributes>().size, in.shape(0))); }
void one_axis_less(Inference& in) { in.output(in.dtype(0), without_front(in)); }

std::size_t bytes_of(const Operand& operand) { return static_cast<std::size_t>(operand.count()) * size_of(operand.dtype); }

// Before the names of reductions whose gradients need the elements.
constexpr std::string_view nonlinear = "Nonlinear";

// "AllReduce sum of f32 (2, 3) on GPU:0, GPU:0": all must say the same.
std::string said(const KernelCall& call, const GroupAttributes& of) {
  std::string shape;
  const Operand& in = call.in(0);
  for (std::size_t i = 0; i < in.rank; ++i) shape += text(i == 0 ? "" : ", ", in.axes[i].size);
  std::string_view name = call.op->name;
  if (name.starts_with(nonlinear)) name.remove_prefix(nonlinear.size());
  std::string how;
  if (name == "AllReduce" || name == "ReduceScatter") how = text(" ", to_string(of.asked));
  if (name == "Broadcast") how = text(" from ", of.group->ranks()[static_cast<std::size_t>(of.root)]);
  const std::string where = of.line == nullptr ? std::string() : text(" on ", of.line->devices());
  return text(name, how, " of ", to_string(in.dtype), " (", shape, ")", where);
}

// A part of a collective, in the journal.
class Part {
 public:
  Part(journal::EventKind kind, const KernelCall& call, const KernelContext& context, const GroupAttributes& of) noexcept
      : event_{.kind = kind,
               .stream = context.stream != nullptr ? context.stream->id() : StreamId::none,
               .name = call.op->name.c_str(),
               .detail = of.group->name().c_str(),
               .site = call.site,
               .begin = journal::is_recording() ? now() : 0,
               .value = bytes_of(call.in(0))} {}
  ~Part() {
    if (event_.begin == 0) return;
    event_.end = now();
    journal::record(event_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  journal::Event event_;
};

// What a kernel does once all are there.
using Step = void (*)(const KernelCall& call, const GroupAttributes& of, Exchange& exchange);

template <Step step>
void meet_and_exchange(const KernelCall& call, KernelContext& context) {
  const auto of = call.attributes->as<GroupAttributes>();
  const std::string what = said(call, of);
  try {
    std::optional<Part> part(std::in_place, journal::EventKind::roll_call, call, context, of);
    of.group->roll_call(what, call.site);
    Exchange& exchange = of.line != nullptr ? of.line->exchange(of.is_on_gpu, call.site) : of.group->host_exchange(call.site);
    part.emplace(journal::EventKind::exchange, call, context, of);
    step(call, of, exchange);
  } catch (const MeetingFailed&) {
    throw;
  } catch (const Error&) {
    of.group->give_up_exchange(what, call.site);
    throw;
  }
}

void all_reduce_step(const KernelCall& call, const GroupAttributes& of, Exchange& exchange) {
  exchange.all_reduce(call.in(0).data, call.out().data, static_cast<std::size_t>(call.in(0).count()), call.in(0).dtype,
                      of.reduction, std::nullopt);
}

void broadcast_step(const KernelCall& call, const GroupAttributes& of, Exchange& exchange) {
  exchange.broadcast(call.in(0).data, call.out().data, bytes_of(call.in(0)), of.root, std::nullopt);
}

void all_gather_step(const KernelCall& call, const GroupAttributes&, Exchange& exchange) {
  exchange.all_gather(call.in(0).data, call.out().data, bytes_of(call.in(0)), std::nullopt);
}

void reduce_scatter_step(const KernelCall& call, const GroupAttributes& of, Exchange& exchange) {
  exchange.reduce_scatter(call.in(0).data, call.out().data, static_cast<std::size_t>(call.out().count()), call.in(0).dtype,
                          of.reduction, std::nullopt);
}

void all_to_all_step(const KernelCall& call, const GroupAttributes& of, Exchange& exchange) {
  exchange.all_to_all(call.in(0).data, call.out().data, bytes_of(call.in(0)) / static_cast<std::size_t>(of.size), std::nullopt);
}

// The op runs on the group's stream, whose thread may block; what it reads and writes is on the GPU. As for a copy between
// devices, the buffers know what comes before and after.
Tensor run_on_gpu(const OpCall& call, DeviceStream& stream) {
  Tensor x = call.tensor(0);
  LogicalDevice& gpu = runtime(call.site).of(x.impl().buffer()->device());
  Inference inferred(call);
  call.op.infer(inferred);
  const OutputSpec& spec = inferred.output_at(0);
  x = copy_to_device(x, gpu, call.op.name.c_str(), -1, call.site);  // contiguous
  Tensor out =
      make_dense(gpu.memory().allocate(checked_bytes(call.function(), spec.dtype, spec.shape, call.site), stream.id(), call.site),
                 spec.dtype, spec.shape);
  Launch launch(call.op, call.attributes, runtime(call.site).cpu(), call.site);
  launch.input(x.impl(), Access::read, nullptr);
  launch.output(out.impl());
  launch.submit(stream);
  return out;
}

void run_collective(OpCall& call) {
  auto of = call.attributes.as<GroupAttributes>();
  of.is_on_gpu = !call.inputs()[0].tensor->buffer()->device().memory().is_host_visible();
  call.attributes = Attributes(of);
  if (of.is_on_gpu) return call.outputs.push_back(run_on_gpu(call, of.group->stream().base()));
  const StreamScope on(of.group->stream());
  run_kernel(call);
}

Tensor call(const OpRow& op, const ProcessPlace& at, const Tensor& x, Reduction step, Reduction asked, int root, Site site) {
  OpCall made(op, site);
  made.add(x);
  made.pinned = &runtime(site).cpu();
  made.attributes = Attributes(GroupAttributes{.group = &at.group,
                                               .line = at.line,
                                               .size = static_cast<std::int64_t>(at.group.ranks().size()),
                                               .root = root,
                                               .reduction = step,
                                               .asked = asked});
  return dispatch_one(made);
}

// --- Gradients: of the sum of what all processes differentiate ---

ProcessPlace place_of(const GradientCall& call) {
  const auto of = call.as<GroupAttributes>();
  return {*of.group, of.line};
}
Tensor summed(const GradientCall& call, const Tensor& x) {
  return process_all_reduce(place_of(call), x, Reduction::sum, Reduction::sum, call.site);
}
Tensor summed_parts(const GradientCall& call, const Tensor& x) {
  return process_reduce_scatter(place_of(call), x, Reduction::sum, Reduction::sum, call.site);
}

void sum_rule(GradientCall& call) { call.give(0, summed(call, call.gradient())); }
void broadcast_rule(GradientCall& call) {
  const auto of = call.as<GroupAttributes>();
  Tensor all = summed(call, call.gradient());
  call.give(0, of.root == of.group->index() ? all : zeros_like(all, {}, call.site));
}
void gather_rule(GradientCall& call) { call.give(0, summed_parts(call, call.gradient())); }
void sum_parts_rule(GradientCall& call) { call.give(0, process_all_gather(place_of(call), call.gradient(), call.site)); }
void exchange_rule(GradientCall& call) { call.give(0, process_all_to_all(place_of(call), call.gradient(), call.site)); }

// The gradient of what all members gave, stacked along the first axis, by the rule of the reduction over that axis.
Tensor of_stacked(const GradientCall& call, const Tensor& stacked) {
  const Reduction reduction = call.as<GroupAttributes>().reduction;
  const OpRow& op = find_op(reduction == Reduction::prod ? "Prod" : reduction == Reduction::max ? "Max" : "Min");
  const Attributes over_members(ReductionAttributes{.axes = 1});
  const GradientInput input{.tensor = stacked, .number = {}, .shape = stacked.shape(), .dtype = stacked.dtype()};
  const bool is_wanted = true;
  Tensor out;
  GradientCall reduced{.op = op,
                       .site = call.site,
                       .attributes = over_members,
                       .data = nullptr,
                       .inputs = {&input, 1},
                       .outputs = call.outputs,
                       .given = call.given,
                       .wanted = {&is_wanted, 1},
                       .results = {&out, 1}};
  op.gradient.apply(reduced);
  return out;
}
void reduce_rule(GradientCall& call) {
  call.give(0, summed_parts(call, of_stacked(call, process_all_gather(place_of(call), call.input(0), call.site))));
}
void reduce_parts_rule(GradientCall& call) {
  const ProcessPlace at = place_of(call);
  call.give(0, process_all_to_all(at, of_stacked(call, process_all_to_all(at, call.input(0), call.site)), call.site));
}

constexpr GradientRule by_elements(Gradient apply) { return {.apply = apply, .reads_inputs = 1, .reads_outputs = 1}; }

template <Step step>
const OpRow& row(const char* name, const char* function, Infer infer, const GradientRule& gradient) {
  return register_op({.name = name,
                      .function = function,
                      .infer = infer,
                      .may_block = true,
                      .gradient = gradient,
                      .kind = OpKind::collective,
                      .run = run_collective},
                     {.cpu = meet_and_exchange<step>});
}

const OpRow& all_reduce_row = row<all_reduce_step>("AllReduce", "all_reduce", same_shape, {.apply = sum_rule});
const OpRow& nonlinear_all_reduce_row =
    row<all_reduce_step>("NonlinearAllReduce", "all_reduce", same_shape, by_elements(reduce_rule));
const OpRow& broadcast_row = row<broadcast_step>("Broadcast", "broadcast", same_shape, {.apply = broadcast_rule});
const OpRow& all_gather_row = row<all_gather_step>("AllGather", "all_gather", one_more_axis, {.apply = gather_rule});
const OpRow& reduce_scatter_row =
    row<reduce_scatter_step>("ReduceScatter", "reduce_scatter", one_axis_less, {.apply = sum_parts_rule});
const OpRow& nonlinear_reduce_scatter_row =
    row<reduce_scatter_step>("NonlinearReduceScatter", "reduce_scatter", one_axis_less, by_elements(reduce_parts_rule));
const OpRow& all_to_all_row = row<all_to_all_step>("AllToAll", "all_to_all", same_shape, {.apply = exchange_rule});

}  // namespace

Tensor process_all_reduce(const ProcessPlace& at, const Tensor& x, Reduction step, Reduction asked, Site site) {
  check_reduction(x.dtype(), step);
  return call(step == Reduction::sum ? all_reduce_row : nonlinear_all_reduce_row, at, x, step, asked, 0, site);
}

Tensor process_broadcast(const ProcessPlace& at, const Tensor& x, int root, Site site) {
  return call(broadcast_row, at, x, Reduction::sum, Reduction::sum, root, site);
}

Tensor process_all_gather(const ProcessPlace& at, const Tensor& x, Site site) {
  return call(all_gather_row, at, x, Reduction::sum, Reduction::sum, 0, site);
}

Tensor process_reduce_scatter(const ProcessPlace& at, const Tensor& x, Reduction step, Reduction asked, Site site) {
  check_reduction(x.dtype(), step);
  return call(step == Reduction::sum ? reduce_scatter_row : nonlinear_reduce_scatter_row, at, x, step, asked, 0, site);
}

Tensor process_all_to_all(const ProcessPlace& at, const Tensor& x, Site site) {
  return call(all_to_all_row, at, x, Reduction::sum, Reduction::sum, 0, site);
}

}  // namespace tutti::detail
