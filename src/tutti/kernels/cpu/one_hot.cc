#include <algorithm>
#include <cstring>

#include "tutti/base/error.h"
#include "tutti/exec/index_message.h"
#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cpu/lines.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

template <class U, class Index>
void one_hot_as(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<OneHotAttributes>();
  const Index* indices = call.in(0).as<Index>();
  U* out = call.out().as<U>();
  const std::int64_t depth = attributes.depth;
  const std::int64_t lines = call.in(0).count();
  U on;
  U off;
  std::memcpy(&on, attributes.on.data(), sizeof on);
  std::memcpy(&off, attributes.off.data(), sizeof off);
  for_each_lines(context.parallel, lines, lines * depth, [&](std::int64_t begin, std::int64_t end) {
    std::fill(out + begin * depth, out + end * depth, off);
    for (std::int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<std::int64_t>(indices[i]);
      if (index < 0 || index >= depth) throw KernelFailed(index_out_of_range(index, call.out().rank - 1, depth), call.site);
      out[i * depth + index] = on;
    }
  });
}

}  // namespace

static void one_hot(const KernelCall& call, KernelContext& context) {
  visit_size(size_of(call.out().dtype), [&]<class U>(U) {
    visit_dtype<index_dtypes>(call.in(0).dtype, [&]<class Index>(Index) { one_hot_as<U, Index>(call, context); });
  });
}

[[maybe_unused]] static const bool one_hot_is_registered = register_host_kernel("OneHot", one_hot, index_dtypes);

}  // namespace tutti::kernels
