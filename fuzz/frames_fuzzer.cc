// Any bytes, cut anywhere, come out as frames within the limit or break the reader; their fields never reach outside.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tutti/mesh/control/messages.h"
#include "tutti/mesh/wire/fields.h"
#include "tutti/mesh/wire/frames.h"
#include "tutti/mesh/wire/key.h"
#include "tutti/mesh/wire/seal.h"

namespace {

void require(bool promise) {
  if (!promise) __builtin_trap();
}

void check_fields(std::string_view message) {
  using namespace tutti;
  wire::FieldReader in(message);
  const auto ranks = in.ranks(100);
  for (std::size_t i = 0; i < ranks.size(); ++i) require(ranks[i] < 100 && (i == 0 || ranks[i] > ranks[i - 1]));
  if (in.ok()) {
    // What was read is written as the same bytes, unless its runs could have been joined.
    std::string again;
    wire::FieldWriter(again).ranks(ranks);
    wire::FieldReader reread(again);
    require(reread.ranks(100) == ranks && reread.done());
  }
  require(in.text(10).size() <= 10);
  wire::FieldReader call(message);
  control::Call::read(call, 64);
  wire::FieldReader report(message);
  const MeetingReport read = control::read_report(report);
  if (report.done()) {
    std::string once;
    wire::FieldWriter writer(once);
    control::append_report(writer, read);
    wire::FieldReader second(once);
    require(control::read_report(second).to_text() == read.to_text() && second.done());
  }
  // Without the key nobody seals anything; with it, what is sealed opens as it was.
  static const wire::Key key = wire::Key::derive("a secret", "frames");
  require(!wire::Seal(key).open(message));
  std::string frame;
  const std::size_t begin = wire::begin_frame(frame);
  frame += message;
  wire::end_frame(frame, begin);
  std::string sealed;
  wire::Seal(key).close_onto(sealed, frame);
  if (!message.empty()) require(wire::Seal(key).open(std::string_view(sealed).substr(4)) == message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::size_t limit = 300;
  tutti::wire::FrameReader reader(limit);
  const std::size_t piece = 1 + data[0] % 32;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    reader.append(stream.substr(at, piece));
    while (const auto message = reader.next()) {
      require(!message->empty() && message->size() <= limit);
      check_fields(*message);
    }
    require(reader.broken() || reader.held() <= limit + 4 + piece);
  }
  check_fields(stream);
  return 0;
}
