#include "tutti/trace/recorder/ranges.h"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <cwchar>
#include <new>
#include <string_view>

namespace tutti::tracing {

namespace {

constexpr std::size_t deepest = 12;  // further ones are counted, so that they are popped in order
constexpr std::size_t longest_name = 55;

using Name = std::array<char, longest_name + 1>;

// What a handle of a domain or of a registered string points to. NVTX gives handles out for ever.
struct Registered {
  Name name{};
};

struct Range {
  const Registered* domain = nullptr;
  Name name{};
};

// Plain data: nothing is run when the thread ends, and a push costs a copy of its name.
struct Ranges {
  std::array<Range, deepest> open{};
  std::uint32_t count = 0;
  std::uint32_t too_deep = 0;
};
thread_local constinit Ranges ranges{};

void set(Name& name, const char* words) noexcept {
  name[0] = '\0';
  if (words == nullptr) return;
  const std::size_t length = ::strnlen(words, longest_name);
  std::memcpy(name.data(), words, length);
  name[length] = '\0';
}

void set(Name& name, const wchar_t* words) noexcept {
  std::size_t length = 0;
  for (; words != nullptr && length < longest_name && words[length] != L'\0'; ++length) {
    const wchar_t letter = words[length];
    name[length] = letter > L'\0' && letter < L'\x80' ? static_cast<char>(letter) : '?';
  }
  name[length] = '\0';
}

void set(Name& name, const nvtxEventAttributes_t* with) noexcept {
  name[0] = '\0';
  constexpr std::size_t behind_message = offsetof(nvtxEventAttributes_t, message) + sizeof(nvtxMessageValue_t);
  if (with == nullptr || with->size < behind_message) return;
  if (with->messageType == NVTX_MESSAGE_TYPE_ASCII) set(name, with->message.ascii);
  if (with->messageType == NVTX_MESSAGE_TYPE_UNICODE) set(name, with->message.unicode);
  if (with->messageType == NVTX_MESSAGE_TYPE_REGISTERED && with->message.registered != nullptr)
    name = reinterpret_cast<const Registered*>(with->message.registered)->name;
}

int depth_of(const Registered* domain) noexcept {
  const auto end = ranges.open.begin() + ranges.count;
  return static_cast<int>(std::count_if(ranges.open.begin(), end, [&](const Range& range) { return range.domain == domain; }));
}

template <class Words>
int push(const Registered* domain, Words words) noexcept {
  const int depth = depth_of(domain);
  if (ranges.count == deepest) {
    ++ranges.too_deep;
    return depth;
  }
  Range& range = ranges.open[ranges.count++];
  range.domain = domain;
  set(range.name, words);
  return depth;
}

int pop(const Registered* domain) noexcept {
  if (ranges.too_deep != 0) {
    --ranges.too_deep;
    return depth_of(domain);
  }
  for (std::uint32_t i = ranges.count; i > 0; --i) {
    if (ranges.open[i - 1].domain != domain) continue;
    std::move(ranges.open.begin() + i, ranges.open.begin() + ranges.count, ranges.open.begin() + (i - 1));
    --ranges.count;
    return depth_of(domain);
  }
  return -1;  // NVTX's word for one too many
}

const Registered* domain_of(nvtxDomainHandle_t handle) noexcept { return reinterpret_cast<const Registered*>(handle); }

template <class Words>
Registered* registered(Words words) noexcept {
  auto* const made = new (std::nothrow) Registered;
  if (made != nullptr) set(made->name, words);
  return made;
}

int push_words(const char* words) { return push(nullptr, words); }
int push_wide(const wchar_t* words) { return push(nullptr, words); }
int push_with(const nvtxEventAttributes_t* with) { return push(nullptr, with); }
int pop_default() { return pop(nullptr); }
int push_in(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* with) { return push(domain_of(domain), with); }
int pop_in(nvtxDomainHandle_t domain) { return pop(domain_of(domain)); }
nvtxDomainHandle_t make_domain(const char* name) { return reinterpret_cast<nvtxDomainHandle_t>(registered(name)); }
nvtxDomainHandle_t make_wide_domain(const wchar_t* name) { return reinterpret_cast<nvtxDomainHandle_t>(registered(name)); }
nvtxStringHandle_t register_words(nvtxDomainHandle_t, const char* words) {
  return reinterpret_cast<nvtxStringHandle_t>(registered(words));
}
nvtxStringHandle_t register_wide(nvtxDomainHandle_t, const wchar_t* words) {
  return reinterpret_cast<nvtxStringHandle_t>(registered(words));
}

class Table {
 public:
  Table(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) noexcept {
    if (callbacks.GetModuleFunctionTable(module, &functions_, &size_) == 0) size_ = 0;
  }
  template <class Function>
  void listen(unsigned function, Function* to) const noexcept {
    if (function < size_ && functions_[function] != nullptr) *functions_[function] = reinterpret_cast<NvtxFunctionPointer>(to);
  }

 private:
  NvtxFunctionTable functions_ = nullptr;
  unsigned size_ = 0;
};

bool listen(const NvtxExportTableCallbacks* callbacks) noexcept {
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) return false;
  const Table core(*callbacks, NVTX_CB_MODULE_CORE);
  core.listen(NVTX_CBID_CORE_RangePushA, push_words);
  core.listen(NVTX_CBID_CORE_RangePushW, push_wide);
  core.listen(NVTX_CBID_CORE_RangePushEx, push_with);
  core.listen(NVTX_CBID_CORE_RangePop, pop_default);
  const Table domains(*callbacks, NVTX_CB_MODULE_CORE2);
  domains.listen(NVTX_CBID_CORE2_DomainRangePushEx, push_in);
  domains.listen(NVTX_CBID_CORE2_DomainRangePop, pop_in);
  domains.listen(NVTX_CBID_CORE2_DomainCreateA, make_domain);
  domains.listen(NVTX_CBID_CORE2_DomainCreateW, make_wide_domain);
  domains.listen(NVTX_CBID_CORE2_DomainRegisterStringA, register_words);
  domains.listen(NVTX_CBID_CORE2_DomainRegisterStringW, register_wide);
  return true;
}

}  // namespace

std::string current_ranges() {
  std::string out;
  for (std::uint32_t i = 0; i < ranges.count; ++i) {
    const Range& range = ranges.open[i];
    if (!out.empty()) out += " > ";
    if (range.domain != nullptr) (out += range.domain->name.data()) += ": ";
    out += range.name.data();
  }
  return out;
}

}  // namespace tutti::tracing

// What NVTX calls in each library that has its header, at the first use there (NVTX_INJECTION64_PATH names this library).
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table_of) {
  return tutti::tracing::listen(static_cast<const NvtxExportTableCallbacks*>(table_of(NVTX_ETID_CALLBACKS))) ? 1 : 0;
}
