// NVIDIA's compiler at run time, opened when it is first needed: where there is none, nothing is compiled.
#pragma once

#include <optional>
#include <string>

#include "tutti/base/site.h"

namespace tutti::kernels::cuda {

// "13.0"; empty: there is none.
const std::string& nvrtc_version(Site site);

// Code for one architecture (90: sm_90) of a source that includes device_texts() alone. `log`: what the compiler said.
std::optional<std::string> compile(const std::string& source, int architecture, std::string& log, Site site);

}  // namespace tutti::kernels::cuda
