// Arrays that NumPy and the makers of MNIST wrote are read as they were written, or refused with the place of the fault.
#include <gmock/gmock.h>

#include "data/saved_files.h"

namespace tutti::testing_data {
namespace {

using testing::HasSubstr;

std::string npy_of(const std::string& dictionary, const std::string& data, char version = 1) {
  std::string out = "\x93NUMPY";
  out += version;
  out += '\0';
  for (unsigned i = 0; i < (version == 1 ? 2U : 4U); ++i) out += static_cast<char>(dictionary.size() >> (8 * i) & 0xFFU);
  return out + dictionary + data;
}
std::string header_of(const std::string& descr, const std::string& shape, bool is_column_major = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (is_column_major ? "True" : "False") + ", 'shape': " + shape + ", }\n";
}

class ArrayFiles : public SavedFiles {
 protected:
  Tensor loaded(const std::string& bytes) {
    put(path(), bytes);
    return load_npy(path());
  }
  std::string refusal_of(const std::string& bytes, Tensor (*load)(const std::string&, Site) = load_npy) {
    put(path(), bytes);
    try {
      load(path(), {});
      ADD_FAILURE() << "was loaded";
    } catch (const FileError& error) {
      EXPECT_THAT(error.message(), HasSubstr(path()));
      return error.message();
    }
    return {};
  }
};

TEST_F(ArrayFiles, OfNumPyAreReadInEveryDtypeAndByteOrder) {
  expect_same(loaded(npy_of(header_of("|b1", "(3,)"), {"\1\0\1", 3})), constant({true, false, true}));
  expect_same(loaded(npy_of(header_of("|u1", "(2, 2)"), "\1\2\3\xFF")), cast(constant({{1, 2}, {3, 255}}), DType::u8));
  expect_same(loaded(npy_of(header_of("<i2", "(2,)"), {"\1\0\0\1", 4})), cast(constant({1, 256}), DType::i16));
  expect_same(loaded(npy_of(header_of(">i2", "(2,)"), {"\1\0\0\1", 4})), cast(constant({256, 1}), DType::i16));
  expect_same(loaded(npy_of(header_of("<f4", "()"), {"\0\0\x80?", 4})), constant(1.0F));
  expect_same(loaded(npy_of(header_of(">f8", "(1,)"), {"@\0\0\0\0\0\0\0", 8})), constant({2.0}));
  expect_same(loaded(npy_of(header_of("<i8", "(0, 3)"), "")), zeros({0, 3}, DType::i64));
}

TEST_F(ArrayFiles, OfNumPyAreReadInEveryVersionAndColumnMajor) {
  for (const char version : {1, 2, 3})
    expect_same(loaded(npy_of(header_of("|u1", "(2,)"), "\1\2", version)), cast(constant({1, 2}), DType::u8));
  const Tensor x = loaded(npy_of(header_of("|u1", "(2, 3)", true), "\1\4\2\5\3\6"));
  expect_same(x, cast(constant({{1, 2, 3}, {4, 5, 6}}), DType::u8));
}

TEST_F(ArrayFiles, StayOnTheCpu) {
  simulate_gpus(1);
  const DeviceScope gpu("GPU:0");
  EXPECT_THAT(loaded(npy_of(header_of("|u1", "(2,)"), "\1\2")).device(), HasSubstr("CPU:0"));
}

TEST_F(ArrayFiles, OfNumPyAreRefusedWhereverTheyAreCut) {
  const std::string good = npy_of(header_of("<f4", "(2, 3)"), std::string(24, 'x'));
  for (std::size_t length = 0; length < good.size(); ++length) {
    SCOPED_TRACE(length);
    EXPECT_THAT(refusal_of(good.substr(0, length)), HasSubstr(", byte "));
  }
  EXPECT_THAT(refusal_of(good + "x"), HasSubstr("1 bytes more"));
}

TEST_F(ArrayFiles, OfNumPyWithABadHeaderAreRefusedAtThePlaceOfTheFault) {
  EXPECT_THAT(refusal_of("PK\3\4 a zip file"), HasSubstr("byte 0: a .npy file begins with"));
  EXPECT_THAT(refusal_of(npy_of(header_of("<u2", "(1,)"), "xx")), HasSubstr("no dtype here for NumPy's \"<u2\""));
  EXPECT_THAT(refusal_of(npy_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "xxxx")),
              HasSubstr("byte 20"));
  EXPECT_THAT(refusal_of(npy_of(header_of("<f4", "(-1,)"), "")), HasSubstr("a size was expected"));
  EXPECT_THAT(refusal_of(npy_of(header_of("<f4", "(1,1,1,1,1,1,1,1,1)"), "xxxx")), HasSubstr("axes"));
  EXPECT_THAT(refusal_of(npy_of(header_of("<f4", "(4611686018427387904, 8)"), "")), HasSubstr("no machine holds"));
  EXPECT_THAT(refusal_of(npy_of(header_of("<f4", "(1000000000000,)"), "")), HasSubstr("the file ends here"));
  EXPECT_THAT(refusal_of(npy_of("{'descr': '<f4'}", "")), HasSubstr("must have"));
  EXPECT_THAT(refusal_of(npy_of("{'color': 'red'}", "")), HasSubstr("\"color\""));
  EXPECT_THAT(refusal_of(npy_of("", "")), HasSubstr("'{' was expected"));
  EXPECT_THAT(refusal_of(npy_of(header_of("|b1", "(2,)"), {"\1\2", 2})), HasSubstr("a bool is 2"));
  EXPECT_THROW(load_npy(path("absent.npy")), FileError);
}

TEST_F(ArrayFiles, OfIdxAreReadAndRefused) {
  const std::string header("\0\0\x08\2\0\0\0\2\0\0\0\3", 12);
  put(path(), header + "\1\2\3\4\5\6");
  expect_same(load_idx(path()), cast(constant({{1, 2, 3}, {4, 5, 6}}), DType::u8));
  put(path(), std::string("\0\0\x0D\1\0\0\0\1?\x80\0\0", 12));
  expect_same(load_idx(path()), constant({1.0F}));
  for (std::size_t length = 0; length < header.size() + 6; ++length)
    EXPECT_THAT(refusal_of((header + "\1\2\3\4\5\6").substr(0, length), load_idx), HasSubstr(", byte "));
  EXPECT_THAT(refusal_of("\x1F\x8B\x08", load_idx), HasSubstr("byte"));
  EXPECT_THAT(refusal_of("\x1F\x8B\x08 gz", load_idx), HasSubstr("gzip"));
  EXPECT_THAT(refusal_of(std::string("\0\0\x07\1", 4), load_idx), HasSubstr("no dtype 7"));
}

}  // namespace
}  // namespace tutti::testing_data
