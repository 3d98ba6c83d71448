#include "tutti/ops/creation.h"

#include <memory>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/transfer.h"
#include "tutti/memory/host_memory.h"
#include "tutti/ops/scalar_call.h"

namespace tutti {

namespace {

void infer_wanted(Inference& in) { in.output(in.wanted().dtype, in.wanted().shape); }

const OpRow& fill_row = register_op({.name = "Fill", .function = "full", .infer = infer_wanted, .is_elementwise = true});
const OpRow& empty_row = register_op({.name = "Empty", .function = "empty", .infer = infer_wanted});

}  // namespace

namespace detail {

void raise_ragged(Site site) {
  throw ShapeError("constant: the nested lists are ragged; every row must be as long as the first", site);
}

}  // namespace detail

Tensor detail::constant_of(const char* function, DType dtype, const Shape& shape, std::span<const std::byte> bytes, Site site) {
  const std::size_t expected = checked_bytes(function, dtype, shape, site);
  if (bytes.size() != expected) {
    throw ShapeError(text(function, ": ", bytes.size() / size_of(dtype), " values of ", to_string(dtype),
                          " were given for the shape ", to_string(shape), ", which holds ", expected / size_of(dtype)),
                     site);
  }
  const OutputSpec spec{dtype, shape};
  const HostBytes given(bytes);
  static const OpRow& constant_row = find_op("_EagerConst");
  OpCall call(constant_row, site);
  call.called_as.function = function;
  call.wanted = &spec;
  call.data = &given;
  return dispatch_one(call);
}

Tensor detail::numbers(DType dtype, const Shape& shape, std::span<const WeakScalar> values, Site site) {
  std::vector<std::byte> bytes;
  bytes.reserve(values.size() * size_of(dtype));
  for (const WeakScalar& value : values) {
    const OpInput input = scalar_input(value, dtype, site);
    bytes.insert(bytes.end(), input.scalar.begin(), input.scalar.begin() + size_of(dtype));
  }
  return constant_of("constant", dtype, shape, bytes, site);
}

Tensor detail::bools(const std::vector<bool>& values, const Shape& shape, Site site) {
  std::vector<std::byte> bytes;
  bytes.reserve(values.size());
  for (const bool value : values) bytes.push_back(std::byte{value});
  return constant_of("constant", DType::boolean, shape, bytes, site);
}

Tensor detail::filled(const char* function, const Shape& shape, const TensorArg& value, DType dtype, const Tensor* like,
                      Site site) {
  const OutputSpec spec{dtype, shape};
  checked_bytes(function, dtype, shape, site);
  Tensor held;
  OpCall call(fill_row, site);
  call.called_as.function = function;
  call.add(input_of(value, spec.dtype, held, site));
  if (!value.is_number() && value.tensor().rank() != 0)
    throw ShapeError(text(function, ": the value must be one element, not of shape ", to_string(value.tensor().shape())), site);
  call.wanted = &spec;
  call.like = like != nullptr ? &like->impl(site) : nullptr;
  return dispatch_one(call);
}

namespace {

Tensor unfilled(const char* function, const Shape& shape, DType dtype, const Tensor* like, Site site) {
  if (dtype == DType::boolean) return detail::filled(function, shape, 0, dtype, like, site);  // not every byte is a bool
  const OutputSpec spec{dtype, shape};
  checked_bytes(function, dtype, shape, site);
  OpCall call(empty_row, site);
  call.called_as.function = function;
  call.wanted = &spec;
  call.like = like != nullptr ? &like->impl(site) : nullptr;
  return dispatch_one(call);
}

}  // namespace

Tensor full(const Shape& shape, TensorArg value, std::optional<DType> dtype, Site site) {
  return detail::filled("full", shape, value, dtype ? *dtype : detail::dtype_of_arg(value, site), nullptr, site);
}
Tensor zeros(const Shape& shape, DType dtype, Site site) { return detail::filled("zeros", shape, 0, dtype, nullptr, site); }
Tensor ones(const Shape& shape, DType dtype, Site site) { return detail::filled("ones", shape, 1, dtype, nullptr, site); }
Tensor empty(const Shape& shape, DType dtype, Site site) { return unfilled("empty", shape, dtype, nullptr, site); }

Tensor full_like(const Tensor& x, TensorArg value, std::optional<DType> dtype, Site site) {
  return detail::filled("full_like", x.shape(site), value, dtype.value_or(x.dtype()), &x, site);
}
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype, Site site) {
  return detail::filled("zeros_like", x.shape(site), 0, dtype.value_or(x.dtype()), &x, site);
}
Tensor ones_like(const Tensor& x, std::optional<DType> dtype, Site site) {
  return detail::filled("ones_like", x.shape(site), 1, dtype.value_or(x.dtype()), &x, site);
}
Tensor empty_like(const Tensor& x, std::optional<DType> dtype, Site site) {
  return unfilled("empty_like", x.shape(site), dtype.value_or(x.dtype()), &x, site);
}

namespace {

Tensor wrap_memory(const char* function, void* memory, DType dtype, const Shape& shape, LogicalDevice& on,
                   std::function<void()> done, Site site) {
  const std::size_t bytes = checked_bytes(function, dtype, shape, site);
  if (memory == nullptr && bytes > 0) throw InvalidArgument(text(function, " got a null pointer"), site);
  if (reinterpret_cast<std::uintptr_t>(memory) % size_of(dtype) != 0) {
    throw InvalidArgument(text(function, ": the address is not aligned to the ", size_of(dtype), " bytes of ", to_string(dtype)),
                          site);
  }
  return make_dense(ExternalBuffer::wrap(static_cast<std::byte*>(memory), bytes, on.device(), std::move(done), site), dtype,
                    shape);
}

}  // namespace

Tensor wrap_host_memory(void* memory, DType dtype, const Shape& shape, std::function<void()> done, Site site) {
  return wrap_memory("wrap_host_memory", memory, dtype, shape, runtime(site).cpu(), std::move(done), site);
}

Tensor wrap_device_memory(void* memory, DType dtype, const Shape& shape, std::string_view device, std::function<void()> done,
                          Site site) {
  LogicalDevice& on = find_device(device, site);
  if (on.device().backend() == BackendKind::sim) {
    throw InvalidArgument(text("wrap_device_memory: ", on.name(),
                               " is simulated, and nobody else can have memory there; wrap host memory and use copy_to"),
                          site);
  }
  return wrap_memory("wrap_device_memory", memory, dtype, shape, on, std::move(done), site);
}

}  // namespace tutti
