#include "tutti/kernels/cpu/columns.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

static void unfold(const KernelCall& call, KernelContext& context) {
  Columns columns{
      .window = call.attributes->as<WindowAttributes>(), .images = call.in(0).axes[0].size, .channels = call.in(0).axes[1].size};
  columns.element_step = columns.places();
  columns.place_step = 1;
  columns.image_step = columns.elements() * columns.places();
  visit_size(size_of(call.in(0).dtype),
             [&]<class U>(U) { unfold(columns, call.in(0).as<U>(), call.out().as<U>(), context.parallel); });
}

[[maybe_unused]] static const bool unfold_is_registered = register_host_kernel("Unfold", unfold);

}  // namespace tutti::kernels
