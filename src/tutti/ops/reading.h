// Values for the host: now (and so perhaps a wait), later, or only if they are ready.
#pragma once

#include <cstring>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

namespace detail {
// The value on the host, in dense order; blocks as a demand sync with this reason. Throws the value's failure.
Tensor to_host(const Tensor& x, SyncReason reason, Site site);
// Starts the copy to the host, if one is needed, and returns what will hold it.
Tensor start_to_host(const Tensor& x, Site site);
void finish_to_host(const Tensor& host, SyncReason reason, Site site);
void check_dtype(const Tensor& x, DType wanted, Site site);
void check_one_element(const Tensor& x, Site site);
std::int64_t read_count(const Tensor& count, Site site);

template <Element T>
std::vector<T> elements(const Tensor& host) {
  const auto* from = reinterpret_cast<const T*>(host.impl().address());
  return std::vector<T>(from, from + host.size());
}
}  // namespace detail

// The one element of a tensor. The dtype must be exactly T's.
template <Element T>
T item(const Tensor& x, Site site = {}) {
  detail::check_dtype(x, dtype_of<T>, site);
  detail::check_one_element(x, site);
  const Tensor host = detail::to_host(x, SyncReason::value_read, site);
  T value;
  std::memcpy(&value, host.impl().address(), sizeof value);
  return value;
}

// All elements in row order.
template <Element T>
std::vector<T> read(const Tensor& x, Site site = {}) {
  detail::check_dtype(x, dtype_of<T>, site);
  return detail::elements<T>(detail::to_host(x, SyncReason::value_read, site));
}

// A value on its way to the host: cannot be read before it is there.
template <Element T>
class Pending {
 public:
  explicit Pending(Tensor host) : host_(std::move(host)) {}

  [[nodiscard]] bool is_ready() const { return host_.is_ready(); }
  // Blocks if need be, as a demand sync at this call.
  [[nodiscard]] T get(Site site = {}) const {
    detail::check_one_element(host_, site);
    return get_all(site).front();
  }
  [[nodiscard]] std::vector<T> get_all(Site site = {}) const {
    detail::finish_to_host(host_, SyncReason::value_read, site);
    return detail::elements<T>(host_);
  }

 private:
  Tensor host_;
};

template <Element T>
Pending<T> read_async(const Tensor& x, Site site = {}) {
  detail::check_dtype(x, dtype_of<T>, site);
  return Pending<T>(detail::start_to_host(x, site));
}

// Never blocks. Nothing: the value is not on the host yet (a first call on a device tensor sends for it).
template <Element T>
std::optional<std::vector<T>> try_read(const Tensor& x, Site site = {}) {
  detail::check_dtype(x, dtype_of<T>, site);
  if (!x.is_ready()) return std::nullopt;
  const Tensor host = detail::start_to_host(x, site);
  if (!host.is_ready()) return std::nullopt;
  detail::finish_to_host(host, SyncReason::value_read, site);
  return detail::elements<T>(host);
}

// As NumPy prints the array; blocks for the value.
std::string to_string(const Tensor& x, Site site = {});
// A tensor on its way to a stream of text; remembers the line that prints it.
struct PrintedTensor {
  const Tensor& tensor;
  Site site;
  PrintedTensor(const Tensor& x, Site where = {}) : tensor(x), site(where) {}
};
// tutti.Tensor([...], shape=(2, 2), dtype=float32)
std::ostream& operator<<(std::ostream& out, PrintedTensor x);

}  // namespace tutti
