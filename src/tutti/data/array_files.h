// Arrays that other programs wrote: NumPy's .npy and the IDX format of MNIST and its like.
#pragma once

#include <string>

#include "tutti/data/file_error.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

// On the CPU, whatever the scope: data sets are often larger than a GPU. Elements of either byte order. Throws FileError, with
// the byte, for a file that is cut off, damaged, of another kind, or of a dtype that there is none for here.
Tensor load_npy(const std::string& path, Site site = {});
Tensor load_idx(const std::string& path, Site site = {});

}  // namespace tutti
