// Values for the host: now (and so perhaps a wait), later, or only if they are ready.
#pragma once

#include <array>
#include <cstring>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/hal/door.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

namespace detail {
// Starts the copy to the host, if one is needed, and returns what will hold it.
Tensor start_to_host(const Tensor& x, Site site);
// What a read of this tensor is to the ledger.
SyncRequest read_of(const Tensor& x, SyncReason reason, Intent intent, Site site);
// Blocks as that demand sync. Throws the value's failure.
void finish_to_host(const Tensor& host, const SyncRequest& request);
void finish_to_host(std::span<const Tensor> hosts, const SyncRequest& request);
// The value is there: throws its failure if it has one.
void check_arrived(const Tensor& host);
// Both: the value on the host, in dense order.
Tensor to_host(const Tensor& x, SyncReason reason, Intent intent, Site site);
void check_dtype(const Tensor& x, DType wanted, Site site);
void check_one_element(const Tensor& x, Site site);
std::int64_t read_count(const Tensor& count, Site site);

// A value read as a bool decides something.
template <Element T>
constexpr Intent usual_intent = std::is_same_v<T, bool> ? Intent::branch : Intent::unstated;

template <Element T>
std::vector<T> elements(const Tensor& host) {
  const auto* from = reinterpret_cast<const T*>(host.impl().address());
  return std::vector<T>(from, from + host.size());
}

template <class>
using TensorFor = Tensor;
}  // namespace detail

// The one element of a tensor. The dtype must be exactly T's. `intent`: what the value is for, for the ledger.
template <Element T>
T item(const Tensor& x, Intent intent, Site site = {}) {
  detail::check_dtype(x, dtype_of<T>, site);
  detail::check_one_element(x, site);
  const Tensor host = detail::to_host(x, SyncReason::value_read, intent, site);
  T value;
  std::memcpy(&value, host.impl().address(), sizeof value);
  return value;
}
template <Element T>
T item(const Tensor& x, Site site = {}) {
  return item<T>(x, detail::usual_intent<T>, site);
}

// All elements in row-major order.
template <Element T>
std::vector<T> read(const Tensor& x, Intent intent, Site site = {}) {
  detail::check_dtype(x, dtype_of<T>, site);
  return detail::elements<T>(detail::to_host(x, SyncReason::value_read, intent, site));
}
template <Element T>
std::vector<T> read(const Tensor& x, Site site = {}) {
  return read<T>(x, Intent::unstated, site);
}

// All elements of several tensors, with one sync: auto [loss, steps] = read_all<float, std::int64_t>(a, b);
template <Element... T>
std::tuple<std::vector<T>...> read_all(const detail::TensorFor<T>&... x, Site site = {}) {
  static_assert(sizeof...(T) > 0, "read_all needs the types to read: read_all<float, float>(a, b)");
  (detail::check_dtype(x, dtype_of<T>, site), ...);
  const std::array<Tensor, sizeof...(T)> hosts{detail::start_to_host(x, site)...};
  SyncRequest request{.reason = SyncReason::value_read, .site = site};
  for (const SyncRequest& each : {detail::read_of(x, SyncReason::value_read, Intent::unstated, site)...}) {
    request.op = each.op;
    request.made = each.made;
    request.bytes += each.bytes;
  }
  detail::finish_to_host(hosts, request);
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return std::tuple<std::vector<T>...>(detail::elements<T>(hosts[i])...);
  }(std::index_sequence_for<T...>{});
}

// A value on its way to the host: cannot be read before it is there.
template <Element T>
class Pending {
 public:
  Pending(Tensor host, const SyncRequest& request) : host_(std::move(host)), request_(request) {}

  [[nodiscard]] bool is_ready() const { return host_.is_ready(); }
  // Blocks if need be, as a demand sync at this call.
  [[nodiscard]] T get(Intent intent, Site site = {}) const {
    detail::check_one_element(host_, site);
    return get_all(intent, site).front();
  }
  [[nodiscard]] T get(Site site = {}) const { return get(detail::usual_intent<T>, site); }
  [[nodiscard]] std::vector<T> get_all(Intent intent, Site site = {}) const {
    SyncRequest request = request_;
    request.site = site;
    request.intent = intent;
    request.sent_for = true;
    detail::finish_to_host(host_, request);
    return detail::elements<T>(host_);
  }
  [[nodiscard]] std::vector<T> get_all(Site site = {}) const { return get_all(Intent::unstated, site); }
  // Never block, and so are no sync to any mode or budget. Nothing: the value is not there yet.
  [[nodiscard]] std::optional<T> try_get(Site site = {}) const {
    detail::check_one_element(host_, site);
    const std::optional<std::vector<T>> all = try_get_all();
    return all ? std::optional<T>(all->front()) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::vector<T>> try_get_all() const {
    if (!is_ready()) return std::nullopt;
    detail::check_arrived(host_);
    return detail::elements<T>(host_);
  }

 private:
  Tensor host_;
  SyncRequest request_;
};

template <Element T>
Pending<T> read_async(const Tensor& x, Site site = {}) {
  detail::check_dtype(x, dtype_of<T>, site);
  return Pending<T>(detail::start_to_host(x, site), detail::read_of(x, SyncReason::value_read, Intent::unstated, site));
}

// Never blocks, and so is no sync to any mode or budget. Nothing: the value is not on the host yet (a first call on a device
// tensor sends for it).
template <Element T>
std::optional<std::vector<T>> try_read(const Tensor& x, Site site = {}) {
  detail::check_dtype(x, dtype_of<T>, site);
  if (!x.is_ready()) return std::nullopt;
  return read_async<T>(x, site).try_get_all();
}

// As NumPy prints the array; blocks for the value.
std::string to_string(const Tensor& x, Site site = {});
// A tensor, or the value of a variable, on its way to a stream of text; remembers the line that prints it.
struct PrintedTensor {
  Tensor tensor;
  Site site;
  PrintedTensor(const Tensor& x, Site where = {}) : tensor(x), site(where) {}
  PrintedTensor(const Variable& variable, Site where = {}) : tensor(variable, where), site(where) {}
};
// tutti.Tensor([...], shape=(2, 2), dtype=float32)
std::ostream& operator<<(std::ostream& out, PrintedTensor x);

}  // namespace tutti
