// Doing the same on each of this process's devices of a mesh. For the files of this module.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tutti/exec/transfer.h"
#include "tutti/mesh/mesh.h"
#include "tutti/place/scope.h"
#include "tutti/place/settings.h"

namespace tutti::detail {

inline bool is_on(const Tensor& x, LogicalDevice& device) { return &x.impl().buffer()->device() == &device.device(); }

// While it lives the runtime orders ops and copies, also under ManualOrder: the program cannot order what goes between devices in
// here, because it never sees it.
class DerivedOrder {
 public:
  DerivedOrder() noexcept : before_(std::exchange(thread_state.settings.manual_order, false)) {}
  ~DerivedOrder() { thread_state.settings.manual_order = before_; }
  DerivedOrder(const DerivedOrder&) = delete;
  DerivedOrder& operator=(const DerivedOrder&) = delete;

 private:
  bool before_;
};

// The tensor itself if it is there, else a copy, ordered by points. Collectives are copies that were asked for: none is logged
// as implicit, none is kept for later.
inline Tensor on_device(const Tensor& x, LogicalDevice& to, Site site) { return copied(x, to, {.if_elsewhere = true}, site); }

// Runs `make` with ops going to that device. What had no kernel there, and so ran elsewhere, is copied back.
template <class Make>
Tensor made_on(LogicalDevice& device, Site site, Make&& make) {
  const DeviceScope scope(device.name(), site);
  return on_device(std::forward<Make>(make)(), device, site);
}

// make(i), for each device of this process and its place among them.
template <class Make>
std::vector<Tensor> made_on_each(const Mesh& mesh, Site site, Make&& make) {
  std::vector<Tensor> out;
  const auto devices = mesh.local_devices(site);
  out.reserve(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) out.push_back(made_on(*devices[i], site, [&] { return make(i); }));
  return out;
}

// Throws InvalidArgument where this process has no device of the mesh.
void require_local_devices(const Mesh& mesh, const char* function, Site site);

}  // namespace tutti::detail
