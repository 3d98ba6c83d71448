#include "tutti/ops/draw.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/replica.h"

namespace tutti {

Draw detail::numbers_for(const DrawSource& source, std::int64_t elements, std::int64_t per_block, Site site) {
  if (source.key && source.generator != nullptr) {
    throw InvalidArgument(text(source.function, ": a key and a generator were given; leave one of them out"), site);
  }
  if (source.key) return {};
  if (source.counter != 0) {
    throw InvalidArgument(
        text(source.function, ": the counter ", source.counter, " was given without the key it counts for; give that too"), site);
  }
  Generator& generator = source.generator != nullptr ? *source.generator : default_generator();
  Draw out{&generator.state(), static_cast<std::uint64_t>((elements + per_block - 1) / per_block)};
  if (const detail::Replica* replica = detail::thread_state.replica; replica != nullptr && replica->blocks_before > 0) {
    out.skipped = replica->blocks_before;
    out.whole = 1;
  }
  return out;
}

}  // namespace tutti
