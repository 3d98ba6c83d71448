#include "tutti/kernels/cpu/elementwise.h"

#include <bit>
#include <string>

#include "tutti/base/error.h"
#include "tutti/exec/op_table.h"
#include "tutti/kernels/cpu/joint_axes.h"
#include "tutti/kernels/cpu/line_ranges.h"
#include "tutti/kernels/cpu/streaming.h"
#include "tutti/kernels/cpu/transpose.h"

namespace tutti::kernels {

namespace {

using Addresses = JointAxes::Addresses;
using Buffers = std::array<Scratch, JointAxes::most_operands>;

constexpr std::int64_t shortest_run = 32;  // elements in a row that are worth a call of their own
constexpr std::int64_t fewest_turned = 8;  // rows and columns of a matrix that is worth turning round
constexpr std::int64_t columns_at_once = 128;

// Does the op over runs: elements where every operand is contiguous or is one element.
class Runs {
 public:
  Runs(const KernelCall& call, const Elementwise& op, bool streams) : op_(op), out_(call.inputs) {
    for (std::size_t i = 0; i <= out_; ++i) sizes_[i] = static_cast<std::int64_t>(size_of(call.operands[i].dtype));
    if (streams) stream_ = copy_rows()[static_cast<std::size_t>(std::countr_zero(size_of(call.out().dtype)))].streaming;
  }

  void operator()(const Addresses& start, unsigned singles, std::int64_t n, Buffers& buffers) const {
    // A block stays in the innermost cache on its way through the steps.
    for (std::int64_t at = 0; at < n; at += block_elements) {
      const std::int64_t some = is_direct() ? n : std::min(block_elements, n - at);
      block(start, singles, at, some, buffers);
      if (is_direct()) return;
    }
  }

  // The op's loop reads the inputs and writes the output as they are.
  [[nodiscard]] bool is_direct() const noexcept { return op_.widen == nullptr && op_.narrow == nullptr && stream_ == nullptr; }

 private:
  void block(const Addresses& start, unsigned singles, std::int64_t at, std::int64_t n, Buffers& buffers) const {
    std::array<const void*, 3> inputs;
    for (std::size_t i = 0; i < out_; ++i) {
      const bool is_single = (singles >> i & 1U) != 0;
      inputs[i] = start[i] + (is_single ? 0 : at * sizes_[i]);
      if (op_.widen != nullptr) {
        op_.widen(&inputs[i], 0, buffers[i].working.data(), is_single ? 1 : static_cast<std::size_t>(n));
        inputs[i] = buffers[i].working.data();
      }
    }
    std::byte* const target = start[out_] + at * sizes_[out_];
    const auto count = static_cast<std::size_t>(n);
    Scratch& room = buffers[out_];
    std::byte* result = op_.narrow != nullptr || stream_ != nullptr ? room.working.data() : target;
    op_.row(inputs.data(), singles, result, count);
    if (op_.narrow != nullptr) {
      const void* from = result;
      result = stream_ != nullptr ? room.stored.data() : target;
      op_.narrow(&from, 0, result, count);
    }
    if (stream_ != nullptr) {
      const void* from = result;
      stream_(&from, 0, target, count);
    }
  }

  const Elementwise& op_;
  std::size_t out_;  // the output's number, after those of the inputs
  std::array<std::int64_t, JointAxes::most_operands> sizes_;
  Row stream_ = nullptr;
};

// The layout of the operands along the innermost axis.
struct Inner {
  unsigned singles = 0;  // one element for all
  unsigned swapped = 0;  // far apart, but side by side along the axis before
  bool has_runs = false;

  Inner(const KernelCall& call, const JointAxes& joint) noexcept {
    const std::size_t out = call.inputs;
    const JointAxes::Joint& inner = joint.inner();
    const auto lies_along = [&](std::size_t k, const JointAxes::Joint& axis) {
      return axis.strides[k] == static_cast<std::int64_t>(size_of(call.operands[k].dtype));
    };
    has_runs = joint.rank == 1 || inner.size >= shortest_run;
    has_runs = has_runs && (lies_along(out, inner) || inner.size == 1);
    for (std::size_t i = 0; i < out && has_runs; ++i) {
      if (inner.strides[i] == 0) {
        singles |= 1U << i;
      } else if (!lies_along(i, inner)) {
        swapped |= 1U << i;
        has_runs =
            joint.rank > 1 && lies_along(i, joint.axes[joint.rank - 2]) && joint.axes[joint.rank - 2].size >= fewest_turned;
      }
    }
  }
};

void run_rows(const JointAxes& joint, const Addresses& start, unsigned singles, const Runs& runs, std::int64_t count,
              Parallel& parallel) {
  const std::int64_t length = joint.inner().size;
  for_each_range(parallel, count, [&](std::int64_t begin, std::int64_t end) {
    Buffers buffers;
    JointAxes::Place row = joint.place(start, begin / length, joint.rank - 1);
    std::int64_t offset = begin % length;
    for (std::int64_t at = begin; at < end; offset = 0) {
      const std::int64_t n = std::min(length - offset, end - at);
      Addresses here = row.addresses;
      for (std::size_t k = 0; k < joint.operands; ++k) here[k] += offset * joint.inner().strides[k];
      runs(here, singles, n, buffers);
      joint.advance(row, joint.rank - 1);
      at += n;
    }
  });
}

// The same where the op's loop takes the operands as they are: what a row costs beside its elements is most of a short one.
void run_rows_directly(const JointAxes& joint, const Addresses& start, unsigned singles, Row op, std::int64_t count,
                       Parallel& parallel) {
  const JointAxes::Joint& inner = joint.inner();
  const JointAxes::Joint down = joint.rank > 1 ? joint.axes[joint.rank - 2] : JointAxes::Joint{};
  const std::size_t out = joint.operands - 1;
  for_each_range(parallel, count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t number = at / inner.size;
      const std::int64_t offset = at % inner.size;
      Addresses here = joint.place(start, number, joint.rank - 1).addresses;
      const bool is_part = offset != 0 || end - at < inner.size;
      const std::int64_t rows = is_part ? 1 : std::min((end - at) / inner.size, down.size - number % down.size);
      const std::int64_t length = is_part ? std::min(inner.size - offset, end - at) : inner.size;
      for (std::size_t k = 0; k < joint.operands; ++k) here[k] += offset * inner.strides[k];
      std::byte* to = here[out];
      std::array<const std::byte*, 3> inputs{here[0], here[1], here[2]};
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::array<const void*, 3> given{inputs[0], inputs[1], inputs[2]};
        op(given.data(), singles, to, static_cast<std::size_t>(length));
        for (std::size_t k = 0; k < inputs.size(); ++k) inputs[k] += down.strides[k];
        to += down.strides[out];
      }
      at += rows * length;
    }
  });
}

// In tiles of a cache line's height, so that what is read across the rows is read as whole lines.
void run_tiles(const KernelCall& call, const JointAxes& joint, const Addresses& start, const Inner& inner, const Runs& runs,
               std::int64_t count, Parallel& parallel) {
  const std::int64_t width = joint.inner().size;
  const JointAxes::Joint& down = joint.axes[joint.rank - 2];
  std::int64_t size = 1;
  for (std::size_t i = 0; i < call.inputs; ++i) {
    if ((inner.swapped >> i & 1U) != 0) size = std::max(size, static_cast<std::int64_t>(size_of(call.in(i).dtype)));
  }
  const std::int64_t height = line_bytes / size;
  const std::int64_t bands = (down.size + height - 1) / height;
  const auto run_tile = [&](const Addresses& corner, std::int64_t rows, std::int64_t columns, Buffers& buffers) {
    alignas(line_bytes) std::array<std::array<std::byte, line_bytes * columns_at_once>, 3> transposed;
    for (std::size_t i = 0; i < call.inputs; ++i) {
      if ((inner.swapped >> i & 1U) == 0) continue;
      const std::size_t element = size_of(call.in(i).dtype);
      transpose(element, corner[i], joint.inner().strides[i] / static_cast<std::int64_t>(element), transposed[i].data(), columns,
                0, rows);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      Addresses here = corner;
      for (std::size_t k = 0; k < joint.operands; ++k) {
        const bool is_swapped = (inner.swapped >> k & 1U) != 0;
        here[k] = is_swapped ? transposed[k].data() + row * columns * down.strides[k] : corner[k] + row * down.strides[k];
      }
      runs(here, inner.singles, columns, buffers);
    }
  };
  for_each_lines(parallel, count / (down.size * width) * bands, count, [&](std::int64_t begin, std::int64_t end) {
    Buffers buffers;
    for (std::int64_t band = begin; band < end; ++band) {
      Addresses corner = joint.place(start, band / bands, joint.rank - 2).addresses;
      const std::int64_t row = band % bands * height;
      for (std::size_t k = 0; k < joint.operands; ++k) corner[k] += row * down.strides[k];
      for (std::int64_t column = 0; column < width; column += columns_at_once) {
        run_tile(corner, std::min(height, down.size - row), std::min(columns_at_once, width - column), buffers);
        for (std::size_t k = 0; k < joint.operands; ++k) corner[k] += columns_at_once * joint.inner().strides[k];
      }
    }
  });
}

// Any strides: every operand is read and written a block at a time.
void run_blocks(const KernelCall& call, const Elementwise& op, std::int64_t count, Parallel& parallel) {
  const std::size_t n_inputs = call.inputs;
  const Writer writer(call.out(), op.narrow);
  std::array<Reader, 3> readers;
  unsigned singles = 0;
  for (std::size_t i = 0; i < n_inputs; ++i) {
    readers[i] = Reader(call.in(i), op.widen, sizeof(float));  // of i32 too
    if (readers[i].layout().is_single()) singles |= 1U << i;
  }
  for_each_range(parallel, count, [&](std::int64_t begin, std::int64_t end) {
    Buffers scratch;
    std::array<const void*, 3> inputs;
    for (std::size_t i = 0; i < n_inputs; ++i) {
      if ((singles >> i & 1U) != 0) inputs[i] = readers[i].read(0, 1, scratch[i]);
    }
    for (std::int64_t at = begin; at < end; at += block_elements) {
      const std::int64_t n = std::min(block_elements, end - at);
      for (std::size_t i = 0; i < n_inputs; ++i) {
        if ((singles >> i & 1U) == 0) inputs[i] = readers[i].read(at, n, scratch[i]);
      }
      std::byte* room = writer.room(at, n, scratch[3]);
      op.row(inputs.data(), singles, room, static_cast<std::size_t>(n));
      writer.write(at, n, room, scratch[3]);
    }
  });
}

}  // namespace

static void run_in_ranges(const KernelCall& call, KernelContext& context, const Elementwise& op) {
  const JointAxes joint(call);
  const Inner inner(call, joint);
  const std::int64_t count = call.out().count();
  if (!inner.has_runs) return run_blocks(call, op, count, context.parallel);
  Addresses start{};
  bool in_place = false;
  std::int64_t touched = 0;
  for (std::size_t k = 0; k < joint.operands; ++k) {
    start[k] = call.operands[k].data;
    in_place = in_place || (k < call.inputs && start[k] == call.out().data);
    auto bytes = static_cast<std::int64_t>(size_of(call.operands[k].dtype));
    for (std::size_t i = 0; i < joint.rank; ++i) bytes *= joint.axes[i].strides[k] == 0 ? 1 : joint.axes[i].size;
    touched += bytes;
  }
  const Runs runs(call, op, !in_place && pays_to_stream(touched));
  if (inner.swapped != 0) return run_tiles(call, joint, start, inner, runs, count, context.parallel);
  if (runs.is_direct()) return run_rows_directly(joint, start, inner.singles, op.row, count, context.parallel);
  run_rows(joint, start, inner.singles, runs, count, context.parallel);
}

void run_elementwise(const KernelCall& call, KernelContext& context, const Elementwise& op) {
  const Operand& out = call.out();
  const std::int64_t count = out.count();
  if (count < serial_elements && op.widen == nullptr && op.narrow == nullptr && out.is_dense()) {
    std::array<const void*, 3> inputs;
    unsigned singles = 0;
    bool direct = true;
    for (std::size_t i = 0; i < call.inputs; ++i) {
      const Operand& in = call.in(i);
      inputs[i] = in.data;
      if (!in.is_immediate && in.is_dense()) continue;
      direct = direct && in.is_single();
      singles |= 1U << i;
    }
    if (direct) {
      op.row(inputs.data(), singles, out.data, static_cast<std::size_t>(count));
      return;
    }
  }
  if (count > 0) run_in_ranges(call, context, op);
}

void run_elementwise(const KernelCall& call, KernelContext& context, const ElementwiseByDType& ops) {
  const DType dtype = call.in(0).dtype;
  const Elementwise& op = ops[static_cast<std::size_t>(dtype)];
  if (op.row == nullptr) refuse_dtype(call.op->function.c_str(), dtype, call.site);
  run_elementwise(call, context, op);
}

ElementwiseByDType elementwise_by_dtype(const std::array<Row, dtype_count>& rows, bool gives_bool) {
  ElementwiseByDType all;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    const DType working = working_dtype(dtype);
    all[i].row = rows[i] != nullptr ? rows[i] : rows[static_cast<std::size_t>(working)];
    if (rows[i] != nullptr || all[i].row == nullptr) continue;
    all[i].widen = conversion(dtype, working);
    if (!gives_bool) all[i].narrow = conversion(working, dtype);
  }
  return all;
}

void refuse_dtype(const char* op, DType dtype, Site site) {
  const std::string name(to_string(dtype));
  throw KernelFailed(std::string(op) + " has no CPU kernel for " + name + "; cast the input first", site);
}

}  // namespace tutti::kernels
