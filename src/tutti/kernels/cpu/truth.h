// Elements of any dtype and strides as true or false, and how many of them are true.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/exec/indexing_attributes.h"
#include "tutti/kernels/cpu/ranges.h"

namespace tutti::kernels {

// Counts are kept for ranges of so many elements, so that each core can find where its own results begin.
inline constexpr std::int64_t range_elements = serial_elements / 2;

// Reads any dtype as bytes that are 0 or 1.
class TruthReader {
 public:
  explicit TruthReader(const Operand& operand);

  [[nodiscard]] std::int64_t count() const { return reader_.layout().count(); }
  void read(std::int64_t begin, std::int64_t n, Scratch& scratch, std::uint8_t* truth) const;

 private:
  Reader reader_;
  Row to_bool_;
};

template <class Body>
void for_each_range_number(Parallel& parallel, std::size_t ranges, Body&& body) {
  if (ranges == 1) {
    body(std::size_t{0});
  } else {
    parallel.for_each_chunk(ranges, body);
  }
}

// How many elements of each range are true.
std::vector<std::int64_t> counts_by_range(const TruthReader& reader, Parallel& parallel);

// Makes counts into where each range's results begin; returns their total.
std::int64_t starts_from_counts(std::vector<std::int64_t>& counts);

// Throws KernelFailed where the attributes say that room and count must agree and they do not.
void check_room(Room room, std::int64_t size, std::int64_t found, Site site);

}  // namespace tutti::kernels
