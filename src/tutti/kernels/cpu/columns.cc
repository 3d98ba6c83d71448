#include "tutti/kernels/cpu/columns.h"

#include <algorithm>
#include <memory>

#include "tutti/kernels/cpu/line_ranges.h"

namespace tutti::kernels {

namespace {

struct Tap {
  std::int64_t ky;
  std::int64_t kx;
  std::int64_t left;  // outputs whose element lies inside the image
  std::int64_t right;
};

Tap tap_of(const WindowAttributes& window, std::int64_t element) {
  const std::int64_t ky = element / window.x.kernel;
  const std::int64_t kx = element % window.x.kernel;
  const std::int64_t left = window.x.first_inside(kx);
  return {ky, kx, left, std::max(left, window.x.last_inside(kx))};
}

// One row of columns: what one element of the window sees of one channel, at every place.
template <class U>
void unfold_element(const WindowAttributes& window, std::int64_t element, const U* plane, U* to) {
  const auto& [y, x, include_pad, channels_last] = window;
  const auto [ky, kx, left, right] = tap_of(window, element);
  const std::int64_t top = y.first_inside(ky);
  const std::int64_t bottom = std::max(top, y.last_inside(ky));
  std::fill(to, to + top * x.outputs, U{0});
  for (std::int64_t oy = top; oy < bottom; ++oy) {
    const U* from = plane + (y.start(oy) + ky * y.dilation) * x.size + kx * x.dilation - x.padding;
    U* line = to + oy * x.outputs;
    std::fill(line, line + left, U{0});
    if (x.stride == 1) {
      std::copy(from + left, from + right, line + left);
    } else {
      for (std::int64_t ox = left; ox < right; ++ox) line[ox] = from[ox * x.stride];
    }
    std::fill(line + right, line + x.outputs, U{0});
  }
  std::fill(to + bottom * x.outputs, to + y.outputs * x.outputs, U{0});
}

// Channels last: all elements of the window at the places of one line of outputs.
template <class U>
void unfold_line(const Columns& columns, std::int64_t oy, const U* image, U* to) {
  const auto& [y, x, include_pad, channels_last] = columns.window;
  const std::int64_t channels = columns.channels;
  const std::int64_t pixel = columns.groups * channels;
  for (std::int64_t ox = 0; ox < x.outputs; ++ox, to += columns.place_step) {
    for (std::int64_t element = 0; element < y.kernel * x.kernel; ++element) {
      const std::int64_t row = y.start(oy) + element / x.kernel * y.dilation;
      const std::int64_t column = x.start(ox) + element % x.kernel * x.dilation;
      U* const here = to + element * channels;
      if (row < 0 || row >= y.size || column < 0 || column >= x.size) {
        std::fill(here, here + channels, U{0});
      } else {
        const U* const from = image + (row * x.size + column) * pixel;
        std::copy(from, from + channels, here);
      }
    }
  }
}

template <class W>
void fold_plane(const Columns& columns, std::int64_t channel, const W* from, W* plane) {
  const auto& [y, x, include_pad, channels_last] = columns.window;
  std::fill(plane, plane + y.size * x.size, W{0});
  const std::int64_t elements = y.kernel * x.kernel;
  for (std::int64_t element = 0; element < elements; ++element) {
    const auto [ky, kx, left, right] = tap_of(columns.window, element);
    const W* const rows = from + (channel * elements + element) * columns.element_step;
    for (std::int64_t oy = y.first_inside(ky); oy < y.last_inside(ky); ++oy) {
      W* const to = plane + (y.start(oy) + ky * y.dilation) * x.size + kx * x.dilation - x.padding;
      const W* const row = rows + oy * x.outputs;
      if (x.stride == 1) {
        for (std::int64_t ox = left; ox < right; ++ox) to[ox] += row[ox];
      } else {
        for (std::int64_t ox = left; ox < right; ++ox) to[ox * x.stride] += row[ox];
      }
    }
  }
}

// Channels last: one line of one image, of all groups.
template <class W>
void fold_line(const Columns& columns, std::int64_t row, const W* from, W* line) {
  const auto& [y, x, include_pad, channels_last] = columns.window;
  const std::int64_t channels = columns.channels;
  const std::int64_t pixel = columns.groups * channels;
  std::fill(line, line + x.size * pixel, W{0});
  for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
    const std::int64_t at = row + y.padding - ky * y.dilation;
    if (at < 0 || at % y.stride != 0 || at / y.stride >= y.outputs) continue;
    for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
      const std::int64_t element = ky * x.kernel + kx;
      const auto [same_y, same_x, left, right] = tap_of(columns.window, element);
      for (std::int64_t ox = left; ox < right; ++ox) {
        const W* const place = from + (at / y.stride * x.outputs + ox) * columns.place_step + element * channels;
        W* const to = line + (x.start(ox) + kx * x.dilation) * pixel;
        for (std::int64_t group = 0; group < columns.groups; ++group) {
          for (std::int64_t c = 0; c < channels; ++c) to[group * channels + c] += place[group * columns.group_step + c];
        }
      }
    }
  }
}

}  // namespace

template <class U>
void unfold(const Columns& columns, const U* images, U* to, Parallel& parallel) {
  const std::int64_t area = columns.window.y.size * columns.window.x.size;
  const std::int64_t all = columns.images * columns.groups * columns.elements() * columns.places();
  if (columns.window.channels_last) {
    const std::int64_t outputs = columns.window.y.outputs;
    for_each_lines(parallel, columns.images * columns.groups * outputs, all, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t oy = i % outputs;
        const std::int64_t group = i / outputs % columns.groups;
        const std::int64_t image = i / outputs / columns.groups;
        unfold_line(
            columns, oy, images + image * area * columns.groups * columns.channels + group * columns.channels,
            to + image * columns.image_step + group * columns.group_step + oy * columns.window.x.outputs * columns.place_step);
      }
    });
    return;
  }
  const std::int64_t elements = columns.elements();
  const std::int64_t kernel = columns.window.y.kernel * columns.window.x.kernel;
  for_each_lines(parallel, columns.images * columns.groups * elements, all, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t element = i % elements;
      const std::int64_t group = i / elements % columns.groups;
      const std::int64_t image = i / elements / columns.groups;
      unfold_element(columns.window, element % kernel, images + i / kernel * area,
                     to + image * columns.image_step + group * columns.group_step + element * columns.element_step);
    }
  });
}

template <class W>
void fold(const Columns& columns, const W* from, const LineTarget<W>& images, Parallel& parallel) {
  const auto& [y, x, include_pad, channels_last] = columns.window;
  const std::int64_t pixel = columns.groups * columns.channels;
  const std::int64_t lines = columns.images * (channels_last ? y.size : pixel);
  const std::int64_t length = channels_last ? x.size * pixel : y.size * x.size;
  for_each_lines(parallel, lines, lines * length * y.kernel * x.kernel, [&](std::int64_t begin, std::int64_t end) {
    const auto room = std::make_unique_for_overwrite<W[]>(static_cast<std::size_t>(length));
    for (std::int64_t i = begin; i < end; ++i) {
      W* const to = images.converts() ? room.get() : images.at(i * length);
      if (channels_last) {
        fold_line(columns, i % y.size, from + i / y.size * columns.image_step, to);
      } else {
        const std::int64_t channel = i % pixel;
        fold_plane(columns, channel % columns.channels,
                   from + i / pixel * columns.image_step + channel / columns.channels * columns.group_step, to);
      }
      images.write(i * length, to, static_cast<std::size_t>(length));
    }
  });
}

template void unfold(const Columns&, const std::uint8_t*, std::uint8_t*, Parallel&);
template void unfold(const Columns&, const std::uint16_t*, std::uint16_t*, Parallel&);
template void unfold(const Columns&, const std::uint32_t*, std::uint32_t*, Parallel&);
template void unfold(const Columns&, const std::uint64_t*, std::uint64_t*, Parallel&);
template void fold(const Columns&, const float*, const LineTarget<float>&, Parallel&);
template void fold(const Columns&, const double*, const LineTarget<double>&, Parallel&);

}  // namespace tutti::kernels
