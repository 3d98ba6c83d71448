#include "tutti/mesh/wire/seal.h"

#include "tutti/mesh/wire/fields.h"
#include "tutti/mesh/wire/frames.h"

namespace tutti::wire {

void Seal::close_onto(std::string& out, std::string_view frames) {
  FieldReader in(frames);
  while (!in.done() && in.ok()) {
    const std::string_view message = in.bytes(in.u32());
    const std::size_t begin = begin_frame(out);
    FieldWriter(out).bytes(message).u64(siphash(key_, turn_++, message));
    end_frame(out, begin);
  }
}

std::optional<std::string_view> Seal::open(std::string_view sealed) noexcept {
  if (sealed.size() <= seal_size) return std::nullopt;
  const std::string_view message = sealed.substr(0, sealed.size() - seal_size);
  if (FieldReader(sealed.substr(message.size())).u64() != siphash(key_, turn_++, message)) return std::nullopt;
  return message;
}

}  // namespace tutti::wire
