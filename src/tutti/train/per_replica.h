// One value for each replica of this process, in the order of their devices.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace tutti {

template <class T>
class PerReplica {
  static_assert(!std::is_same_v<T, bool>,
                "a PerReplica holds no bools, of which there are no references; let run() return an int");

 public:
  PerReplica() = default;
  explicit PerReplica(std::vector<T> values) : values_(std::move(values)) {}

  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
  [[nodiscard]] const T& operator[](std::size_t replica) const { return values_[replica]; }
  [[nodiscard]] T& operator[](std::size_t replica) { return values_[replica]; }
  [[nodiscard]] auto begin() const noexcept { return values_.begin(); }
  [[nodiscard]] auto end() const noexcept { return values_.end(); }
  [[nodiscard]] auto begin() noexcept { return values_.begin(); }
  [[nodiscard]] auto end() noexcept { return values_.end(); }
  [[nodiscard]] const std::vector<T>& values() const noexcept { return values_; }
  // fn of each, on the host: steps.map([](const auto& step) { return step.grads; }).
  template <class F>
  [[nodiscard]] auto map(F&& fn) const {
    std::vector<std::remove_cvref_t<decltype(fn(values_[0]))>> out;
    out.reserve(values_.size());
    for (const T& each : values_) out.push_back(fn(each));
    return PerReplica<typename decltype(out)::value_type>(std::move(out));
  }

 private:
  std::vector<T> values_;
};

namespace detail {
template <class T>
struct IsPerReplica : std::false_type {};
template <class T>
struct IsPerReplica<PerReplica<T>> : std::true_type {};

// What one replica gets of an argument: its own part, or what is the same for all.
template <class T>
const auto& part_for(std::size_t replica, const T& argument) {
  if constexpr (IsPerReplica<T>::value) {
    return argument[replica];
  } else {
    return argument;
  }
}
}  // namespace detail

}  // namespace tutti
