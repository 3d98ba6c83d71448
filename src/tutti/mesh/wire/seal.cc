#include "tutti/mesh/wire/seal.h"

#include <cstring>

#include "tutti/mesh/wire/fields.h"
#include "tutti/mesh/wire/frames.h"

namespace tutti::wire {

std::array<char, seal_size> Seal::next(std::string_view message) noexcept {
  std::array<char, sizeof turn_> turn{};
  for (std::size_t i = 0; i < turn.size(); ++i) turn[i] = static_cast<char>(turn_ >> (8 * i));
  ++turn_;
  const Digest whole = hash_.of({{turn.data(), turn.size()}, message});
  std::array<char, seal_size> seal{};
  std::memcpy(seal.data(), whole.data(), seal.size());
  return seal;
}

void Seal::close_onto(std::string& out, std::string_view frames) {
  FieldReader in(frames);
  while (!in.done() && in.ok()) {
    const std::string_view message = in.bytes(in.u32());
    const std::array<char, seal_size> seal = next(message);
    const std::size_t begin = begin_frame(out);
    out.append(message).append(seal.data(), seal.size());
    end_frame(out, begin);
  }
}

std::optional<std::string_view> Seal::open(std::string_view sealed) noexcept {
  if (sealed.size() <= seal_size) return std::nullopt;
  const std::string_view message = sealed.substr(0, sealed.size() - seal_size);
  const std::array<char, seal_size> expected = next(message);
  if (!same_digest(sealed.substr(message.size()), {expected.data(), expected.size()})) return std::nullopt;
  return message;
}

}  // namespace tutti::wire
