// The attribute structs of linear algebra, and what its kernels say about matrices they cannot take, in the same words on
// every backend.
#pragma once

#include <cstdint>
#include <string>

namespace tutti {

struct CholeskyAttributes {
  bool upper = false;
  // A second output, int32: 0, or the order of the first leading minor that is not positive; the factor is then NaN. Without it
  // such a matrix makes the op fail.
  bool wants_info = false;
};

struct QrAttributes {
  bool is_complete = false;
};

// "matrix 3 of the batch is singular"
std::string singular_matrix(std::int64_t matrix);
// Order: of the first leading minor that is not positive, from 1.
std::string not_positive_definite(std::int64_t matrix, std::int64_t order);

}  // namespace tutti
