#include <algorithm>
#include <cstring>
#include <memory>

#include "tutti/base/error.h"
#include "tutti/exec/attributes.h"
#include "tutti/exec/index_message.h"
#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

namespace {

// The indices in row order, counted from the front, all known to be in range.
class Indices {
 public:
  Indices(const Operand& indices, std::int64_t axis, std::int64_t size, Site site) : count_(indices.count()) {
    if (indices.dtype != DType::i32 && indices.dtype != DType::i64) refuse_dtype("GatherV2 with indices", indices.dtype, site);
    const Reader reader(indices, DType::i64);
    if (reader.layout().is_dense() && !reader.converts()) {
      data_ = indices.as<std::int64_t>();
    } else {
      copy(reader);
    }
    // The sign bit of `wrong` ends up set if any index is above size - 1 or below -size.
    std::uint64_t wrong = 0;
    std::uint64_t signs = 0;
    const auto end = static_cast<std::uint64_t>(size);
    for (std::int64_t i = 0; i < count_; ++i) {
      const auto index = static_cast<std::uint64_t>(data_[i]);
      wrong |= (end - 1 - index) | (index + end);
      signs |= index;
    }
    if (wrong >> 63U != 0) refuse(axis, size, site);
    if (signs >> 63U == 0) return;
    if (own_ == nullptr) copy(reader);
    for (std::int64_t i = 0; i < count_; ++i) own_[i] += own_[i] < 0 ? size : 0;
  }
  [[nodiscard]] const std::int64_t* data() const { return data_; }
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  void copy(const Reader& reader) {
    own_ = std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(count_));
    reader.read_into(0, count_, reinterpret_cast<std::byte*>(own_.get()));
    data_ = own_.get();
  }
  [[noreturn]] void refuse(std::int64_t axis, std::int64_t size, Site site) const {
    const std::int64_t* wrong = std::find_if(data_, data_ + count_, [size](std::int64_t i) { return i < -size || i >= size; });
    throw KernelFailed(index_out_of_range(*wrong, axis, size), site);
  }

  std::int64_t count_;
  const std::int64_t* data_ = nullptr;
  std::unique_ptr<std::int64_t[]> own_;
};

// The axes first ... last - 1 of an operand as one of its own.
Operand part(const Operand& operand, std::size_t first, std::size_t last) {
  Operand some = operand;
  some.rank = static_cast<std::uint8_t>(last - first);
  std::copy(operand.axes.begin() + static_cast<std::ptrdiff_t>(first), operand.axes.begin() + static_cast<std::ptrdiff_t>(last),
            some.axes.begin());
  return some;
}

// How far, in bytes, element i of the axes lies from the first.
std::int64_t offset_of(const Operand& axes, std::int64_t i) {
  std::int64_t offset = 0;
  for (std::size_t axis = axes.rank; axis-- > 0;) {
    offset += i % axes.axes[axis].size * axes.axes[axis].stride;
    i /= axes.axes[axis].size;
  }
  return offset * static_cast<std::int64_t>(size_of(axes.dtype));
}

template <class U>
void pick(const std::byte* from, std::int64_t stride, const std::int64_t* indices, std::int64_t n, std::byte* to) {
  const U* source = reinterpret_cast<const U*>(from);
  U* target = reinterpret_cast<U*>(to);
  for (std::int64_t i = 0; i < n; ++i) target[i] = source[indices[i] * stride];
}

void pick_elements(const std::byte* from, std::int64_t stride, const std::int64_t* indices, std::int64_t n, std::byte* to,
                   std::size_t size) {
  switch (size) {
    case 1: return pick<std::uint8_t>(from, stride, indices, n, to);
    case 2: return pick<std::uint16_t>(from, stride, indices, n, to);
    case 4: return pick<std::uint32_t>(from, stride, indices, n, to);
    default: return pick<std::uint64_t>(from, stride, indices, n, to);
  }
}

}  // namespace

// The output is outer x indices x inner, where x is outer x size x inner; one slice of `inner` is copied at a time.
static void take(const KernelCall& call, KernelContext& context) {
  const Operand& x = call.in(0);
  const Operand& out = call.out();
  const auto axis = static_cast<std::size_t>(call.attributes->as<TakeAttributes>().axis);
  const auto size = static_cast<std::int64_t>(size_of(x.dtype));
  const Axis along = x.axes[axis];
  const Indices indices(call.in(1), static_cast<std::int64_t>(axis), along.size, call.site);
  const std::size_t index_end = axis + call.in(1).rank;
  const Operand outer = part(x, 0, axis);
  const Operand inner = part(x, axis + 1, x.rank);
  const Operand out_slices = part(out, 0, index_end);
  const Operand out_inner = part(out, index_end, out.rank);
  const auto n_indices = indices.count();
  const std::int64_t slice = inner.count();
  const std::int64_t slices = outer.count() * n_indices;
  if (slice == 0 || slices == 0) return;
  const Layout to(out);
  const Layout from_slice(inner);
  const Layout to_slice(out_inner);
  const bool by_element = slice == 1 && to.is_dense();
  const bool side_by_side = from_slice.is_dense() && to_slice.is_dense();
  const auto copy_slices = [&](std::int64_t begin, std::int64_t end) {
    if (by_element) {
      for (std::int64_t at = begin; at < end;) {
        const std::int64_t first = at % n_indices;
        const std::int64_t n = std::min(n_indices - first, end - at);
        pick_elements(x.data + offset_of(outer, at / n_indices), along.stride, indices.data() + first, n, out.data + at * size,
                      static_cast<std::size_t>(size));
        at += n;
      }
      return;
    }
    alignas(64) std::array<std::byte, block_elements * 8> block;
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t index = indices.data()[at % n_indices];
      const std::byte* source = x.data + offset_of(outer, at / n_indices) + index * along.stride * size;
      std::byte* target = to.is_dense() ? out.data + at * slice * size : out.data + offset_of(out_slices, at);
      if (side_by_side) {
        std::memcpy(target, source, static_cast<std::size_t>(slice * size));
        continue;
      }
      Operand from_here = inner;
      from_here.data = const_cast<std::byte*>(source);
      Operand to_here = out_inner;
      to_here.data = target;
      const Layout one(from_here);
      const Layout other(to_here);
      for (std::int64_t i = 0; i < slice; i += block_elements) {
        const std::int64_t n = std::min(block_elements, slice - i);
        one.gather(i, n, block.data());
        other.scatter(i, n, block.data());
      }
    }
  };
  const auto width = static_cast<std::int64_t>(context.parallel.width());
  if (slices * slice < serial_elements || width == 1 || slices == 1) {
    copy_slices(0, slices);
    return;
  }
  const std::int64_t chunks = std::min(slices, width * 4);
  context.parallel.for_each_chunk(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
    const auto i = static_cast<std::int64_t>(chunk);
    copy_slices(slices * i / chunks, slices * (i + 1) / chunks);
  });
}

[[maybe_unused]] static const bool is_registered = register_host_kernel("GatherV2", take);

}  // namespace tutti::kernels
