// The functions of NCCL that are used, found when they are first needed: the library is large, and few programs want it.
#pragma once

#include <nccl.h>

#include <string>

namespace tutti::nccl {

#define TUTTI_NCCL_FUNCTIONS(each)                                                                                         \
  each(ncclGetVersion) each(ncclGetUniqueId) each(ncclCommInitRankConfig) each(ncclCommFinalize) each(ncclCommDestroy)     \
      each(ncclCommAbort) each(ncclCommGetAsyncError) each(ncclGetErrorString) each(ncclGetLastError) each(ncclGroupStart) \
          each(ncclGroupEnd) each(ncclSend) each(ncclRecv) each(ncclAllReduce) each(ncclAllGather) each(ncclBroadcast)

struct Library {
#define TUTTI_DECLARE(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses): a name being declared
  TUTTI_NCCL_FUNCTIONS(TUTTI_DECLARE)
#undef TUTTI_DECLARE
};

// Null where it cannot be used; why_absent() then says so.
const Library* find_library();
const std::string& why_absent();
// For code that runs only where find_library() found it.
const Library& library() noexcept;

}  // namespace tutti::nccl
