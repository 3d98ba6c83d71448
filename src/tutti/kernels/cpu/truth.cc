#include "tutti/kernels/cpu/truth.h"

#include <numeric>

#include "tutti/base/error.h"
#include "tutti/exec/index_message.h"

namespace tutti::kernels {

TruthReader::TruthReader(const Operand& operand)
    : reader_(operand),
      to_bool_(conversion_rows()[static_cast<std::size_t>(operand.dtype)][static_cast<std::size_t>(DType::boolean)]) {}

void TruthReader::read(std::int64_t begin, std::int64_t n, Scratch& scratch, std::uint8_t* truth) const {
  const void* elements = reader_.read(begin, n, scratch);
  to_bool_(&elements, 0, truth, static_cast<std::size_t>(n));
}

std::vector<std::int64_t> counts_by_range(const TruthReader& reader, Parallel& parallel) {
  const std::int64_t ranges = (reader.count() + range_elements - 1) / range_elements;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranges));
  for_each_range_number(parallel, counts.size(), [&](std::size_t range) {
    Scratch scratch;
    std::array<std::uint8_t, block_elements> truth;
    const std::int64_t begin = static_cast<std::int64_t>(range) * range_elements;
    const std::int64_t end = std::min(begin + range_elements, reader.count());
    std::int64_t found = 0;
    for (std::int64_t at = begin; at < end; at += block_elements) {
      const std::int64_t n = std::min(block_elements, end - at);
      reader.read(at, n, scratch, truth.data());
      found += std::accumulate(truth.begin(), truth.begin() + n, 0);
    }
    counts[range] = found;
  });
  return counts;
}

std::int64_t starts_from_counts(std::vector<std::int64_t>& counts) {
  std::int64_t total = 0;
  for (std::int64_t& count : counts) {
    const std::int64_t here = count;
    count = total;
    total += here;
  }
  return total;
}

void check_room(Room room, std::int64_t size, std::int64_t found, Site site) {
  if (room == Room::padded || size == found) return;
  throw KernelFailed(room == Room::given ? mask_does_not_match(size, found) : changed_since_counted(size, found), site);
}

}  // namespace tutti::kernels
