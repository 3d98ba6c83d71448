#include "tutti/mesh/nccl/nccl_exchange.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <mutex>

#include "tutti/backends/cuda/driver.h"
#include "tutti/base/environment.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/engines/fold.h"
#include "tutti/mesh/nccl/communicator.h"
#include "tutti/mesh/nccl/device_fold.h"

namespace tutti {

namespace {

using nccl::Asked;
using nccl::Library;

// NCCL's own reduction, where the order in which it takes the members cannot be seen in the result.
struct NativeReduction {
  ncclDataType_t dtype;
  ncclRedOp_t op;
};

std::optional<ncclDataType_t> type_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8: return ncclUint8;
    case DType::i8: return ncclInt8;
    case DType::i32: return ncclInt32;
    case DType::i64: return ncclInt64;
    case DType::f32: return ncclFloat32;
    case DType::f64: return ncclFloat64;
    case DType::i16:  // it has none
    case DType::f16:  // rounded at every step
    case DType::bf16: break;
  }
  return std::nullopt;
}

std::optional<NativeReduction> native_reduction(DType dtype, Reduction reduction, std::size_t members) {
  const std::optional<ncclDataType_t> type = type_of(dtype);
  if (!type) return std::nullopt;
  // Integers give the same in any order, floats with two members only. Of NaNs and zeros its min and max have their own idea.
  const bool is_sum_or_product = reduction == Reduction::sum || reduction == Reduction::prod;
  if (is_floating(dtype) && (members > 2 || !is_sum_or_product)) return std::nullopt;
  switch (reduction) {
    case Reduction::sum: return NativeReduction{*type, ncclSum};
    case Reduction::prod: return NativeReduction{*type, ncclProd};
    case Reduction::min: return NativeReduction{*type, ncclMin};
    case Reduction::max: return NativeReduction{*type, ncclMax};
    case Reduction::mean: break;
  }
  return std::nullopt;
}

const std::byte* bytes_at(const void* at) { return static_cast<const std::byte*>(at); }
std::byte* bytes_at(void* at) { return static_cast<std::byte*>(at); }

class Exchanged final : public NcclExchange {
 public:
  Exchanged(Rendezvous& rendezvous, const std::string& key, int size, int index, int ordinal, Deadline deadline,
            const NcclExchangeOptions& options)
      : members_(static_cast<std::size_t>(size)),
        self_(static_cast<std::size_t>(index)),
        room_(std::max<std::size_t>(options.workspace / members_ / 64 * 64, 64)),
        communicator_(rendezvous, key, size, index, ordinal, deadline) {
    void* memory = nullptr;
    communicator_.check({"memory to combine in", room_ * members_, deadline}, cudaMalloc(&memory, room_ * members_));
    workspace_.reset(static_cast<std::byte*>(memory));
  }

  [[nodiscard]] int size() const noexcept override { return communicator_.size(); }
  [[nodiscard]] int index() const noexcept override { return communicator_.index(); }
  void fail(const char* why) noexcept override { communicator_.fail(why); }
  void close(Deadline deadline) noexcept override {
    const std::unique_lock here(one_call_, std::try_to_lock);
    if (here.owns_lock()) communicator_.close(deadline);
  }

  void all_reduce(const void* in, void* out, std::size_t count, DType dtype, Reduction reduction, Deadline deadline) override;
  void reduce_scatter(const void* in, void* out, std::size_t count_each, DType dtype, Reduction reduction,
                      Deadline deadline) override;
  void broadcast(const void* in, void* out, std::size_t bytes, int root, Deadline deadline) override;
  void all_gather(const void* in, void* out, std::size_t bytes_each, Deadline deadline) override;
  void all_to_all(const void* in, void* out, std::size_t bytes_each, Deadline deadline) override;

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { cudaFree(memory); }
  };
  struct Message {
    const std::byte* out;
    std::size_t out_bytes;
    std::byte* in;
    std::size_t in_bytes;
  };

  void copy(const Asked& asked, void* to, const void* from, std::size_t bytes) {
    if (to == from || bytes == 0) return;
    communicator_.check(asked, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, communicator_.stream()));
  }
  // One message to each of the others, and one from each.
  template <class MessageOf>
  void round(const Asked& asked, MessageOf&& message_of) {
    if (members_ == 1) return;
    communicator_.submit(asked, [&](const Library& api, ncclComm_t communicator, cudaStream_t stream) {
      for (std::size_t member = 0; member < members_; ++member) {
        if (member == self_) continue;
        const Message message = message_of(member);
        const auto peer = static_cast<int>(member);
        ncclResult_t result = ncclSuccess;
        if (message.out_bytes != 0) result = api.ncclSend(message.out, message.out_bytes, ncclUint8, peer, communicator, stream);
        if (result == ncclSuccess && message.in_bytes != 0)
          result = api.ncclRecv(message.in, message.in_bytes, ncclUint8, peer, communicator, stream);
        if (result != ncclSuccess) return result;
      }
      return ncclSuccess;
    });
  }
  // Each member's block, `share_of(member)` here, goes to it; this member's is combined from all into `out`.
  template <class ShareOf, class BytesOf>
  void combine(const Asked& asked, ShareOf&& share_of, BytesOf&& bytes_of, void* out, DType dtype, Reduction reduction) {
    const std::size_t own = bytes_of(self_);
    copy(asked, workspace_.get() + self_ * own, share_of(self_), own);
    round(asked, [&](std::size_t member) {
      return Message{share_of(member), bytes_of(member), workspace_.get() + member * own, own};
    });
    communicator_.check(
        asked, nccl::fold(workspace_.get(), members_, out, own / size_of(dtype), dtype, reduction, communicator_.stream()));
  }

  std::size_t members_;
  std::size_t self_;
  std::size_t room_;  // of the workspace, for each member
  std::mutex one_call_;
  std::unique_ptr<std::byte, Free> workspace_;
  nccl::Communicator communicator_;
};

void Exchanged::all_reduce(const void* in, void* out, std::size_t count, DType dtype, Reduction reduction, Deadline deadline) {
  check_reduction(dtype, reduction);
  const std::size_t size = size_of(dtype);
  const Asked asked{"all_reduce", count * size, deadline};
  const std::lock_guard here(one_call_);
  communicator_.begin(asked);
  if (count == 0) return;
  if (const std::optional<NativeReduction> native = native_reduction(dtype, reduction, members_)) {
    communicator_.submit(asked, [&](const Library& api, ncclComm_t communicator, cudaStream_t stream) {
      return api.ncclAllReduce(in, out, count, native->dtype, native->op, communicator, stream);
    });
    return communicator_.finish(asked);
  }
  const std::size_t most = room_ / size * members_;
  for (std::size_t begin = 0; begin < count; begin += most) {
    const std::size_t length = std::min(most, count - begin);
    const auto share = [&](std::size_t member) { return (begin + length * member / members_) * size; };
    const auto bytes_of = [&](std::size_t member) { return share(member + 1) - share(member); };
    std::byte* const mine = bytes_at(out) + share(self_);
    combine(
        asked, [&](std::size_t member) { return bytes_at(in) + share(member); }, bytes_of, mine, dtype, reduction);
    round(asked, [&](std::size_t member) {
      return Message{mine, bytes_of(self_), bytes_at(out) + share(member), bytes_of(member)};
    });
  }
  communicator_.finish(asked);
}

void Exchanged::reduce_scatter(const void* in, void* out, std::size_t count_each, DType dtype, Reduction reduction,
                               Deadline deadline) {
  check_reduction(dtype, reduction);
  const std::size_t size = size_of(dtype);
  const Asked asked{"reduce_scatter", count_each * size, deadline};
  const std::lock_guard here(one_call_);
  communicator_.begin(asked);
  const std::size_t most = room_ / size;
  for (std::size_t done = 0; done < count_each; done += most) {
    const std::size_t length = std::min(most, count_each - done);
    combine(
        asked, [&](std::size_t member) { return bytes_at(in) + (member * count_each + done) * size; },
        [&](std::size_t) { return length * size; }, bytes_at(out) + done * size, dtype, reduction);
  }
  communicator_.finish(asked);
}

void Exchanged::broadcast(const void* in, void* out, std::size_t bytes, int root, Deadline deadline) {
  const Asked asked{"broadcast", bytes, deadline};
  if (root < 0 || root >= size()) throw InvalidArgument(text("broadcast from member ", root, " of ", size(), "."), Site());
  const std::lock_guard here(one_call_);
  communicator_.begin(asked);
  if (bytes == 0) return;
  communicator_.submit(asked, [&](const Library& api, ncclComm_t communicator, cudaStream_t stream) {
    return api.ncclBroadcast(in, out, bytes, ncclUint8, root, communicator, stream);
  });
  communicator_.finish(asked);
}

void Exchanged::all_gather(const void* in, void* out, std::size_t bytes_each, Deadline deadline) {
  const Asked asked{"all_gather", bytes_each, deadline};
  const std::lock_guard here(one_call_);
  communicator_.begin(asked);
  if (bytes_each == 0) return;
  // In place means something else to NCCL: there this member's part is where it will be.
  const void* from = in;
  if (in == out) {
    std::byte* const own = bytes_at(out) + self_ * bytes_each;
    copy(asked, own, in, bytes_each);
    from = own;
  }
  communicator_.submit(asked, [&](const Library& api, ncclComm_t communicator, cudaStream_t stream) {
    return api.ncclAllGather(from, out, bytes_each, ncclUint8, communicator, stream);
  });
  communicator_.finish(asked);
}

void Exchanged::all_to_all(const void* in, void* out, std::size_t bytes_each, Deadline deadline) {
  const Asked asked{"all_to_all", bytes_each, deadline};
  const std::lock_guard here(one_call_);
  communicator_.begin(asked);
  const bool is_in_place = in == out;
  if (!is_in_place) copy(asked, bytes_at(out) + self_ * bytes_each, bytes_at(in) + self_ * bytes_each, bytes_each);
  for (std::size_t done = 0; done < bytes_each; done += room_) {
    const std::size_t length = std::min(room_, bytes_each - done);
    const auto incoming = [&](std::size_t member) {
      return is_in_place ? workspace_.get() + member * length : bytes_at(out) + member * bytes_each + done;
    };
    round(asked, [&](std::size_t member) {
      return Message{bytes_at(in) + member * bytes_each + done, length, incoming(member), length};
    });
    for (std::size_t member = 0; is_in_place && member < members_; ++member) {
      if (member != self_) copy(asked, bytes_at(out) + member * bytes_each + done, incoming(member), length);
    }
  }
  communicator_.finish(asked);
}

// As NCCL tells hosts apart: by what NCCL_HOSTID says, else by what the system says.
std::string host_identity() {
  if (const std::optional<std::string> told = environment_text("NCCL_HOSTID")) return *told;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return text(name.data(), "/", boot);
}

}  // namespace

bool has_nccl() noexcept { return true; }

const std::string& why_no_nccl() {
  static const std::string& nothing = *new std::string;
  return nccl::find_library() != nullptr ? nothing : nccl::why_absent();
}

std::string gpu_identity(int ordinal) {
  CUdevice device = 0;
  CUuuid id{};
  const cuda::Driver& api = cuda::driver();
  CUresult result = api.cuDeviceGet(&device, ordinal);
  if (result == CUDA_SUCCESS) result = api.cuDeviceGetUuid(&id, device);
  if (result != CUDA_SUCCESS)
    throw ExchangeFailed(text("GPU ", ordinal, " cannot be told from others: ", api.describe(result), "."), Site());
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = text(host_identity(), "/");
  for (const char each : id.bytes) {
    const auto byte = static_cast<unsigned char>(each);
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
  return out;
}

std::unique_ptr<NcclExchange> open_nccl_exchange(Rendezvous& rendezvous, const std::string& key, int size, int index, int ordinal,
                                                 Deadline deadline, const NcclExchangeOptions& options) {
  if (size < 1 || index < 0 || index >= size) {
    throw InvalidArgument(text("There is no member ", index, " of ", size, "."), Site());
  }
  return std::make_unique<Exchanged>(rendezvous, key, size, index, ordinal, deadline, options);
}

}  // namespace tutti
