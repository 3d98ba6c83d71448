#include "tutti/kernels/cpu/convolution_products.h"

#include <algorithm>
#include <initializer_list>
#include <memory>

#include "tutti/kernels/cpu/columns.h"
#include "tutti/kernels/cpu/kernels.h"
#include "tutti/kernels/cpu/products.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// Columns of a larger batch are made and used a part at a time.
constexpr std::int64_t most_column_bytes = std::int64_t{64} << 20U;

Operand operand_of(std::byte* data, DType dtype, std::initializer_list<Axis> axes) {
  Operand out;
  out.data = data;
  out.dtype = dtype;
  for (const Axis& axis : axes) out.axes[out.rank++] = axis;
  return out;
}
std::byte* moved(const Operand& operand, std::int64_t elements) {
  return operand.data + elements * static_cast<std::int64_t>(size_of(operand.dtype));
}

// The matrices behind the three rows, over a few images at a time. Channels in front they are a batch of images and groups;
// channels last the places of all images are the rows of one matrix a group.
class Products {
 public:
  Products(const KernelCall& call, const Operand& images, const Operand& weight, const Operand& outputs)
      : attributes_(call.attributes->as<ConvolutionAttributes>()),
        is_last_(attributes_.window.channels_last),
        x_(images),
        weight_(weight),
        y_(outputs) {
    const std::size_t channels = ImageAxes(is_last_).channels;
    out_ = y_.axes[channels].size / attributes_.groups;
    columns_.window = attributes_.window;
    columns_.groups = attributes_.groups;
    columns_.channels = x_.axes[channels].size / attributes_.groups;
  }

  void forward(Parallel& parallel) {
    for_each_part(part_size(!columns_.are_images()), [&](std::int64_t first, std::int64_t count) {
      by_images(count);
      const Operand columns = unfolded(first, parallel);
      is_last_ ? multiply(columns, transposed(weight_matrix()), outputs(first, count), parallel)
               : multiply(weight_matrix(), columns, outputs(first, count), parallel);
    });
  }

  template <class W>
  void of_images(Parallel& parallel) {
    const bool is_direct = columns_.are_images();
    for_each_part(part_size(!is_direct), [&](std::int64_t first, std::int64_t count) {
      by_images(count);
      const Operand to = is_direct ? as_columns(x_.dtype, moved(x_, first * size_of_image(x_))) : as_columns(dtype_of<W>, room());
      is_last_ ? multiply(outputs(first, count), weight_matrix(), to, parallel)
               : multiply(transposed(weight_matrix()), outputs(first, count), to, parallel);
      if (is_direct) return;
      Operand part = x_;
      part.data = moved(x_, first * size_of_image(x_));
      fold(columns_, reinterpret_cast<const W*>(to.data), LineTarget<W>(part), parallel);
    });
  }

  // Sums over parts of the batch stay in the wider dtype until all are there.
  template <class W>
  void of_weight(Parallel& parallel) {
    const std::int64_t size = weight_.count();
    const std::int64_t at_once = part_size(!columns_.are_images() || !is_last_);
    const bool is_one_part = at_once >= x_.axes[0].size && x_.axes[0].size > 0;
    std::unique_ptr<W[]> total;
    std::unique_ptr<W[]> part;
    if (!is_one_part) {
      total = std::make_unique<W[]>(static_cast<std::size_t>(size));
      part = std::make_unique_for_overwrite<W[]>(static_cast<std::size_t>(size));
    }
    for_each_part(at_once, [&](std::int64_t first, std::int64_t count) {
      Operand to = weight_;
      if (!is_one_part) {
        to.data = reinterpret_cast<std::byte*>(part.get());
        to.dtype = dtype_of<W>;
      }
      const Operand result =
          operand_of(to.data, to.dtype,
                     {{attributes_.groups, out_ * columns_.elements()}, {out_, columns_.elements()}, {columns_.elements(), 1}});
      by_groups(count);
      const Operand columns = unfolded(first, parallel);
      std::unique_ptr<std::byte[]> kept;
      multiply(outputs_by_channel(first, count, kept, parallel), columns, result, parallel);
      if (is_one_part) return;
      for (std::int64_t i = 0; i < size; ++i) total[static_cast<std::size_t>(i)] += part[static_cast<std::size_t>(i)];
    });
    if (is_one_part) return;
    const LineTarget<W> to(weight_);
    if (to.converts()) {
      to.write(0, total.get(), static_cast<std::size_t>(size));
    } else {
      std::copy_n(total.get(), size, to.at(0));
    }
  }

 private:
  // Images at a time.
  [[nodiscard]] std::int64_t part_size(bool makes_columns) const {
    if (!makes_columns) return x_.axes[0].size;
    const std::int64_t bytes = attributes_.groups * columns_.elements() * columns_.places() * std::int64_t{sizeof(double)};
    return std::max<std::int64_t>(1, std::min(x_.axes[0].size, most_column_bytes / std::max<std::int64_t>(1, bytes)));
  }
  template <class Body>
  void for_each_part(std::int64_t at_once, Body&& body) {
    const std::int64_t images = x_.axes[0].size;
    for (std::int64_t first = 0; first < images; first += at_once) {
      columns_.images = std::min(at_once, images - first);
      body(first, columns_.images);
    }
  }
  static std::int64_t size_of_image(const Operand& images) {
    return images.axes[1].size * images.axes[2].size * images.axes[3].size;
  }

  // Columns as the products of the images take them.
  void by_images(std::int64_t count) {
    if (is_last_) return by_groups(count);
    are_together_ = false;
    columns_.element_step = columns_.places();
    columns_.place_step = 1;
    columns_.group_step = columns_.elements() * columns_.places();
    columns_.image_step = columns_.groups * columns_.group_step;
  }
  // The places of all images together: for sums over them.
  void by_groups(std::int64_t count) {
    are_together_ = true;
    columns_.element_step = is_last_ ? 1 : count * columns_.places();
    columns_.place_step = is_last_ ? columns_.elements() : 1;
    columns_.image_step = columns_.places() * columns_.place_step;
    columns_.group_step = count * columns_.elements() * columns_.places();
    if (is_last_ && columns_.are_images()) {  // the images themselves
      columns_.place_step = columns_.groups * columns_.channels;
      columns_.group_step = columns_.channels;
      columns_.image_step = columns_.places() * columns_.place_step;
    }
  }

  std::byte* room() {
    const std::int64_t elements = columns_.images * columns_.groups * columns_.elements() * columns_.places();
    if (!room_) room_ = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(elements));
    return reinterpret_cast<std::byte*>(room_.get());
  }

  // As its steps say: (images, groups, elements, places), or, where the places of all images are together, (groups, places,
  // elements).
  Operand as_columns(DType dtype, std::byte* data) const {
    const Axis elements{columns_.elements(), columns_.element_step};
    if (are_together_) {
      return operand_of(
          data, dtype,
          {{columns_.groups, columns_.group_step}, {columns_.images * columns_.places(), columns_.place_step}, elements});
    }
    return operand_of(data, dtype,
                      {{columns_.images, columns_.image_step},
                       {columns_.groups, columns_.group_step},
                       elements,
                       {columns_.places(), columns_.place_step}});
  }

  Operand unfolded(std::int64_t first, Parallel& parallel) {
    std::byte* const from = moved(x_, first * size_of_image(x_));
    const bool steps_fit = is_last_ || !are_together_ || columns_.images == 1;
    if (columns_.are_images() && steps_fit) return as_columns(x_.dtype, from);
    std::byte* const to = room();
    visit_size(size_of(x_.dtype),
               [&]<class U>(U) { unfold(columns_, reinterpret_cast<const U*>(from), reinterpret_cast<U*>(to), parallel); });
    return as_columns(x_.dtype, to);
  }

  Operand weight_matrix() const {
    const std::int64_t elements = columns_.elements();
    const Axis groups{attributes_.groups, out_ * elements};
    if (is_last_) return operand_of(weight_.data, weight_.dtype, {groups, {out_, elements}, {elements, 1}});
    return operand_of(weight_.data, weight_.dtype, {{columns_.images, 0}, groups, {out_, elements}, {elements, 1}});
  }
  Operand outputs(std::int64_t first, std::int64_t count) const {
    std::byte* const data = moved(y_, first * size_of_image(y_));
    const std::int64_t places = columns_.places();
    const std::int64_t pixel = attributes_.groups * out_;
    if (is_last_) return operand_of(data, y_.dtype, {{attributes_.groups, out_}, {count * places, pixel}, {out_, 1}});
    return operand_of(data, y_.dtype,
                      {{count, pixel * places}, {attributes_.groups, out_ * places}, {out_, places}, {places, 1}});
  }
  // (groups, channels, places of all images); several images with channels in front are copied for it.
  Operand outputs_by_channel(std::int64_t first, std::int64_t count, std::unique_ptr<std::byte[]>& kept,
                             Parallel& parallel) const {
    const std::int64_t places = columns_.places();
    if (is_last_) return transposed(outputs(first, count));
    Operand from = outputs(first, count);
    if (count > 1) {
      kept = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(from.count()) * size_of(y_.dtype));
      const Operand to =
          operand_of(kept.get(), y_.dtype,
                     {{count, places}, {attributes_.groups, out_ * count * places}, {out_, count * places}, {places, 1}});
      copy(from, to, parallel);
      from = to;
    }
    return operand_of(from.data, y_.dtype,
                      {{attributes_.groups, out_ * count * places}, {out_, count * places}, {count * places, 1}});
  }
  static Operand transposed(Operand matrix) {
    std::swap(matrix.axes[matrix.rank - 2U], matrix.axes[matrix.rank - 1U]);
    return matrix;
  }

  ConvolutionAttributes attributes_;
  bool is_last_;
  const Operand& x_;
  const Operand& weight_;
  const Operand& y_;
  std::int64_t out_ = 0;       // channels of a group
  bool are_together_ = false;  // the places of all images
  Columns columns_;
  std::unique_ptr<double[]> room_;  // the largest part comes first
};

}  // namespace

void convolve_by_products(const KernelCall& call, Parallel& parallel) {
  Products(call, call.in(0), call.in(1), call.out()).forward(parallel);
}

static void convolution_of_images(const KernelCall& call, KernelContext& context) {
  visit_dtype<wide_floats>(working_dtype(call.out().dtype), [&]<class W>(W) {
    Products(call, call.out(), call.in(0), call.in(1)).of_images<W>(context.parallel);
  });
}

static void convolution_of_weight(const KernelCall& call, KernelContext& context) {
  visit_dtype<wide_floats>(working_dtype(call.out().dtype), [&]<class W>(W) {
    Products(call, call.in(0), call.out(), call.in(1)).of_weight<W>(context.parallel);
  });
}

[[maybe_unused]] static const bool gradients_are_registered =
    register_host_kernel("Conv2DBackpropInput", convolution_of_images, floating_dtypes) &&
    register_host_kernel("Conv2DBackpropFilter", convolution_of_weight, floating_dtypes);

}  // namespace tutti::kernels
