// What a window sees at every place, as a matrix: unfolded from images, and folded back into them.
#pragma once

#include <cstdint>

#include "tutti/exec/neural_attributes.h"
#include "tutti/hal/parallel.h"
#include "tutti/kernels/cpu/lines.h"

namespace tutti::kernels {

// Channels of one group of images, in their layout, and where the columns of one image and group stand: channels in front, a
// row of places for each element of the window; channels last, a row of window elements for each place.
struct Columns {
  WindowAttributes window;
  std::int64_t images = 0;
  std::int64_t groups = 1;
  std::int64_t channels = 0;      // of a group
  std::int64_t element_step = 0;  // in elements, from one element of the window to the next; channels last: 1
  std::int64_t place_step = 0;    // from one place to the next; channels in front: 1
  std::int64_t image_step = 0;
  std::int64_t group_step = 0;

  [[nodiscard]] std::int64_t elements() const noexcept { return channels * window.y.kernel * window.x.kernel; }
  [[nodiscard]] std::int64_t places() const noexcept { return window.y.outputs * window.x.outputs; }
  // A window that sees every pixel as it is: images are columns already.
  [[nodiscard]] bool are_images() const noexcept {
    const auto is_plain = [](const WindowAxis& axis) { return axis.kernel == 1 && axis.stride == 1 && axis.padding == 0; };
    return is_plain(window.y) && is_plain(window.x);
  }
};

// U has the size of an element.
template <class U>
void unfold(const Columns& columns, const U* images, U* to, Parallel& parallel);

// What the windows saw is added up. The images are dense, of any floating dtype.
template <class W>
void fold(const Columns& columns, const W* from, const LineTarget<W>& images, Parallel& parallel);  // float, double

}  // namespace tutti::kernels
