#include "tutti/kernels/cpu/strided.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "tutti/base/error.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

Layout::Layout(const Operand& operand) noexcept
    : data_(operand.data), element_size_(size_of(operand.dtype)), count_(operand.count()) {
  for (std::size_t i = 0; i < operand.rank; ++i) {
    const Axis& axis = operand.axes[i];
    if (axis.size == 1) continue;
    if (rank_ > 0 && axes_[rank_ - 1].stride == axis.stride * axis.size) {
      axes_[rank_ - 1] = {axes_[rank_ - 1].size * axis.size, axis.stride};
    } else {
      axes_[rank_++] = axis;
    }
  }
}

std::byte* Layout::run_at(std::int64_t begin, std::int64_t n) const noexcept {
  const auto size = static_cast<std::int64_t>(element_size_);
  if (is_dense()) return data_ + begin * size;
  const Axis& inner = axes_[rank_ - 1];
  if (inner.stride != 1) return nullptr;
  std::int64_t rest = begin / inner.size;
  std::int64_t offset = begin % inner.size;
  if (offset + n > inner.size) return nullptr;
  for (std::size_t i = rank_ - 1; i-- > 0;) {
    offset += rest % axes_[i].size * axes_[i].stride;
    rest /= axes_[i].size;
  }
  return data_ + offset * size;
}

// Calls move(address, index of the first element of the run within the range, length) for each piece along the inner axis.
template <class Move>
void Layout::for_each_run(std::int64_t begin, std::int64_t n, Move&& move) const noexcept {
  const auto size = static_cast<std::int64_t>(element_size_);
  if (n <= 0) return;
  if (rank_ == 0) {
    move(data_, 0, n);
    return;
  }
  std::array<std::int64_t, most_axes> index;
  std::int64_t rest = begin;
  std::int64_t offset = 0;
  for (std::size_t i = rank_; i-- > 0;) {
    index[i] = rest % axes_[i].size;
    rest /= axes_[i].size;
    offset += index[i] * axes_[i].stride;
  }
  const std::size_t inner = rank_ - 1;
  for (std::int64_t done = 0;;) {
    const std::int64_t length = std::min(axes_[inner].size - index[inner], n - done);
    move(data_ + offset * size, done, length);
    done += length;
    if (done == n) return;
    offset -= index[inner] * axes_[inner].stride;
    index[inner] = 0;
    for (std::size_t i = inner; i-- > 0;) {
      offset += axes_[i].stride;
      if (++index[i] < axes_[i].size) break;
      offset -= axes_[i].size * axes_[i].stride;
      index[i] = 0;
    }
  }
}

namespace {

constexpr std::int64_t few = 16;  // elements in a row that are not worth a run of their own

// Each of the elements that read(first, count, to) gives, `times` in a row: those numbered begin ... begin + n - 1.
template <class U, class Read>
void repeat_each(std::int64_t begin, std::int64_t n, std::int64_t times, U* out, const Read& read) {
  constexpr std::int64_t most = 512;
  alignas(64) std::array<U, most> held;
  const std::int64_t end = begin + n;
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t first = at / times;
    if (at % times != 0 || end - at < times) {  // a part of one
      const std::int64_t some = std::min((first + 1) * times, end) - at;
      read(first, 1, held.data());
      std::fill_n(out + (at - begin), some, held[0]);
      at += some;
      continue;
    }
    const std::int64_t some = std::min(most, (end - at) / times);
    read(first, some, held.data());
    U* to = out + (at - begin);
    if (times == 2) {
      for (std::int64_t i = 0; i < some; ++i) to[2 * i] = to[2 * i + 1] = held[static_cast<std::size_t>(i)];
    } else {
      for (std::int64_t i = 0; i < some; ++i) std::fill_n(to + i * times, times, held[static_cast<std::size_t>(i)]);
    }
    at += some * times;
  }
}

}  // namespace

void Layout::gather(std::int64_t begin, std::int64_t n, void* to) const noexcept {
  if (rank_ > 1 && axes_[rank_ - 1].stride == 0 && axes_[rank_ - 1].size <= few) {  // repeat()
    Layout once = *this;
    --once.rank_;
    const auto read = [&once](std::int64_t first, std::int64_t count, void* held) { once.gather(first, count, held); };
    return visit_size(element_size_,
                      [&]<class U>(U) { repeat_each(begin, n, axes_[rank_ - 1].size, static_cast<U*>(to), read); });
  }
  const std::int64_t stride = rank_ == 0 ? 0 : axes_[rank_ - 1].stride;
  const Row row = copy_row(element_size_, stride);
  visit_size(element_size_, [&]<class U>(U) {
    U* const target = static_cast<U*>(to);
    for_each_run(begin, n, [target, stride, row](const std::byte* from, std::int64_t at, std::int64_t length) {
      const U* source = reinterpret_cast<const U*>(from);
      U* out = target + at;
      if (row != nullptr && length >= few) {
        const void* input = source;
        row(&input, stride == 0 ? 1 : 0, out, static_cast<std::size_t>(length));
      } else {
        for (std::int64_t i = 0; i < length; ++i) out[i] = source[i * stride];
      }
    });
  });
}

void Layout::scatter(std::int64_t begin, std::int64_t n, const void* from) const noexcept {
  const std::int64_t stride = rank_ == 0 ? 0 : axes_[rank_ - 1].stride;
  visit_size(element_size_, [&]<class U>(U) {
    const U* const source = static_cast<const U*>(from);
    for_each_run(begin, n, [source, stride](std::byte* to, std::int64_t at, std::int64_t length) {
      U* target = reinterpret_cast<U*>(to);
      for (std::int64_t i = 0; i < length; ++i) target[i * stride] = source[at + i];
    });
  });
}

Row conversion(DType from, DType to) {
  if (from == to) return nullptr;
  const Row row = conversion_rows()[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  if (row == nullptr) {
    const std::string source(to_string(from));
    throw DTypeError("no CPU kernel turns " + source + " into " + std::string(to_string(to)) + " in one step", {});
  }
  return row;
}

const std::byte* Reader::read(std::int64_t begin, std::int64_t n, Scratch& scratch) const {
  const std::byte* elements = layout_.run_at(begin, n);
  if (elements == nullptr) {
    layout_.gather(begin, n, scratch.stored.data());
    elements = scratch.stored.data();
  }
  if (convert_ == nullptr) return elements;
  const void* input = elements;
  convert_(&input, 0, scratch.working.data(), static_cast<std::size_t>(n));
  return scratch.working.data();
}

void Reader::read_into(std::int64_t begin, std::int64_t n, std::byte* to) const {
  if (convert_ == nullptr) {
    layout_.gather(begin, n, to);
    return;
  }
  alignas(64) std::array<std::byte, block_elements * 8> stored;
  for (std::int64_t done = 0; done < n; done += block_elements) {
    const std::int64_t some = std::min(block_elements, n - done);
    const void* input = layout_.run_at(begin + done, some);
    if (input == nullptr) {
      layout_.gather(begin + done, some, stored.data());
      input = stored.data();
    }
    convert_(&input, 0, to + done * static_cast<std::int64_t>(working_size_), static_cast<std::size_t>(some));
  }
}

std::byte* Writer::room(std::int64_t begin, std::int64_t n, Scratch& scratch) const noexcept {
  if (convert_ != nullptr) return scratch.working.data();
  std::byte* run = layout_.run_at(begin, n);
  return run != nullptr ? run : scratch.stored.data();
}

void Writer::write(std::int64_t begin, std::int64_t n, const std::byte* from, Scratch& scratch) const {
  std::byte* run = layout_.run_at(begin, n);
  if (convert_ != nullptr) {
    std::byte* target = run != nullptr ? run : scratch.stored.data();
    const void* input = from;
    convert_(&input, 0, target, static_cast<std::size_t>(n));
    if (run == nullptr) layout_.scatter(begin, n, target);
  } else if (run == nullptr) {
    layout_.scatter(begin, n, from);
  } else if (run != from) {
    std::memcpy(run, from, static_cast<std::size_t>(n) * layout_.element_size());
  }
}

}  // namespace tutti::kernels
