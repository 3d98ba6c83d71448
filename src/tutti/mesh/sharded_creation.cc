#include "tutti/mesh/sharded_creation.h"

#include <atomic>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/mesh/local_devices.h"
#include "tutti/mesh/number.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/draw.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/views.h"

namespace tutti {

namespace {

// make(shape of a shard, where it begins), on each device.
template <class Make>
ShardedTensor made_in(const char* function, const Shape& shape, const Layout& layout, Site site, Make&& make) {
  detail::require_local_devices(layout.mesh(), function, site);
  checked_bytes(function, DType::u8, shape, site);
  const Shape shard = layout.shard_shape(shape, site);
  return {layout, shape, detail::made_on_each(layout.mesh(), site, [&](std::size_t i) {
            return make(shard, layout.shard_offset(shape, layout.mesh().local_positions()[i], site));
          })};
}

// Makes the draws that it sees parts of one: what a device draws, of all that the mesh does. Who runs the calls again gets other
// numbers, and the same ones on devices that hold the same elements.
class PartsOfDraw final : public Executor {
 public:
  explicit PartsOfDraw(std::uint64_t blocks) noexcept : blocks_(blocks) {}
  void skip(std::uint64_t blocks) noexcept { skipped_ = blocks; }
  void run(OpCall& call) override {
    if (call.draw.generator != nullptr) call.draw = {call.draw.generator, blocks_, skipped_, number_, part_++};
    pass_on(call);
  }

 private:
  static std::uint32_t next_number() noexcept {
    static std::atomic<std::uint32_t> last{0};
    std::uint32_t number = 0;
    while (number == 0) number = ++last;
    return number;
  }
  std::uint64_t blocks_;
  std::uint64_t skipped_ = 0;
  std::uint32_t number_ = next_number();
  std::uint32_t part_ = 0;
};

// draw(count, options): so many elements in a row, from where the options say. Rows of the first axis follow each other in the
// draw of the whole tensor, so a device draws those it has from the block they begin in.
template <class Options, class Draw>
ShardedTensor drawn_in(const char* function, const Shape& shape, const Layout& layout, const Options& options,
                       std::int64_t per_block, Site site, Draw&& draw) {
  if (!options.key && options.generator == nullptr && !layout.mesh().is_local(site)) {
    throw InvalidArgument(
        text(function, ": the mesh has devices of ", layout.mesh().clients().size(),
             " processes, and each has a default generator of its own; give a key, or a Generator of the same seed in each"),
        site);
  }
  std::optional<PartsOfDraw> parts;  // once the shape is known to fit
  return made_in(function, shape, layout, site, [&](const Shape& shard, const Dims& offset) {
    if (!parts) parts.emplace(detail::numbers_for({function, options}, *element_count(shape), per_block, site).blocks);
    const ExecutorScope as_parts(*parts);
    if (shape.empty()) return reshape(draw(1, options), {}, site);
    Shape rows = shape;
    rows[0] = shard[0];
    std::int64_t row_size = 1;
    for (std::size_t axis = 1; axis < shape.size(); ++axis) row_size *= shape[axis];
    const std::int64_t begin = offset[0] * row_size;
    const std::int64_t before = begin % per_block;
    Options from = options;
    const auto skipped = static_cast<std::uint64_t>(begin / per_block);
    if (options.key) from.counter += skipped;
    parts->skip(skipped);
    const Tensor drawn = draw(before + shard[0] * row_size, from);
    Tensor part = reshape(slice(drawn, 0, {before, {}}, site), rows, site);
    for (std::size_t axis = 1; axis < shape.size(); ++axis) {
      if (shard[axis] != shape[axis])
        part = slice(part, static_cast<std::int64_t>(axis), {offset[axis], offset[axis] + shard[axis]}, site);
    }
    return contiguous(part, site);
  });
}

}  // namespace

ShardedTensor full(const Shape& shape, const Layout& layout, NumberArg value, std::optional<DType> dtype, Site site) {
  return made_in("full", shape, layout, site,
                 [&](const Shape& shard, const Dims&) { return full(shard, detail::as_argument(value, site), dtype, site); });
}
ShardedTensor zeros(const Shape& shape, const Layout& layout, DType dtype, Site site) {
  return full(shape, layout, 0, dtype, site);
}
ShardedTensor ones(const Shape& shape, const Layout& layout, DType dtype, Site site) {
  return full(shape, layout, 1, dtype, site);
}

ShardedTensor arange(std::int64_t start, std::int64_t stop, const Layout& layout, std::int64_t step, Site site) {
  if (step == 0) throw InvalidArgument("arange: the step is 0; the stop would never be reached", site);
  std::int64_t length = 0;
  if (step == INT64_MIN ||
      (step > 0 ? __builtin_sub_overflow(stop, start, &length) : __builtin_sub_overflow(start, stop, &length)))
    throw InvalidArgument(text("arange: there are too many numbers from ", start, " to ", stop), site);
  const std::int64_t size = step > 0 ? step : -step;
  const std::int64_t count = length <= 0 ? 0 : (length - 1) / size + 1;
  return made_in("arange", {count}, layout, site, [&](const Shape& shard, const Dims& offset) {
    const std::int64_t first = start + offset[0] * step;
    const std::int64_t end = shard[0] == 0 ? first : first + (shard[0] - 1) * step + (step > 0 ? 1 : -1);
    return arange(first, end, step, {}, site);
  });
}

ShardedTensor uniform(const Shape& shape, const Layout& layout, const UniformOptions& options, Site site) {
  return drawn_in("uniform", shape, layout, options, detail::elements_of_block(options.dtype), site,
                  [&](std::int64_t count, const UniformOptions& from) { return uniform({count}, from, site); });
}

ShardedTensor normal(const Shape& shape, const Layout& layout, const NormalOptions& options, Site site) {
  return drawn_in("normal", shape, layout, options, detail::elements_of_block(options.dtype), site,
                  [&](std::int64_t count, const NormalOptions& from) { return normal({count}, from, site); });
}

ShardedTensor randint(const Shape& shape, const Layout& layout, std::int64_t low, std::int64_t high,
                      const RandintOptions& options, Site site) {
  return drawn_in("randint", shape, layout, options, detail::elements_of_block(options.dtype), site,
                  [&](std::int64_t count, const RandintOptions& from) { return randint({count}, low, high, from, site); });
}

ShardedTensor bernoulli(const Shape& shape, const Layout& layout, double probability, const BernoulliOptions& options,
                        Site site) {
  return drawn_in("bernoulli", shape, layout, options, detail::words_of_block, site,
                  [&](std::int64_t count, const BernoulliOptions& from) { return bernoulli({count}, probability, from, site); });
}

}  // namespace tutti
