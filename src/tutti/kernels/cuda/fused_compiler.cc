// Fused programs compiled by NVRTC, loaded, and kept: in memory as long as the process lives, and on disk.
#include <map>
#include <mutex>
#include <utility>

#include "tutti/backends/cuda/driver.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/door.h"
#include "tutti/kernels/cuda/code_cache.h"
#include "tutti/kernels/cuda/device_texts.h"
#include "tutti/kernels/cuda/fused_source.h"
#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/nvrtc.h"
#include "tutti/kernels/cuda/reduction_plan.cuh"

namespace tutti::kernels::cuda {

namespace {

class CompiledKernel final : public FusedKernel {
 public:
  CompiledKernel(FusedSource made, CUkernel kernel, std::vector<bool> is_number)
      : made_(std::move(made)), kernel_(kernel), is_number_(std::move(is_number)), arguments_(is_number_.size()) {}

  bool launch(DeviceStream& stream, std::span<std::byte* const> addresses) noexcept override {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (!is_number_[i] && reinterpret_cast<std::uintptr_t>(addresses[i]) % made_.alignment[i] != 0) return false;
    }
    for (std::size_t i = 0; i < addresses.size(); ++i)
      arguments_[i] = is_number_[i] ? addresses[i] : static_cast<void*>(const_cast<std::byte**>(&addresses[i]));
    return tutti::cuda::driver().cuLaunchKernel(reinterpret_cast<CUfunction>(kernel_), static_cast<unsigned>(made_.blocks), 1, 1,
                                                fused_threads, 1, 1, 0, tutti::cuda::queue_of(stream).stream(), arguments_.data(),
                                                nullptr) == CUDA_SUCCESS;
  }
  [[nodiscard]] const std::string& source() const noexcept override { return made_.text; }

 private:
  FusedSource made_;
  CUkernel kernel_;
  std::vector<bool> is_number_;
  std::vector<void*> arguments_;  // of the launch being made; one thread at a time
};

class Nvrtcs final : public FusedCompiler {
 public:
  [[nodiscard]] bool takes(const std::string& op, std::span<const Operand> operands) const override {
    return is_fusible(op, operands);
  }

  [[nodiscard]] std::int64_t longest_row(DType dtype) const noexcept override {
    return most_bytes_of_a_row / static_cast<std::int64_t>(size_of(dtype));
  }
  std::unique_ptr<FusedKernel> make(DeviceStream& stream, const FusedProgram& program, Site site) override {
    try {
      FusedSource source = fused_source(program);
      if (source.blocks > 0x7fffffff) return nullptr;
      std::vector<bool> is_number;
      for (const Operand& each : program.inputs) is_number.push_back(each.is_immediate);
      is_number.resize(source.alignment.size(), false);
      CUkernel kernel = find(tutti::cuda::queue_of(stream), source.text, site);
      if (kernel == nullptr) return nullptr;
      return std::make_unique<CompiledKernel>(std::move(source), kernel, std::move(is_number));
    } catch (const std::exception& error) {
      log(LogLevel::warning, text("kernels are not fused: ", error.what()));
      return nullptr;
    }
  }

 private:
  // Null, which is kept too: it cannot be compiled or loaded.
  CUkernel find(tutti::cuda::Queue& queue, const std::string& source, Site site) {
    const int architecture = queue.properties().major * 10 + queue.properties().minor;
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = known_.try_emplace({architecture, source}, nullptr);
    if (!is_new) return place->second;
    const tutti::cuda::Driver& api = tutti::cuda::driver();
    queue.enter(site);
    int driver_version = 0;
    (void)api.cuDriverGetVersion(&driver_version);
    const std::string& compiler = nvrtc_version(site);
    const std::string key =
        text("driver ", driver_version, ", nvrtc ", compiler, ", sm_", architecture, ", texts ", hash_of_texts(), "\n", source);
    const std::string folder = cache_folder();
    const std::optional<std::string> held = load_code(folder, key);
    if (held) place->second = load(*held, site);
    if (place->second != nullptr) return place->second;
    std::string said;
    const std::optional<std::string> code = compile(source, architecture, said, site);
    if (!code) {
      if (!compiler.empty()) log(LogLevel::warning, text("a fused kernel cannot be compiled and is left out: ", said));
      return nullptr;
    }
    place->second = load(*code, site);
    if (place->second != nullptr) (void)store_code(folder, key, *code);
    return place->second;
  }

  static CUkernel load(const std::string& code, Site site) {
    const BlockingRegion loading(SyncReason::module_load, site);
    const tutti::cuda::Driver& api = tutti::cuda::driver();
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    if (api.cuLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) != CUDA_SUCCESS ||
        api.cuLibraryGetKernel(&kernel, library, "fused") != CUDA_SUCCESS ||
        api.cuKernelGetFunction(&function, kernel) != CUDA_SUCCESS)
      return nullptr;
    (void)api.cuFuncLoad(function);
    return kernel;
  }

  std::mutex mutex_;
  std::map<std::pair<int, std::string>, CUkernel> known_;
};

[[maybe_unused]] const bool is_registered = [] {
  static Nvrtcs compiler;
  register_fused_compiler(BackendKind::cuda, compiler);
  return true;
}();

}  // namespace

}  // namespace tutti::kernels::cuda
