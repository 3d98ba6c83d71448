#include "tutti/mesh/wire/seal.h"

#include <cstring>

#include "tutti/mesh/wire/fields.h"
#include "tutti/mesh/wire/frames.h"

namespace tutti::wire {

void Seal::close_onto(std::string& out, std::string_view frames) {
  FieldReader in(frames);
  while (!in.done() && in.ok()) {
    const std::string_view message = in.bytes(in.u32());
    const std::size_t begin = begin_frame(out);
    const std::size_t at = out.size();
    out.append(message.size() + seal_size, '\0');
    RecordTag tag;
    records_.seal(reinterpret_cast<const std::byte*>(message.data()), reinterpret_cast<std::byte*>(out.data() + at),
                  message.size(), tag);
    std::memcpy(out.data() + at + message.size(), tag.data(), tag.size());
    end_frame(out, begin);
  }
}

std::optional<std::string_view> Seal::open(std::string_view sealed) {
  if (sealed.size() <= seal_size) return std::nullopt;
  if (opened_.capacity() > largest_request) opened_ = {};  // one large message does not keep its memory for ever
  opened_ = sealed.substr(0, sealed.size() - seal_size);
  RecordTag tag;
  std::memcpy(tag.data(), sealed.data() + opened_.size(), tag.size());
  if (!records_.open(reinterpret_cast<std::byte*>(opened_.data()), opened_.size(), tag)) return std::nullopt;
  return opened_;
}

}  // namespace tutti::wire
