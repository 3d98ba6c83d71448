#include "tutti/hal/access_observer.h"

namespace tutti {

std::atomic<AccessObserver*> detail::access_observer{nullptr};

void set_access_observer(AccessObserver* observer) noexcept {
  detail::access_observer.store(observer, std::memory_order_release);
}

}  // namespace tutti
