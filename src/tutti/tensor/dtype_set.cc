#include "tutti/tensor/dtype_set.h"

#include <ostream>

#include "tutti/base/error.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti {

std::string to_string(DTypes dtypes) {
  if (dtypes == any_dtype) return "all dtypes";
  if (dtypes == numeric_dtypes) return "numeric dtypes";
  if (dtypes == floating_dtypes) return "floating dtypes";
  if (dtypes == integer_dtypes) return "integer dtypes";
  if (dtypes == (integer_dtypes | boolean_dtype)) return "bool and integer dtypes";
  std::string list;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!dtypes.contains(dtype)) continue;
    list += (list.empty() ? "" : ", ");
    list += to_string(dtype);
  }
  return list;
}

std::ostream& operator<<(std::ostream& out, DTypes dtypes) { return out << to_string(dtypes); }

namespace detail {
void refuse_visit(DType dtype, DTypes handled) {
  throw InvalidArgument("This code is for " + to_string(handled) + " and was given " + std::string(to_string(dtype)), Site());
}
void refuse_visit(std::size_t bytes) { throw InvalidArgument("No element has " + std::to_string(bytes) + " bytes", Site()); }
}  // namespace detail

}  // namespace tutti
