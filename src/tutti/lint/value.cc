#include "tutti/lint/value.h"

namespace tutti::lint {

namespace {

// Of PyTorch, neither a GPU of CUDA's nor the CPU: "mps", "xpu:0".
bool is_other_device(const std::string* text) {
  if (text == nullptr) return false;
  const std::string_view name = std::string_view(*text).substr(0, text->find(':'));
  for (const std::string_view each :
       {"mps", "xpu", "meta", "hpu", "mtia", "npu", "mlu", "xla", "ipu", "vulkan", "privateuseone"}) {
    if (name == each) return true;
  }
  return false;
}

}  // namespace

bool is_integer(const Value& value) { return value.kind == Kind::host && value.element == Element::number; }

Value named_device(const Value& value) {
  if (value.kind == Kind::device) return value;
  if (is_integer(value)) return {.kind = Kind::device, .place = Place::cuda, .sure = value.sure};
  const Place named = value.kind == Kind::host ? place_of_name(value.name) : Place::unknown;
  const bool is_named = named != Place::unknown || (value.kind == Kind::host && is_other_device(value.name));
  return is_named ? Value{.kind = Kind::device, .place = named, .sure = value.sure} : Value{};
}

bool names_cpu(const Value& value) {
  const Value device = named_device(value);
  return device.kind == Kind::device && device.place == Place::cpu;
}

Value either_assigned(const Value& before, const Value& value) {
  return before.kind == Kind::unknown && !names_cpu(value) ? value : joined(before, value);
}

Value joined(const Value& a, const Value& b) {
  const Value device = named_device(a);
  const Value other = named_device(b);
  // "cuda" if there is one, else "cpu". Two numbers are numbers.
  if (device.kind == Kind::device && other.kind == Kind::device && !(is_integer(a) && is_integer(b))) {
    const bool is_same = device.place == other.place;
    const bool has_cuda = device.place == Place::cuda || other.place == Place::cuda;
    return {.kind = Kind::device,
            .place = is_same    ? device.place
                     : has_cuda ? Place::cuda
                                : Place::unknown,
            .sure = is_same ? lower(a.sure, b.sure) : lower(Confidence::likely, lower(a.sure, b.sure))};
  }
  // What is not known may be a GPU.
  if ((a.kind == Kind::unknown && names_cpu(b)) || (b.kind == Kind::unknown && names_cpu(a))) return {};
  if (a.kind != b.kind) {
    if (a.kind == Kind::unknown || a.kind == Kind::host) {
      Value out = b;
      out.sure = a.kind == Kind::unknown ? less_sure(b.sure) : lower(b.sure, Confidence::likely);
      return out;
    }
    if (b.kind == Kind::unknown || b.kind == Kind::host) return joined(b, a);
    return {};
  }
  Value out = a;
  if (a.place != b.place) {
    const bool has_cuda = a.place == Place::cuda || b.place == Place::cuda;
    out.place = has_cuda ? Place::cuda : Place::unknown;
    out.sure = lower(Confidence::likely, a.place == Place::cuda ? a.sure : b.sure);
  } else {
    out.sure = lower(a.sure, b.sure);
  }
  if (a.element != b.element) out.element = Element::unknown;
  if (a.rank != b.rank) out.rank = -1;
  if (a.is_scalar != b.is_scalar) out.is_scalar = Known::unknown;
  if (a.loader == 0) out.loader = b.loader;
  if (a.kind == Kind::loader && a.loader != b.loader) out.sure = lower(out.sure, Confidence::likely);
  out.pinned = a.pinned == b.pinned ? a.pinned : Known::unknown;
  const bool is_named = a.kind == Kind::function || a.kind == Kind::type || a.kind == Kind::instance || a.kind == Kind::name ||
                        a.kind == Kind::partial;
  if (is_named && (a.index != b.index || a.name != b.name)) return {};
  if (a.name != b.name) out.name = nullptr;
  if (a.is_quiet != b.is_quiet) out.is_quiet = Known::unknown;
  return out;
}

}  // namespace tutti::lint
