#include "tutti/lint/value.h"

namespace tutti::lint {

namespace {

bool names_device(const Value& value) {
  return value.kind == Kind::device || (value.kind == Kind::host && place_of_name(value.name) != Place::unknown);
}

Place device_place(const Value& value) { return value.kind == Kind::device ? value.place : place_of_name(value.name); }

}  // namespace

Value joined(const Value& a, const Value& b) {
  if (names_device(a) && names_device(b)) {  // "cuda" if there is one, else "cpu"
    const bool is_same = device_place(a) == device_place(b);
    const bool has_cuda = device_place(a) == Place::cuda || device_place(b) == Place::cuda;
    return {.kind = Kind::device,
            .place = is_same    ? device_place(a)
                     : has_cuda ? Place::cuda
                                : Place::unknown,
            .sure = is_same ? lower(a.sure, b.sure) : lower(Confidence::likely, lower(a.sure, b.sure))};
  }
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
  out.is_pinned = a.is_pinned || b.is_pinned;
  const bool is_named = a.kind == Kind::function || a.kind == Kind::type || a.kind == Kind::instance || a.kind == Kind::name;
  if (is_named && (a.index != b.index || a.name != b.name)) return {};
  if (a.name != b.name) out.name = nullptr;
  return out;
}

}  // namespace tutti::lint
