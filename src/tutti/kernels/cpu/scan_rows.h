// The vectorised loop of running sums.
#pragma once

#include <cstddef>

namespace tutti::kernels {

// out[i] = carry + x[0] + ... + x[i]; gives carry + the sum of all. Within a group of eight, sums are kept in T, between groups
// in double. The output may be x.
template <class T>
using ScanRow = double (*)(const T* x, T* out, double carry, std::size_t count);
template <class T>
ScanRow<T> scan_row();  // float, double

}  // namespace tutti::kernels
