// Memory the caller lends: given back exactly once, after its last use.
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>

#include "memory/hand_device.h"
#include "tutti/base/log.h"
#include "tutti/memory/host_memory.h"

namespace tutti {
namespace {

class ExternalMemory : public ::testing::Test {
 protected:
  Ref<Buffer> lend() {
    const auto count = [](void* calls) { ++*static_cast<int*>(calls); };
    return ExternalBuffer::wrap(bytes.data(), bytes.size(), device, count, &given_back, {});
  }
  std::array<std::byte, 100> bytes{};
  HandDevice device;
  HandStream stream{device, {}};
  int given_back = 0;
};

TEST_F(ExternalMemory, IsUsedInPlace) {
  const Ref<Buffer> buffer = lend();
  EXPECT_EQ(buffer->address(), bytes.data());
  EXPECT_EQ(buffer->bytes(), bytes.size());
  EXPECT_EQ(&buffer->device(), &device);
}

TEST_F(ExternalMemory, IsGivenBackOnceWhenTheLastOwnerGoes) {
  Ref<Buffer> buffer = lend();
  Ref<Buffer> another = buffer;
  buffer = nullptr;
  EXPECT_EQ(given_back, 0);
  another = nullptr;
  EXPECT_EQ(given_back, 1);
}

ExternalBuffer* deferred = nullptr;

TEST_F(ExternalMemory, IsHandedOnWhileWorkInFlightUsesIt) {
  set_deferred_release([](ExternalBuffer* buffer) noexcept { deferred = buffer; });
  Ref<Buffer> buffer = lend();
  buffer->note_read(stream.next());
  buffer = nullptr;
  EXPECT_EQ(given_back, 0);
  EXPECT_EQ(stream.blocked, 0U);
  ASSERT_NE(deferred, nullptr);
  Points uses;
  deferred->unfinished_uses(uses);
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0], stream.last());
  stream.finish(stream.last());
  deferred->finish();
  set_deferred_release(nullptr);
  EXPECT_EQ(given_back, 1);
}

TEST_F(ExternalMemory, IsAwaitedWhenNobodyTakesItOver) {
  set_deferred_release(nullptr);
  Ref<Buffer> buffer = lend();
  buffer->note_read(stream.next());
  buffer = nullptr;
  EXPECT_EQ(stream.blocked, 1U);
  EXPECT_EQ(given_back, 1);
}

TEST_F(ExternalMemory, SurvivesACallbackThatThrows) {
  std::string logged;
  set_log_sink([&](LogLevel, std::string_view line) { logged = line; });
  ExternalBuffer::wrap(bytes.data(), 1, device, [] { throw std::runtime_error("no thanks"); }, {});
  set_log_sink({});
  EXPECT_NE(logged.find("no thanks"), std::string::npos);
}

TEST_F(ExternalMemory, NeedsNoCallback) { EXPECT_NO_THROW(ExternalBuffer::wrap(bytes.data(), 1, device, nullptr, nullptr, {})); }

}  // namespace
}  // namespace tutti
