// Convolutions and their gradients: by a plan of cuDNN's, or, where it has none, by a kernel of our own or products of matrices.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "tutti/backends/cuda/context.h"
#include "tutti/base/error.h"
#include "tutti/exec/op_call.h"
#include "tutti/exec/op_table.h"
#include "tutti/kernels/cuda/columns.h"
#include "tutti/kernels/cuda/convolution_plan.h"
#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/direct_convolution.h"
#include "tutti/kernels/cuda/library_product.h"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

constexpr std::int64_t most_column_bytes = std::int64_t{256} << 20U;
constexpr std::int64_t product_workspace = std::int64_t{32} << 20U;
constexpr std::int64_t scratch_alignment = 256;

std::int64_t padded_bytes(std::int64_t bytes) { return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment; }

// Which operand is what. Inputs first, then the output.
struct Roles {
  std::size_t images;
  std::size_t weight;
  std::size_t outputs;
};
constexpr Roles roles_of(ConvolutionPart part) {
  if (part == ConvolutionPart::of_images) return {2, 0, 1};
  if (part == ConvolutionPart::of_weight) return {0, 2, 1};
  return {0, 1, 2};
}

// The sizes behind a call; with channels in front where the fallback copies them there.
struct Sizes {
  ConvolutionAttributes attributes;
  std::int64_t images;
  std::int64_t channels_in;  // of all groups
  std::int64_t channels_out;
  DType dtype;

  [[nodiscard]] std::int64_t element_bytes() const { return static_cast<std::int64_t>(size_of(dtype)); }
  [[nodiscard]] std::int64_t taps() const {
    return channels_in / attributes.groups * attributes.window.y.kernel * attributes.window.x.kernel;
  }
  [[nodiscard]] std::int64_t places() const { return attributes.window.y.outputs * attributes.window.x.outputs; }
  [[nodiscard]] std::int64_t area() const { return attributes.window.y.size * attributes.window.x.size; }
  [[nodiscard]] std::int64_t image_elements() const { return channels_in * area(); }
  [[nodiscard]] std::int64_t output_elements() const { return channels_out * places(); }
  [[nodiscard]] std::int64_t weight_elements() const { return channels_out * taps(); }
  [[nodiscard]] bool is_empty() const { return images * image_elements() * output_elements() * taps() == 0; }
  [[nodiscard]] bool has_columns() const {
    const auto is_plain = [](const WindowAxis& axis) { return axis.kernel == 1 && axis.stride == 1 && axis.padding == 0; };
    return !is_plain(attributes.window.y) || !is_plain(attributes.window.x);
  }
  // Channels last and single pixels: the places of all images are the rows of one matrix.
  [[nodiscard]] bool is_one_product() const {
    return attributes.window.channels_last && !has_columns() && attributes.groups == 1 &&
           images * places() <= std::numeric_limits<std::int32_t>::max();
  }
  [[nodiscard]] std::int64_t column_bytes() const {
    return has_columns() ? attributes.groups * taps() * places() * element_bytes() : 0;
  }
  // Images whose columns, or parts of the weight's gradient, are there at once.
  [[nodiscard]] std::int64_t at_once(ConvolutionPart part) const {
    const std::int64_t bytes =
        std::max(column_bytes(), part == ConvolutionPart::of_weight ? weight_elements() * element_bytes() : 0);
    return bytes == 0 ? images : std::clamp<std::int64_t>(most_column_bytes / bytes, 1, images);
  }
  [[nodiscard]] bool is_direct(ConvolutionPart part) const {
    constexpr std::int64_t shortest_line = 16;
    constexpr std::int64_t little = 64 * 1024;
    return part == ConvolutionPart::forward && wide_floats.contains(dtype) && has_columns() &&
           (attributes.window.x.outputs >= shortest_line || images * image_elements() <= little);
  }
};

// What our own way works in: copies with channels in front, columns, parts of the weight's gradient, and the products' own.
struct Room {
  std::int64_t copies = 0;
  std::int64_t columns = 0;
  std::int64_t parts = 0;
  std::int64_t products = 0;

  Room(const Sizes& sizes, ConvolutionPart part) {
    if (sizes.is_one_product()) {
      products = product_workspace;
      return;
    }
    if (sizes.attributes.window.channels_last) {
      const std::int64_t elements = sizes.images * (sizes.image_elements() + sizes.output_elements()) + sizes.weight_elements();
      copies = padded_bytes(elements * sizes.element_bytes()) + 2 * scratch_alignment;
    }
    if (sizes.is_direct(part)) return;
    columns = padded_bytes(sizes.at_once(part) * sizes.column_bytes());
    if (part == ConvolutionPart::of_weight)
      parts = padded_bytes(sizes.at_once(part) * sizes.weight_elements() * sizes.element_bytes());
    products = product_workspace;
  }
  [[nodiscard]] std::int64_t bytes() const { return copies + columns + parts + products; }
};

// A product for every image and group: the longer of the two at once, the other one by one.
struct Steps {
  std::int64_t a;
  std::int64_t b;
  std::int64_t c;
};
void for_each_pair(LibraryProduct product, const ProductAddresses& first, std::int64_t images, const Steps& image,
                   std::int64_t groups, const Steps& group, Queue& queue, const KernelCall& call) {
  const bool by_image = images >= groups;
  const Steps& inner = by_image ? image : group;
  const Steps& outer = by_image ? group : image;
  const auto size = static_cast<std::int64_t>(size_of(product.dtype));
  product.batch = static_cast<std::int32_t>(by_image ? images : groups);
  product.a_step = inner.a;
  product.b_step = inner.b;
  product.c_step = inner.c;
  for (std::int64_t i = 0; i < (by_image ? groups : images); ++i) {
    multiply(product, {first.a + i * outer.a * size, first.b + i * outer.b * size, first.c + i * outer.c * size, first.workspace},
             queue, call);
  }
}

// All operands dense, channels in front.
void run_products(const Sizes& sizes, ConvolutionPart part, std::byte* images, std::byte* weight, std::byte* outputs,
                  std::byte* scratch, Queue& queue, const KernelCall& call) {
  const WindowAttributes& window = sizes.attributes.window;
  const std::int64_t groups = sizes.attributes.groups;
  const std::int64_t out = sizes.channels_out / groups;
  const std::int64_t taps = sizes.taps();
  const std::int64_t places = sizes.places();
  const std::int64_t size = sizes.element_bytes();
  const Room room(sizes, part);
  std::byte* const made = scratch;
  std::byte* const parts = made + room.columns;
  std::byte* const workspace = parts + room.parts;
  LibraryProduct product;
  product.workspace = room.products;
  product.ordinal = queue.properties().ordinal;
  product.dtype = sizes.dtype;
  product.tf32 = sizes.dtype == DType::f32 && sizes.attributes.tf32;
  const Steps of_group{out * taps, taps * places, out * places};  // of weight, columns and outputs
  const Steps of_image{0, groups * of_group.b, groups * of_group.c};
  for (std::int64_t first = 0; first < sizes.images; first += sizes.at_once(part)) {
    const std::int64_t count = std::min(sizes.at_once(part), sizes.images - first);
    std::byte* const x = images + first * sizes.image_elements() * size;
    std::byte* const y = outputs + first * sizes.output_elements() * size;
    std::byte* const columns = sizes.has_columns() ? made : x;
    if (part != ConvolutionPart::of_images && sizes.has_columns())
      unfold(x, columns, window, count * sizes.channels_in, sizes.dtype, queue, call);
    if (part == ConvolutionPart::forward) {  // weight @ columns
      product.m = out;
      product.n = places;
      product.k = taps;
      product.a_lead = taps;
      product.b_lead = product.c_lead = places;
      for_each_pair(product, {weight, columns, y, workspace}, count, of_image, groups, of_group, queue, call);
    } else if (part == ConvolutionPart::of_images) {  // weight^T @ outputs
      product.m = taps;
      product.n = places;
      product.k = out;
      product.a_lead = taps;
      product.a_by_columns = true;
      product.b_lead = product.c_lead = places;
      for_each_pair(product, {weight, y, columns, workspace}, count, {0, of_image.c, of_image.b}, groups,
                    {of_group.a, of_group.c, of_group.b}, queue, call);
      if (sizes.has_columns()) fold(columns, x, window, count * sizes.channels_in, sizes.dtype, queue, call);
    } else {  // outputs @ columns^T, added up over the images
      product.m = out;
      product.n = taps;
      product.k = places;
      product.a_lead = product.b_lead = places;
      product.b_by_columns = true;
      product.c_lead = taps;
      for_each_pair(product, {y, columns, parts, workspace}, count, {of_image.c, of_image.b, sizes.weight_elements()}, groups,
                    {of_group.c, of_group.b, of_group.a}, queue, call);
      add_parts(parts, count, weight, sizes.weight_elements(), first == 0, sizes.dtype, queue, call);
    }
  }
}

// Rows are places: outputs = images @ weight^T, of images = outputs @ weight, of weight = outputs^T @ images.
void run_one_product(const Sizes& sizes, ConvolutionPart part, const KernelCall& call, Queue& queue) {
  const Roles roles = roles_of(part);
  std::byte* const images = call.operands[roles.images].data;
  std::byte* const weight = call.operands[roles.weight].data;
  std::byte* const outputs = call.operands[roles.outputs].data;
  const std::int64_t rows = sizes.images * sizes.places();
  const std::int64_t in = sizes.channels_in;
  const std::int64_t out = sizes.channels_out;
  LibraryProduct product;
  product.workspace = product_workspace;
  product.ordinal = queue.properties().ordinal;
  product.dtype = sizes.dtype;
  product.tf32 = sizes.dtype == DType::f32 && sizes.attributes.tf32;
  std::byte* const scratch = call.scratch().data;
  const auto run = [&](std::int64_t m, std::int64_t n, std::int64_t k, const ProductAddresses& at) {
    product.m = m;
    product.n = n;
    product.k = k;
    product.c_lead = n;
    multiply(product, at, queue, call);
  };
  if (part == ConvolutionPart::forward) {
    product.a_lead = product.b_lead = in;
    product.b_by_columns = true;
    run(rows, out, in, {images, weight, outputs, scratch});
  } else if (part == ConvolutionPart::of_images) {
    product.a_lead = out;
    product.b_lead = in;
    run(rows, in, out, {outputs, weight, images, scratch});
  } else {
    product.a_lead = out;
    product.a_by_columns = true;
    product.b_lead = in;
    run(out, in, rows, {outputs, images, weight, scratch});
  }
}

// The same elements with channels in front, in scratch memory.
Operand with_channels_first(const Operand& from, std::byte*& scratch) {
  Operand to = from;
  to.data = scratch;
  to.axes[1] = from.axes[3];
  to.axes[2] = from.axes[1];
  to.axes[3] = from.axes[2];
  std::int64_t stride = 1;
  for (std::size_t i = 4; i-- > 0;) {
    to.axes[i].stride = stride;
    stride *= to.axes[i].size;
  }
  scratch += padded_bytes(stride * static_cast<std::int64_t>(size_of(from.dtype)));
  return to;
}
// The axes of an operand with channels last, channels in front.
Operand seen_from_channels(Operand operand) {
  const Axis channels = operand.axes[3];
  operand.axes[3] = operand.axes[2];
  operand.axes[2] = operand.axes[1];
  operand.axes[1] = channels;
  return operand;
}

void run_own(const Sizes& sizes, ConvolutionPart part, const KernelCall& call, Queue& queue) {
  if (sizes.is_one_product()) return run_one_product(sizes, part, call, queue);
  std::byte* scratch = call.scratch().data;
  std::array<Operand, 3> operands{call.operands[0], call.operands[1], call.operands[2]};
  const bool is_last = sizes.attributes.window.channels_last;
  if (is_last) {
    for (std::size_t i = 0; i < 3; ++i) {
      operands[i] = with_channels_first(call.operands[i], scratch);
      if (i < 2) copy_operand(seen_from_channels(call.operands[i]), operands[i], queue, call);
    }
    scratch = call.scratch().data + Room(sizes, part).copies;
  }
  if (sizes.is_direct(part)) {
    ConvolutionAttributes plain = sizes.attributes;
    plain.window.channels_last = false;
    const Attributes attributes(plain);
    KernelCall direct = call;
    direct.operands = operands.data();
    direct.attributes = &attributes;
    convolve_directly(direct, queue);
  } else {
    const Roles roles = roles_of(part);
    run_products(sizes, part, operands[roles.images].data, operands[roles.weight].data, operands[roles.outputs].data, scratch,
                 queue, call);
  }
  if (is_last) copy_operand(operands[2], seen_from_channels(call.operands[2]), queue, call);
}

ConvolutionKey convolution_key(const Sizes& sizes, ConvolutionPart part, std::uintptr_t addresses, int ordinal) {
  return {sizes.attributes,
          sizes.images,
          sizes.channels_in,
          sizes.channels_out,
          static_cast<std::int64_t>(1) << std::min(4, std::countr_zero(addresses | 16U)),
          ordinal,
          sizes.dtype,
          part};
}

// The output comes from our own pool, which aligns by more than anyone asks for.
std::shared_ptr<const CudnnPlan> plan_for(const Sizes& sizes, ConvolutionPart part, std::uintptr_t addresses, int ordinal,
                                          Site site) {
  if (sizes.dtype == DType::f64 || sizes.is_empty()) return nullptr;
  // Single pixels in f32 are products of matrices, which cuBLASLt is better at.
  const bool is_exact = sizes.dtype == DType::f32 && !sizes.attributes.tf32;
  if (is_exact && !sizes.has_columns() && sizes.attributes.groups == 1) return nullptr;
  return convolution_plan(convolution_key(sizes, part, addresses, ordinal), site);
}

Sizes sizes_of(const ConvolutionAttributes& attributes, ConvolutionPart part, const auto& size_of_axis, DType dtype) {
  const Roles roles = roles_of(part);
  const std::size_t channels = ImageAxes(attributes.window.channels_last).channels;
  const std::size_t with_images = part == ConvolutionPart::of_images ? roles.outputs : roles.images;
  const std::int64_t in = part == ConvolutionPart::of_images ? size_of_axis(roles.weight, channels) * attributes.groups
                                                             : size_of_axis(roles.images, channels);
  const std::int64_t out =
      part == ConvolutionPart::forward ? size_of_axis(roles.weight, 0) : size_of_axis(roles.outputs, channels);
  return {attributes, size_of_axis(with_images, 0), in, out, dtype};
}

template <ConvolutionPart part>
Sizes sizes_in(const KernelCall& call) {
  return sizes_of(
      call.attributes->as<ConvolutionAttributes>(), part,
      [&](std::size_t i, std::size_t axis) { return call.operands[i].axes[axis].size; }, call.out().dtype);
}
std::uintptr_t addresses_of(const KernelCall& call) {
  return reinterpret_cast<std::uintptr_t>(call.in(0).data) | reinterpret_cast<std::uintptr_t>(call.in(1).data);
}

template <ConvolutionPart part>
std::int64_t convolution_bytes(const OpCall& call, const Inference&) {
  const TensorImpl& first = *call.inputs()[0].tensor;
  const TensorImpl& second = *call.inputs()[1].tensor;
  const Sizes sizes = sizes_of(
      call.attributes.as<ConvolutionAttributes>(), part,
      [&](std::size_t i, std::size_t axis) { return (i == 0 ? first : second).shape()[axis]; }, first.dtype());
  if (sizes.is_empty()) return 0;
  const int ordinal = static_cast<int>(first.buffer()->device().physical().ordinal);
  tutti::cuda::Context::of(ordinal).enter(call.site);
  const std::uintptr_t addresses =
      reinterpret_cast<std::uintptr_t>(first.kernel_address()) | reinterpret_cast<std::uintptr_t>(second.kernel_address());
  const std::shared_ptr<const CudnnPlan> plan = plan_for(sizes, part, addresses, ordinal, call.site);
  return plan != nullptr ? plan->workspace_bytes() : Room(sizes, part).bytes();
}

struct Bound {
  std::array<std::int64_t, 3> uids;
  std::array<void*, 3> pointers;
};
template <ConvolutionPart part>
Bound bound(const KernelCall& call) {
  constexpr Roles roles = roles_of(part);
  return {{images_uid, weight_uid, outputs_uid},
          {call.operands[roles.images].data, call.operands[roles.weight].data, call.operands[roles.outputs].data}};
}

void* workspace_of(const CudnnPlan& plan, const KernelCall& call) {
  if (plan.workspace_bytes() == 0) return nullptr;
  const ScratchMemory scratch = call.scratch();
  // A plan that made room for others since it was asked is chosen again, and the clock may choose otherwise.
  if (scratch.bytes < plan.workspace_bytes())
    throw KernelFailed("the plan of this convolution was dropped for others and made anew; call it again", call.site);
  return scratch.data;
}

template <ConvolutionPart part>
void convolution(const KernelCall& call, KernelContext& context) {
  (void)device_input(call, 0);
  (void)device_input(call, 1);
  Queue& queue = queue_of(context);
  const Sizes sizes = sizes_in<part>(call);
  if (call.out().count() == 0) return;
  if (sizes.is_empty()) {  // sums of nothing
    const std::size_t bytes = static_cast<std::size_t>(call.out().count()) * size_of(call.out().dtype);
    return check(cudaMemsetAsync(call.out().data, 0, bytes, queue.stream()), "filling with zeros", call);
  }
  const auto plan = plan_for(sizes, part, addresses_of(call), queue.properties().ordinal, call.site);
  if (plan == nullptr) return run_own(sizes, part, call, queue);
  const Bound operands = bound<part>(call);
  plan->run(operands.uids, operands.pointers, workspace_of(*plan, call), queue, call);
}

template <ConvolutionPart part>
void prepare_convolution(const KernelCall& call, KernelContext& context) {
  Queue& queue = queue_of(context);
  const Sizes sizes = sizes_in<part>(call);
  if (sizes.is_empty()) return;
  queue.enter(call.site);
  const auto plan = plan_for(sizes, part, addresses_of(call), queue.properties().ordinal, call.site);
  if (plan == nullptr) return;
  const Bound operands = bound<part>(call);
  plan->rehearse(operands.uids, operands.pointers, workspace_of(*plan, call));
}

template <ConvolutionPart part>
bool register_part(const char* op) {
  return register_cuda_kernel(op, convolution<part>, convolution_bytes<part>, floating_dtypes, prepare_convolution<part>);
}

}  // namespace

[[maybe_unused]] static const bool convolutions_are_registered =
    register_part<ConvolutionPart::forward>("Conv2D") && register_part<ConvolutionPart::of_images>("Conv2DBackpropInput") &&
    register_part<ConvolutionPart::of_weight>("Conv2DBackpropFilter");

}  // namespace tutti::kernels::cuda
