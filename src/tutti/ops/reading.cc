#include "tutti/ops/reading.h"

#include <ostream>

#include "tutti/base/text.h"
#include "tutti/exec/launch_listener.h"
#include "tutti/exec/transfer.h"
#include "tutti/place/thread_state.h"
#include "tutti/tensor/format.h"
#include "tutti/tensor/mirrors.h"

namespace tutti {

namespace detail {

Tensor start_to_host(const Tensor& x, Site site) {
  Device& device = x.impl(site).buffer()->device();
  if (thread_state.listener != nullptr) [[unlikely]]
    thread_state.listener->refuse(x.impl().buffer()->made_by().function, site,
                                  "the host reads its value; return the tensor and read it outside");
  if (device.memory().is_host_visible()) {
    if (x.is_contiguous()) [[likely]]
      return x;
    return copy_to_device(x, runtime(site).of(device), "_Copy", -1, site);
  }
  LogicalDevice& cpu = runtime(site).cpu();
  if (Tensor kept = Mirrors::find(x.impl(), cpu.device()); kept.is_defined()) return kept;
  Tensor host = copy_to_device(x, cpu, "_Copy", -1, site);
  Mirrors::keep(x.impl(), host);
  return host;
}

SyncRequest read_of(const Tensor& x, SyncReason reason, Intent intent, Site site) {
  const Buffer& buffer = *x.impl(site).buffer();
  return {.reason = reason,
          .site = site,
          .intent = intent,
          .op = buffer.made_by(),
          .bytes = static_cast<std::uint64_t>(x.size()) * size_of(x.dtype()),
          .made = buffer.written()};
}

void check_arrived(const Tensor& host) {
  if (host.impl().buffer()->failure().is_set()) [[unlikely]]
    raise_failure(host);
}

void finish_to_host(const Tensor& host, const SyncRequest& request) {
  await(host.impl().buffer()->written(), request);
  check_arrived(host);
}

void finish_to_host(std::span<const Tensor> hosts, const SyncRequest& request) {
  Points points;
  for (const Tensor& each : hosts) points.push_back(each.impl().buffer()->written());
  await_all(points.view(), request);
  for (const Tensor& each : hosts) check_arrived(each);
}

Tensor to_host(const Tensor& x, SyncReason reason, Intent intent, Site site) {
  const SyncRequest request = read_of(x, reason, intent, site);
  Tensor host = start_to_host(x, site);
  finish_to_host(host, request);
  return host;
}

void check_dtype(const Tensor& x, DType wanted, Site site) {
  if (x.dtype(site) == wanted) [[likely]]
    return;
  throw DTypeError(text("a tensor of dtype ", to_string(x.dtype()), " was read as ", to_string(wanted),
                        "; read it as its own dtype or cast() it first"),
                   site);
}

void check_one_element(const Tensor& x, Site site) {
  if (x.size() == 1) [[likely]]
    return;
  throw ShapeError(text("item needs a tensor with exactly one element; this one has ", x.size(), " (shape ", to_string(x.shape()),
                        "). Use read for all of them"),
                   site);
}

std::int64_t read_count(const Tensor& count, Site site) {
  const Tensor host = to_host(count, SyncReason::data_dependent_shape, Intent::unstated, site);
  std::int64_t value = 0;
  std::memcpy(&value, host.impl().address(), sizeof value);
  return value;
}

}  // namespace detail

std::string to_string(const Tensor& x, Site site) {
  const Tensor host = detail::to_host(x, SyncReason::value_read, Intent::print, site);
  return format_elements(host.impl().address(), host.dtype(), host.shape());
}

std::ostream& operator<<(std::ostream& out, PrintedTensor x) {
  if (!x.tensor.is_defined()) return out << "tutti.Tensor(undefined)";
  const Tensor host = detail::to_host(x.tensor, SyncReason::value_read, Intent::print, x.site);
  return out << tensor_repr(host.impl().address(), host.dtype(), host.shape());
}

}  // namespace tutti
