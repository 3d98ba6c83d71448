#include "tutti/mesh/process_collectives.h"

#include <cstring>

#include "tutti/base/text.h"
#include "tutti/exec/executor.h"
#include "tutti/mesh/engines/fold.h"
#include "tutti/place/runtime.h"

namespace tutti::detail {

namespace {

struct GroupAttributes {
  ProcessGroup* group;
  std::int64_t size;
  std::int32_t root;
  Reduction reduction;
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

// "AllReduce sum of f32 (2, 3)": all must say the same.
std::string said(const KernelCall& call, const GroupAttributes& of) {
  std::string shape;
  const Operand& in = call.in(0);
  for (std::size_t i = 0; i < in.rank; ++i) shape += text(i == 0 ? "" : ", ", in.axes[i].size);
  std::string how;
  if (call.op->name == "AllReduce" || call.op->name == "ReduceScatter") how = text(" ", to_string(of.reduction));
  if (call.op->name == "Broadcast") how = text(" from ", of.group->ranks()[static_cast<std::size_t>(of.root)]);
  return text(call.op->name, how, " of ", to_string(in.dtype), " (", shape, ")");
}

Exchange& settled(const KernelCall& call, const GroupAttributes& of) { return of.group->roll_call(said(call, of), call.site); }

const OpRow& row(const char* name, Infer infer, Kernel kernel) {
  return register_op({.name = name, .infer = infer, .may_block = true, .wants_dense = true}, {.cpu = kernel});
}

const OpRow& all_reduce_row() {
  static const OpRow& made = row("AllReduce", same_shape, [](const KernelCall& call, KernelContext&) {
    const auto of = call.attributes->as<GroupAttributes>();
    settled(call, of).all_reduce(call.in(0).data, call.out().data, static_cast<std::size_t>(call.in(0).count()), call.in(0).dtype,
                                 of.reduction, std::nullopt);
  });
  return made;
}

const OpRow& broadcast_row() {
  static const OpRow& made = row("Broadcast", same_shape, [](const KernelCall& call, KernelContext&) {
    const auto of = call.attributes->as<GroupAttributes>();
    Exchange& exchange = settled(call, of);
    if (exchange.index() == of.root) std::memcpy(call.out().data, call.in(0).data, bytes_of(call.in(0)));
    exchange.broadcast(call.out().data, bytes_of(call.in(0)), of.root, std::nullopt);
  });
  return made;
}

const OpRow& all_gather_row() {
  static const OpRow& made = row("AllGather", one_more_axis, [](const KernelCall& call, KernelContext&) {
    settled(call, call.attributes->as<GroupAttributes>())
        .all_gather(call.in(0).data, call.out().data, bytes_of(call.in(0)), std::nullopt);
  });
  return made;
}

const OpRow& reduce_scatter_row() {
  static const OpRow& made = row("ReduceScatter", one_axis_less, [](const KernelCall& call, KernelContext&) {
    const auto of = call.attributes->as<GroupAttributes>();
    settled(call, of).reduce_scatter(call.in(0).data, call.out().data, static_cast<std::size_t>(call.out().count()),
                                     call.in(0).dtype, of.reduction, std::nullopt);
  });
  return made;
}

const OpRow& all_to_all_row() {
  static const OpRow& made = row("AllToAll", same_shape, [](const KernelCall& call, KernelContext&) {
    const auto of = call.attributes->as<GroupAttributes>();
    settled(call, of).all_to_all(call.in(0).data, call.out().data, bytes_of(call.in(0)) / static_cast<std::size_t>(of.size),
                                 std::nullopt);
  });
  return made;
}

Tensor call(const OpRow& op, ProcessGroup& group, const Tensor& x, Reduction reduction, int root, Site site) {
  OpCall made(op, site);
  made.add(x);
  made.pinned = &runtime(site).cpu();
  made.attributes = Attributes(GroupAttributes{
      .group = &group, .size = static_cast<std::int64_t>(group.ranks().size()), .root = root, .reduction = reduction});
  const StreamScope on(group.stream());
  execute(made);
  return made.outputs[0];
}

}  // namespace

Tensor process_all_reduce(ProcessGroup& group, const Tensor& x, Reduction reduction, Site site) {
  check_reduction(x.dtype(), reduction);
  return call(all_reduce_row(), group, x, reduction, 0, site);
}

Tensor process_broadcast(ProcessGroup& group, const Tensor& x, int root, Site site) {
  return call(broadcast_row(), group, x, Reduction::sum, root, site);
}

Tensor process_all_gather(ProcessGroup& group, const Tensor& x, Site site) {
  return call(all_gather_row(), group, x, Reduction::sum, 0, site);
}

Tensor process_reduce_scatter(ProcessGroup& group, const Tensor& x, Reduction reduction, Site site) {
  check_reduction(x.dtype(), reduction);
  return call(reduce_scatter_row(), group, x, reduction, 0, site);
}

Tensor process_all_to_all(ProcessGroup& group, const Tensor& x, Site site) {
  return call(all_to_all_row(), group, x, Reduction::sum, 0, site);
}

}  // namespace tutti::detail
