// A device that gives memory back only in the pieces it was mapped in: trimming finds the whole ones and leaves the rest.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "memory/hand_device.h"
#include "tutti/memory/device_memory.h"

namespace tutti {
namespace {

class PiecedSpace final : public MemorySpace {
 public:
  explicit PiecedSpace(std::size_t capacity) : all_(capacity) {}

  [[nodiscard]] std::byte* base() const noexcept override { return all_.base(); }
  [[nodiscard]] std::size_t range() const noexcept override { return all_.range(); }
  [[nodiscard]] std::size_t granule() const noexcept override { return all_.granule(); }
  [[nodiscard]] std::size_t capacity() const noexcept override { return all_.capacity(); }
  [[nodiscard]] std::ptrdiff_t kernel_offset() const noexcept override { return 0; }
  [[nodiscard]] bool is_host_visible() const noexcept override { return true; }

  [[nodiscard]] std::string map(std::size_t offset, std::size_t bytes) override {
    pieces_[offset] = bytes;
    return all_.map(offset, bytes);
  }
  void unmap(std::size_t offset, std::size_t bytes) noexcept override {
    all_.unmap(offset, bytes);
    std::size_t gone = 0;
    while (gone < bytes) {
      const auto piece = pieces_.find(offset + gone);
      if (piece == pieces_.end()) {
        all_.faults.emplace_back("unmap: not at the start of a piece");
        return;
      }
      gone += piece->second;
      pieces_.erase(piece);
    }
    if (gone != bytes) all_.faults.emplace_back("unmap: not to the end of a piece");
  }
  [[nodiscard]] Part releasable(std::size_t offset, std::size_t bytes) const noexcept override {
    Part out{offset, 0};
    for (const auto& [at, size] : pieces_) {
      if (at < offset || at + size > offset + bytes) continue;
      if (out.bytes == 0) out.offset = at;
      out.bytes = at + size - out.offset;
    }
    return out;
  }

  [[nodiscard]] std::size_t mapped() const noexcept { return all_.mapped(); }
  [[nodiscard]] const std::vector<std::string>& faults() const noexcept { return all_.faults; }

 private:
  CountedSpace all_;
  std::map<std::size_t, std::size_t> pieces_;
};

TEST(MemoryInPieces, TrimGivesBackOnlyWholePieces) {
  HandDevice device;
  PiecedSpace space(64 * mebibyte);
  DeviceMemory memory(device, space, {});
  const Ref<Buffer> kept = memory.allocate(kibibyte, StreamId::none, Site{});
  { const Ref<Buffer> large = memory.allocate(20 * mebibyte, StreamId::none, Site{}); }
  const std::size_t before = space.mapped();
  const std::uint64_t returned = memory.trim(Site{});
  EXPECT_GE(returned, 16 * mebibyte) << "it began in the first piece, where something is kept";
  EXPECT_EQ(space.mapped(), before - returned);
  EXPECT_EQ(memory.info().reserved, space.mapped());
  EXPECT_GT(space.mapped(), 0U) << "the piece of what is kept stays";
  EXPECT_TRUE(space.faults().empty()) << space.faults().front();
}

TEST(MemoryInPieces, AnyHistoryOfRequestsTrimsInWholePieces) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    HandDevice device;
    PiecedSpace space(64 * mebibyte);
    DeviceMemory memory(device, space, {});
    std::vector<Ref<Buffer>> held;
    for (int i = 0; i < 400; ++i) {
      if (random() % 3 != 0 && memory.info().in_use < 40 * mebibyte) {
        held.push_back(memory.allocate(random() % (random() % 8 == 0 ? 6 * mebibyte : 64 * kibibyte), StreamId::none, Site{}));
      } else if (!held.empty()) {
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(random() % held.size()));
      }
      if (random() % 16 == 0) (void)memory.trim(Site{});
      ASSERT_EQ(memory.info().reserved, space.mapped());
    }
    held.clear();
    (void)memory.trim(Site{});
    EXPECT_EQ(space.mapped(), 0U) << "nothing is used, so every piece is whole";
    ASSERT_TRUE(space.faults().empty()) << space.faults().front();
  }
}

}  // namespace
}  // namespace tutti
