// Named scopes as NVTX ranges, which Nsight Systems and its like show. Without such a tool a range costs a load and a branch.
#include <nvtx3/nvToolsExt.h>

#include "tutti/journal/named_scope.h"

namespace tutti::cuda {

namespace {

constexpr journal::RangeHooks ranges{
    [](const char* name) noexcept { nvtxRangePushA(name); },
    []() noexcept { nvtxRangePop(); },
};

const bool installed = [] {
  journal::set_range_hooks(&ranges);
  return true;
}();

}  // namespace

}  // namespace tutti::cuda
