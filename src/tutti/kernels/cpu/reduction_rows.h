// The vectorised inner loops of reductions: elements into states, and states into one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tutti/kernels/cpu/rows.h"

namespace tutti::kernels {

// What is known of the elements seen so far: one number (their sum), or two (their mean, and the sum of the squared distances
// from it). Those of many reductions are in planes: the first numbers contiguous, the second ones `step` further.
template <class T>
struct States {
  T* first = nullptr;
  std::size_t step = 0;
};

template <class T>
struct ReductionRows {
  std::size_t planes = 1;
  std::array<T, 2> identity{};  // the state of no elements
  // The state of some thousand elements at most: the running states are as many as a vector has lanes, times eight.
  void (*fold)(const T* elements, std::size_t count, T parameter, T* state) = nullptr;
  // states[i] = that of elements[i * length] and the length - 1 after it, for short lengths.
  void (*fold_each)(const T* elements, std::size_t length, T parameter, States<T> states, std::size_t count) = nullptr;
  // states[i] = that of rows[0][i] ... rows[n - 1][i], one to eight rows.
  void (*fold_rows)(const T* const* rows, std::size_t n, T parameter, States<T> states, std::size_t count) = nullptr;
  // states[i] = that of both, which stand for so many elements; the result may be one of them.
  void (*merge)(States<const T> a, double in_a, States<const T> b, double in_b, States<T> states, std::size_t count) = nullptr;
  // The same as fold and fold_rows from elements as they are stored, for reductions that do so little with an element that a
  // detour through memory would show. Null for the others.
  void (*fold_bf16)(const bf16* elements, std::size_t count, T* state) = nullptr;
  void (*fold_rows_bf16)(const bf16* const* rows, std::size_t n, States<T> states, std::size_t count) = nullptr;
};

template <class T>
struct SumRows {
  ReductionRows<T> sum;  // of floats that of the magnitudes where the parameter is -0
  ReductionRows<T> product;
  // Of floats only.
  ReductionRows<T> squares;
  ReductionRows<T> powers;  // of the magnitudes, to the parameter
};
template <class T>
const SumRows<T>& sum_rows();  // float, double, std::int64_t

// A NaN is larger and smaller than anything. Of floats, those of the magnitudes where the parameter is -0.
template <class T>
struct ExtremumRows {
  ReductionRows<T> largest;
  ReductionRows<T> smallest;
};
template <class T>
const ExtremumRows<T>& extremum_rows();  // of the working dtypes and std::uint8_t

template <class T>
struct MomentRows {
  ReductionRows<T> moments;       // the mean, and the sum of the squared distances from it
  ReductionRows<T> exponentials;  // the largest, and the sum of e^(x - largest)
};
template <class T>
const MomentRows<T>& moment_rows();  // float, double

// Where the largest or smallest element is, the first of several, the first NaN before any. Of the working dtypes.
template <class T>
struct ArgumentRows {
  // As wide as an element, so that a vector of elements has one vector of these.
  using Number = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  // The index of the first element that is `value`, or a NaN if that is one.
  std::size_t (*find)(const T* elements, std::size_t count, T value);
  // best[i] = rows[r][i] and number[i] = first + r where that beats it, for one to eight rows in turn.
  void (*improve)(const T* const* rows, std::size_t n, Number first, T* best, Number* number, std::size_t count);
};
template <class T>
const ArgumentRows<T>& argument_rows(bool of_largest);

}  // namespace tutti::kernels
