#include "tutti/kernels/cpu/instruction_set.h"

#include <array>
#include <cstdint>

#include "hwy/highway.h"

namespace tutti::kernels {

namespace {
struct Known {
  std::string_view name;
  std::int64_t target;
};
constexpr std::array known{Known{"AVX3", HWY_AVX3}, Known{"AVX2", HWY_AVX2}, Known{"SCALAR", HWY_STATIC_TARGET}};
}  // namespace

bool use_instruction_set(std::string_view name) {
  for (const Known& one : known) {
    if (one.name != name) continue;
    hwy::SetSupportedTargetsForTest(0);  // what the machine itself has
    if ((hwy::SupportedTargets() & one.target) == 0) return false;
    // And those before it, which have higher numbers: not every loop is compiled for each.
    const std::int64_t up_to = hwy::SupportedTargets() & -one.target;
    hwy::SetSupportedTargetsForTest(up_to);
    hwy::GetChosenTarget().Update(up_to);
    return true;
  }
  return false;
}

std::string_view instruction_set() {
  for (const Known& one : known) {
    if ((hwy::SupportedTargets() & HWY_TARGETS & one.target) != 0) return one.name;
  }
  return "SCALAR";
}

}  // namespace tutti::kernels
