#include "tutti/base/text.h"
#include "tutti/exec/linear_algebra_attributes.h"

namespace tutti {

std::string singular_matrix(std::int64_t matrix) {
  return text("matrix ", matrix, " of the batch is singular: elimination found a column without a pivot");
}

std::string not_positive_definite(std::int64_t matrix, std::int64_t order) {
  return text("matrix ", matrix, " of the batch is not positive definite: its leading minor of order ", order,
              " is not positive");
}

}  // namespace tutti
