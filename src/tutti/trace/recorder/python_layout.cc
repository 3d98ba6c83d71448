#include "tutti/trace/recorder/python_layout.h"

#include <array>

namespace tutti::tracing {

namespace {

// offsetof() of each version's own headers; they stay the same for all releases of one version.
constexpr std::uint16_t none = PythonLayout::none;
constexpr std::array<PythonLayout, 5> layouts{{
    {9, 24, none, 24, 32, 104, none, 104, 112, 120, 40, none, 48, 72},
    {10, 24, none, 24, 32, 96, none, 104, 112, 120, 40, none, 48, 72},
    {11, 56, 8, 48, 32, 56, none, 112, 128, 136, 72, 184, 48, 72},
    {12, 56, 0, 8, 0, 56, 70, 112, 128, 136, 68, 192, 40, 56},
    {13, 72, none, 8, 0, 56, 70, 112, 128, 136, 68, 200, 40, 56},
}};

}  // namespace

const PythonLayout* python_layout(int minor) noexcept {
  for (const PythonLayout& layout : layouts) {
    if (layout.minor == minor) return &layout;
  }
  return nullptr;
}

}  // namespace tutti::tracing
