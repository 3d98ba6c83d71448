// Whether the host can touch a tensor's memory: which of two ways is quicker depends on it. For the files that define functions;
// not for users.
#pragma once

#include "tutti/hal/device.h"
#include "tutti/hal/memory_space.h"
#include "tutti/tensor/tensor.h"

namespace tutti::detail {

inline bool is_on_host(const Tensor& x, Site site) { return x.impl(site).buffer()->device().memory().is_host_visible(); }

}  // namespace tutti::detail
