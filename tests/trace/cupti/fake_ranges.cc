// Ranges of a program that has the header of NVTX.
#include <nvtx3/nvToolsExt.h>

extern "C" {

void fake_push(const char* name) { nvtxRangePushA(name); }
void fake_pop() { nvtxRangePop(); }

// One of a named domain, with a registered name, around what is called inside.
void fake_within(const char* domain_name, const char* name, void (*inside)()) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA(domain_name);
  nvtxEventAttributes_t with{};
  with.version = NVTX_VERSION;
  with.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  with.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  with.message.registered = nvtxDomainRegisterStringA(domain, name);
  nvtxDomainRangePushEx(domain, &with);
  inside();
  nvtxDomainRangePop(domain);
}

}  // extern "C"
