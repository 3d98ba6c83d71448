// Records open where they were sealed for, in their order, and nowhere else.
#include "tutti/mesh/wire/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tutti::wire {

namespace {

using Bytes = std::vector<std::byte>;

struct Sealed {
  Bytes bytes;
  RecordTag tag{};
};

const Key& key() {
  static const Key made = Key::derive("a secret", "records");
  return made;
}

Bytes message(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

Sealed sealed_by(RecordSeal& seal, const Bytes& message, Secrecy secrecy) {
  Sealed out{message, {}};
  if (secrecy == Secrecy::encrypted) std::fill(out.bytes.begin(), out.bytes.end(), std::byte{});
  seal.seal(message.data(), secrecy == Secrecy::encrypted ? out.bytes.data() : nullptr, message.size(), out.tag);
  return out;
}

bool opens(RecordSeal& seal, Sealed& record) { return seal.open(record.bytes.data(), record.bytes.size(), record.tag); }

}  // namespace

class Records : public testing::TestWithParam<Secrecy> {};
INSTANTIATE_TEST_SUITE_P(Secrecy, Records, testing::Values(Secrecy::encrypted, Secrecy::readable),
                         [](const auto& it) { return it.param == Secrecy::encrypted ? "Encrypted" : "Readable"; });

TEST_P(Records, OpenInTheirOrder) {
  RecordSeal out(key(), GetParam());
  RecordSeal in(key(), GetParam());
  for (const std::size_t size : {std::size_t{16}, std::size_t{31}, std::size_t{4097}, record_size}) {
    Sealed record = sealed_by(out, message(size), GetParam());
    EXPECT_EQ(record.bytes == message(size), GetParam() == Secrecy::readable) << size;
    ASSERT_TRUE(opens(in, record)) << size;
    EXPECT_EQ(record.bytes, message(size));
  }
}

TEST_P(Records, DoNotOpenWhereAnythingWasChanged) {
  for (std::size_t i = 0; i < 40 + 16; ++i) {
    RecordSeal out(key(), GetParam());
    RecordSeal in(key(), GetParam());
    Sealed record = sealed_by(out, message(40), GetParam());
    if (i < 40) {
      record.bytes[i] ^= std::byte{1};
    } else {
      record.tag[i - 40] ^= 1;
    }
    EXPECT_FALSE(opens(in, record)) << i;
  }
}

TEST_P(Records, DoNotOpenTwiceOutOfTurnCutShortOrUnderAnotherKey) {
  RecordSeal out(key(), GetParam());
  const Sealed first = sealed_by(out, message(40), GetParam());
  const Sealed second = sealed_by(out, message(40), GetParam());
  {
    RecordSeal in(key(), GetParam());
    Sealed copy = first;
    EXPECT_TRUE(opens(in, copy));
    copy = first;
    EXPECT_FALSE(opens(in, copy)) << "again";
  }
  {
    RecordSeal in(key(), GetParam());
    Sealed copy = second;
    EXPECT_FALSE(opens(in, copy)) << "before its turn";
  }
  {
    RecordSeal in(key(), GetParam());
    Sealed copy = first;
    copy.bytes.resize(39);
    EXPECT_FALSE(opens(in, copy)) << "cut short";
  }
  RecordSeal other(Key::derive("a secret", "other records"), GetParam());
  Sealed copy = first;
  EXPECT_FALSE(opens(other, copy)) << "under another key";
}

}  // namespace tutti::wire
