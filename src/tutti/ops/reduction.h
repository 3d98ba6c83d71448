// Reductions over axes. Results are the same on any number of cores.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "tutti/tensor/tensor.h"

namespace tutti {

struct AllAxes {};
inline constexpr AllAxes all_axes{};

namespace detail {
template <class T>
concept AxisNumber = std::integral<T> && !std::same_as<T, bool>;
template <class T>
struct OptionsForAxes {
  static_assert(
      sizeof(T) == 0,
      "write the axis by itself, and all_axes before options: as in sum(x, 1), as in var(x, all_axes, {.correction = 1})");
  static constexpr bool is_refused = true;
};
}  // namespace detail

// What a reduction goes over: all axes, one, or those listed, where negative ones count from the end.
class ReducedAxes {
 public:
  ReducedAxes(AllAxes /*all*/) noexcept : is_all_(true) {}
  template <detail::AxisNumber T>
  ReducedAxes(T axis) noexcept : axes_(axis) {}
  // gcc 12 overlooks the name in {.correction = 1} and would take the number for an axis. Of all implicit conversions only that
  // one sees an explicit constructor.
  template <detail::AxisNumber T>
    requires(detail::OptionsForAxes<T>::is_refused)
  explicit ReducedAxes(T axis) = delete;
  ReducedAxes(std::initializer_list<std::int64_t> axes, Site site = {}) : axes_(axes, site) {}
  ReducedAxes(const Dims& axes) : axes_(axes) {}
  template <detail::IntegerList T>
  ReducedAxes(const T& axes, Site site = {}) : axes_(axes, site) {}

  // As a bit mask. Throws ShapeError, in the name of the function that was called.
  [[nodiscard]] std::uint32_t mask(const char* function, std::size_t rank, Site site) const;

 private:
  Dims axes_{};
  bool is_all_ = false;
};

struct ReductionOptions {
  bool keepdims = false;  // a reduced axis stays, with size 1
};

struct SumOptions {
  bool keepdims = false;
  std::optional<DType> dtype = {};  // of the result; elements are cast to it first
};

// Integers and bools are summed as int64; floats keep their dtype and are added pairwise.
Tensor sum(const Tensor& x, Site site = {});
Tensor sum(const Tensor& x, const ReducedAxes& axes, const SumOptions& options = {}, Site site = {});
// Dtypes as for sum. Of nothing: 1.
Tensor prod(const Tensor& x, Site site = {});
Tensor prod(const Tensor& x, const ReducedAxes& axes, const SumOptions& options = {}, Site site = {});

// NaN where there is one. Throw InvalidArgument where there is nothing to choose from.
Tensor max(const Tensor& x, Site site = {});
Tensor max(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options = {}, Site site = {});
Tensor min(const Tensor& x, Site site = {});
Tensor min(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options = {}, Site site = {});

// Floating dtypes only. Of nothing: NaN.
Tensor mean(const Tensor& x, Site site = {});
Tensor mean(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options = {}, Site site = {});

struct VarianceOptions {
  double correction = 0;  // what is taken off the number of elements in the divisor: 1 for a sample
  bool keepdims = false;
};

// The mean of the squared distances from the mean, and its root. Floating dtypes only.
Tensor var(const Tensor& x, Site site = {});
Tensor var(const Tensor& x, const ReducedAxes& axes, const VarianceOptions& options = {}, Site site = {});
Tensor std(const Tensor& x, Site site = {});
Tensor std(const Tensor& x, const ReducedAxes& axes, const VarianceOptions& options = {}, Site site = {});

// Anything but zero is true, a NaN too. Of nothing: true, and false.
Tensor all(const Tensor& x, Site site = {});
Tensor all(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options = {}, Site site = {});
Tensor any(const Tensor& x, Site site = {});
Tensor any(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options = {}, Site site = {});

// How many elements are not zero along these axes, as int64.
Tensor count_nonzero(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options = {}, Site site = {});

// The index, as int64, of the first largest or smallest element, or of the first NaN: in row-major order, or along an axis. Throw
// InvalidArgument where there is nothing to choose from.
Tensor argmax(const Tensor& x, Site site = {});
Tensor argmax(const Tensor& x, std::int64_t axis, const ReductionOptions& options = {}, Site site = {});
Tensor argmin(const Tensor& x, Site site = {});
Tensor argmin(const Tensor& x, std::int64_t axis, const ReductionOptions& options = {}, Site site = {});

// log(sum(exp(x))) without overflow on the way. Floating dtypes only. Of nothing: -infinity.
Tensor logsumexp(const Tensor& x, Site site = {});
Tensor logsumexp(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options = {}, Site site = {});

struct VectorNormOptions {
  double ord = 2;  // infinity and -infinity: the largest and the smallest magnitude; 0: how many are not zero
  bool keepdims = false;
};

// sum(|x|^ord)^(1 / ord): of all elements as one vector, or along the axes. Floating dtypes only.
Tensor vector_norm(const Tensor& x, Site site = {});
Tensor vector_norm(const Tensor& x, const ReducedAxes& axes, const VectorNormOptions& options = {}, Site site = {});

}  // namespace tutti
