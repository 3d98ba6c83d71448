#include "tutti/ops/dlpack.h"

#include <dlpack/dlpack.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "tutti/base/error.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/exec/stream.h"
#include "tutti/exec/transfer.h"
#include "tutti/memory/host_memory.h"

namespace tutti {

namespace {

constexpr std::uint8_t dl_bool = 6;  // kDLBool, which headers before 0.8 lack

struct DTypeCode {
  DType dtype;
  std::uint8_t code;
};
constexpr std::array<DTypeCode, dtype_count> dtype_codes{{
    {DType::boolean, dl_bool},
    {DType::u8, kDLUInt},
    {DType::i8, kDLInt},
    {DType::i16, kDLInt},
    {DType::i32, kDLInt},
    {DType::i64, kDLInt},
    {DType::f16, kDLFloat},
    {DType::bf16, kDLBfloat},
    {DType::f32, kDLFloat},
    {DType::f64, kDLFloat},
}};

// "uint16", "complex64", "float32 in 4 lanes", "a type of code 12 with 8 bits"
std::string describe(const DLDataType& type) {
  static constexpr std::array<const char*, 7> names{"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  std::string out = type.code < names.size()
                        ? text(names[type.code], static_cast<int>(type.bits))
                        : text("a type of code ", static_cast<int>(type.code), " with ", static_cast<int>(type.bits), " bits");
  if (type.lanes != 1) out += text(" in ", static_cast<int>(type.lanes), " lanes");
  return out;
}

DType dtype_of_dl(const DLDataType& type, Site site) {
  for (const DTypeCode& each : dtype_codes) {
    if (each.code == type.code && size_of(each.dtype) * 8 == type.bits && type.lanes == 1) return each.dtype;
  }
  std::string ours;
  for (const DTypeCode& each : dtype_codes) ours += text(ours.empty() ? "" : ", ", to_string(each.dtype));
  throw DTypeError(text("from_dlpack got a tensor of dtype ", describe(type), "; convert it first to one of ", ours), site);
}

// The elements as they are: where the first byte is, counted in elements from element (0, ..., 0), and how many bytes they span.
struct Layout {
  Shape shape;
  Dims strides;
  std::int64_t lowest = 0;
  std::size_t bytes = 0;
};

Layout layout_of(const DLTensor& tensor, DType dtype, Site site) {
  if (tensor.ndim < 0 || static_cast<std::size_t>(tensor.ndim) > most_axes)
    throw ShapeError(text("from_dlpack got a tensor with ", tensor.ndim, " axes; reshape it to at most ", most_axes), site);
  const auto rank = static_cast<std::size_t>(tensor.ndim);
  if (rank > 0 && tensor.shape == nullptr) throw InvalidArgument("from_dlpack got a tensor without a shape", site);
  Layout out;
  if (rank > 0) out.shape = Shape(std::span<const std::int64_t>(tensor.shape, rank), site);
  out.bytes = checked_bytes("from_dlpack", dtype, out.shape, site);
  out.strides = dense_strides(out.shape);
  if (out.bytes == 0 || tensor.strides == nullptr) return out;
  std::int64_t highest = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (out.shape[i] == 1) continue;  // its stride means nothing, and libraries put anything there
    out.strides[i] = tensor.strides[i];
    std::int64_t reach = 0;
    std::int64_t& end = tensor.strides[i] < 0 ? out.lowest : highest;
    if (__builtin_mul_overflow(out.shape[i] - 1, tensor.strides[i], &reach) || __builtin_add_overflow(end, reach, &end))
      throw ShapeError(text("from_dlpack got a stride of ", tensor.strides[i], " elements, which reaches beyond any memory"),
                       site);
  }
  std::int64_t span = 0;
  if (__builtin_sub_overflow(highest, out.lowest, &span) || __builtin_add_overflow(span, 1, &span) ||
      __builtin_mul_overflow(span, static_cast<std::int64_t>(size_of(dtype)), &span))
    throw ShapeError("from_dlpack got strides that reach beyond any memory", site);
  out.bytes = static_cast<std::size_t>(span);
  return out;
}

// As a number: newer libraries know types of device this header does not list.
int type_of(const DLDevice& device) {
  int out = 0;
  std::memcpy(&out, &device.device_type, sizeof out);
  return out;
}

LogicalDevice& device_of(const DLDevice& device, Site site) {
  Runtime& instance = runtime(site);
  const int type = type_of(device);
  if (type == kDLCPU || type == kDLCUDAHost) return instance.cpu();
  if (type != kDLCUDA) {
    throw InvalidArgument(text("from_dlpack got a tensor on a device of DLPack's type ", type,
                               "; CPU (1), CUDA (2) and pinned host memory (3) can be used: copy it there first"),
                          site);
  }
  for (LogicalDevice* each : instance.devices()) {
    const PhysicalDeviceInfo& physical = each->device().physical();
    if (physical.backend == BackendKind::cuda && static_cast<int>(physical.ordinal) == device.device_id) return *each;
  }
  throw UnknownDevice(text("from_dlpack got a tensor on CUDA device ", device.device_id,
                           ", which is not among the devices of this program: ", device_list(instance),
                           "; make that GPU visible or copy the tensor"),
                      site);
}

void refuse_stream_on_host(const char* function, const char* which, Site site) {
  throw InvalidArgument(
      text(function, " got a ", which, " stream for a tensor in host memory; only tensors on a GPU have one: pass null"), site);
}

// What the consumer holds.
struct Export {
  DLManagedTensor managed{};
  Tensor tensor;
  std::optional<Stream> consumer;
  Site site;
  std::array<std::int64_t, most_axes> shape{};
  std::array<std::int64_t, most_axes> strides{};
};

// Memory that goes back to the pool is used next after what the consumer's stream holds by now.
void note_consumers_use(Export& lent) noexcept {
  if (!lent.consumer || !is_usable()) return;
  try {
    (void)lent.consumer->mark(lent.site);
    DeviceStream& stream = lent.consumer->base();
    const std::lock_guard lock(stream.order());
    lent.tensor.impl().buffer()->note_read(stream.last());
  } catch (const std::exception& e) {
    log(LogLevel::error, text("a tensor exported at ", lent.site.to_string(), " came back without order: ", e.what()));
  }
}

void let_go(DLManagedTensor* managed) noexcept {
  const std::unique_ptr<Export> lent(static_cast<Export*>(managed->manager_ctx));
  note_consumers_use(*lent);
}

// The consumer's stream comes after the tensor's value. False: work the value needs has not reached the GPU, and so the wait
// has not reached the stream.
bool wait_on(Stream& consumer, const Tensor& x, Site site) {
  consumer.wait(x.impl().buffer()->written(), site);
  DeviceStream& stream = consumer.base();
  return stream.is_handed_over(stream.last().value);
}

}  // namespace

DLManagedTensor* to_dlpack(const Tensor& x, void* consumer_stream, Site site) {
  const TensorImpl& impl = x.impl(site);
  LogicalDevice& on = runtime(site).of(impl.buffer()->device());
  const PhysicalDeviceInfo& physical = on.device().physical();
  if (physical.backend == BackendKind::sim) {
    throw InvalidArgument(text("to_dlpack got a tensor on the simulated ", on.name(),
                               ", whose memory no other library can use; copy it with copy_to(x, \"CPU:0\") first"),
                          site);
  }
  const bool is_host = physical.backend == BackendKind::cpu;
  if (is_host && consumer_stream != nullptr) refuse_stream_on_host("to_dlpack", "consumer", site);

  auto lent = std::make_unique<Export>();
  lent->tensor = x;
  lent->site = site;
  if (consumer_stream != nullptr) lent->consumer.emplace(on.adopt_stream(consumer_stream, {}, site), on);
  if (impl.buffer()->is_ready()) {
    raise_failure(x);
  } else if (!lent->consumer || !wait_on(*lent->consumer, x, site)) {
    x.sync({}, site);
  }

  DLTensor& out = lent->managed.dl_tensor;
  std::copy(impl.shape().begin(), impl.shape().end(), lent->shape.begin());
  std::copy(impl.strides().begin(), impl.strides().end(), lent->strides.begin());
  out.data = x.size() > 0 ? impl.address() : nullptr;
  out.device = {is_host ? kDLCPU : kDLCUDA, is_host ? 0 : static_cast<int>(physical.ordinal)};
  out.ndim = static_cast<int>(impl.shape().size());
  out.dtype = {dtype_codes[static_cast<std::size_t>(impl.dtype())].code, static_cast<std::uint8_t>(8 * size_of(impl.dtype())), 1};
  out.shape = lent->shape.data();
  out.strides = lent->strides.data();
  out.byte_offset = 0;
  lent->managed.manager_ctx = lent.get();
  lent->managed.deleter = &let_go;
  return &lent.release()->managed;
}

Tensor from_dlpack(DLManagedTensor* tensor, void* producer_stream, Site site) {
  if (tensor == nullptr) throw InvalidArgument("from_dlpack got a null pointer", site);
  const DLTensor& in = tensor->dl_tensor;
  const DType dtype = dtype_of_dl(in.dtype, site);
  const Layout layout = layout_of(in, dtype, site);
  if (in.data == nullptr && layout.bytes > 0)
    throw InvalidArgument("from_dlpack got a tensor whose data is a null pointer", site);
  std::byte* const first = in.data == nullptr ? nullptr : static_cast<std::byte*>(in.data) + in.byte_offset;
  if (layout.bytes > 0 && reinterpret_cast<std::uintptr_t>(first) % size_of(dtype) != 0) {
    throw InvalidArgument(
        text("from_dlpack got an address that is not aligned to the ", size_of(dtype), " bytes of ", to_string(dtype)), site);
  }
  LogicalDevice& on = device_of(in.device, site);
  TimelinePoint made;
  std::optional<Stream> producer;
  if (producer_stream != nullptr) {
    if (on.is_cpu()) refuse_stream_on_host("from_dlpack", "producer", site);
    producer.emplace(on.adopt_stream(producer_stream, {}, site), on);
    made = producer->mark(site);
  }
  void (*const give_back)(void*) = [](void* lent) {
    auto* mine = static_cast<DLManagedTensor*>(lent);
    if (mine->deleter != nullptr) mine->deleter(mine);
  };
  std::byte* const lowest = first == nullptr ? nullptr : first + layout.lowest * static_cast<std::int64_t>(size_of(dtype));
  Ref<Buffer> buffer = ExternalBuffer::wrap(lowest, layout.bytes, on.device(), give_back, tensor, site);
  if (producer) {
    const std::lock_guard lock(producer->base().order());
    buffer->note_write(made, "");
  }
  return Tensor(
      Ref<TensorImpl>(FreeList<TensorImpl>::make(std::move(buffer), dtype, layout.shape, layout.strides, -layout.lowest)));
}

}  // namespace tutti
