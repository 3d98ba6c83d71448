#include "tutti/kernels/cpu/registration.h"

#include "tutti/exec/op_table.h"

namespace tutti::kernels {

bool register_host_kernel(const char* op, Kernel kernel, DTypes takes) {
  return register_kernel(op, BackendKind::cpu, kernel, nullptr, takes) &&
         register_kernel(op, BackendKind::sim, kernel, nullptr, takes);
}

}  // namespace tutti::kernels
