// The kernels that the linked BLAS takes for this processor. It knows processors by their numbers, and one that is newer than it
// gets those of 2004: three times slower than what such a processor can do. The linker sends its look at the environment here
// (`--wrap`, in dependencies.cmake).
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tutti/kernels/cpu/blas.h"

extern "C" {
void gotoblas_dynamic_init();
void gotoblas_dynamic_quit();
char* gotoblas_corename();
char* __real_getenv(const char* name);
[[gnu::visibility("hidden")]] char* __wrap_getenv(const char* name);
}

namespace tutti::kernels {

namespace {

constinit const char* core = nullptr;  // while it is being chosen: what OPENBLAS_CORETYPE says, if nobody has set it

[[maybe_unused]] const bool is_chosen = [] {
  gotoblas_dynamic_init();  // does nothing where it has been done
  if (blas_core_name() != "Prescott" || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return true;
  const bool is_wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  core = is_wide ? "SkylakeX" : "Haswell";
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  core = nullptr;
  return true;
}();

}  // namespace

std::string_view blas_core_name() { return gotoblas_corename(); }

}  // namespace tutti::kernels

char* __wrap_getenv(const char* name) {
  char* const set = __real_getenv(name);
  if (set != nullptr || tutti::kernels::core == nullptr || std::strcmp(name, "OPENBLAS_CORETYPE") != 0) return set;
  return const_cast<char*>(tutti::kernels::core);
}
