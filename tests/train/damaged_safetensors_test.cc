// A file that is cut off, changed, or another's gives an error with the place, and changes nothing.
#include <gmock/gmock.h>

#include "data/saved_files.h"
#include "tutti/train/safetensors.h"

namespace tutti::testing_data {
namespace {

// Read in the order of their names: what is wrong with the second must be found before the first changes.
struct Pair {
  Variable bias;
  Tensor flags;
};

class DamagedSafetensors : public SavedFiles {
 protected:
  void SetUp() override {
    SavedFiles::SetUp();
    save(path(), Pair{Variable(full({3}, 1.0, DType::f32)), zeros({5}, DType::boolean)}, {{"a", "b"}});
    good_ = content_of(path());
  }

  // Loads a file of these bytes and returns the message, which has the path; nothing has changed.
  std::string refusal_of(const std::string& bytes) {
    put(path(), bytes);
    std::string message;
    try {
      load(path(), model_);
      ADD_FAILURE() << "was loaded";
    } catch (const FileError& error) {
      message = error.message();
    }
    EXPECT_THAT(message, testing::HasSubstr(path()));
    EXPECT_LT(message.size(), 1000U);
    EXPECT_EQ(model_.flags.ref(), before_.flags.ref());
    EXPECT_EQ(bytes_of(model_.bias.value()), bias_);
    return message;
  }
  std::string refusal_of_header(const std::string& json, const std::string& data = "") { return refusal_of(file_of(json, data)); }

  std::string good_;
  Pair model_{Variable(full({3}, 2.0, DType::f32)), ones({5}, DType::boolean)};
  const Pair before_ = model_;
  const std::string bias_ = bytes_of(model_.bias.value());
};

TEST_F(DamagedSafetensors, AreRefusedWhereverTheyAreCut) {
  for (std::size_t length = 0; length < good_.size(); ++length) {
    SCOPED_TRACE(length);
    EXPECT_THAT(refusal_of(good_.substr(0, length)), testing::HasSubstr(", byte "));
  }
  EXPECT_THAT(refusal_of(good_ + "x"), testing::HasSubstr("18 bytes"));
}

TEST_F(DamagedSafetensors, AreRefusedOrHaveOtherNamesWithAnyBitOfTheHeaderFlipped) {
  const std::size_t header = good_.size() - 17;
  std::size_t refused = 0;
  for (std::size_t at = 0; at < header; ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string bytes = good_;
      bytes[at] = static_cast<char>(bytes[at] ^ (1U << bit));
      put(path(), bytes);
      try {
        EXPECT_EQ(load_tensors(path()).size(), 2U) << "byte " << at << " bit " << bit;
      } catch (const FileError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, header * 5) << "a few bits of eight make another name or another text";
}

TEST_F(DamagedSafetensors, SayWhichByteIsWrong) {
  EXPECT_THAT(refusal_of(""), testing::HasSubstr(", byte 0: the file ends here"));
  EXPECT_THAT(refusal_of(std::string(8, '\0')), testing::HasSubstr(", byte 8: the header begins with \"\""));
  EXPECT_THAT(refusal_of_header(R"({"bias":{"dtype":"F32", x)"), testing::HasSubstr(", byte 32: the header is no JSON"));
  EXPECT_THAT(refusal_of_header(R"({"bias":{"dtype":"F33"}})"), testing::HasSubstr(", byte 30: \"bias\" has the dtype \"F33\""));
  std::string bytes = good_;
  bytes[bytes.size() - 2] = 7;
  EXPECT_THAT(refusal_of(bytes), testing::HasSubstr("byte " + std::to_string(bytes.size() - 2) + ": a bool of \"flags\" is 7"));
}

TEST_F(DamagedSafetensors, AreRefusedWithLengthsThatNothingHas) {
  for (const std::uint64_t length :
       {std::uint64_t{100'000'001}, std::uint64_t{1} << 40U, ~std::uint64_t{0}, std::uint64_t{1} << 63U}) {
    EXPECT_THAT(refusal_of(file_of("{}", "", length)), testing::HasSubstr("the format allows 100000000"));
  }
  EXPECT_THAT(refusal_of(file_of("{}", "", 3)), testing::HasSubstr("a header of 3 bytes, and the file ends after 2"));
  EXPECT_THAT(refusal_of_header(R"({"bias":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})"),
              testing::HasSubstr("more elements than anything can hold"));
  EXPECT_THAT(refusal_of_header(R"({"bias":{"dtype":"F64","shape":[1152921504606846976,2],"data_offsets":[0,0]}})"),
              testing::HasSubstr("more elements than anything can hold"));
  EXPECT_THAT(refusal_of_header(R"({"bias":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,0]}})"),
              testing::HasSubstr("which nothing can hold"));
  EXPECT_THAT(refusal_of_header(R"({"bias":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,0]}})"),
              testing::HasSubstr("the number 18446744073709551616"));
  EXPECT_THAT(refusal_of_header(R"({"bias":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", "1234"),
              testing::HasSubstr("more than 8 axes"));
  EXPECT_THAT(refusal_of_header(R"({"bias":{"dtype":"U8","shape":[8],"data_offsets":[18446744073709551612,4]}})", "1234"),
              testing::HasSubstr("takes 8 bytes"));
}

TEST_F(DamagedSafetensors, AreRefusedWithTensorsThatOverlapOrLeaveGaps) {
  const auto with = [](const char* bias, const char* flags) {
    return std::string(R"({"bias":{"dtype":"F32","shape":[3],"data_offsets":)") + bias +
           R"(},"flags":{"dtype":"BOOL","shape":[5],"data_offsets":)" + flags + "}}";
  };
  const std::string data(17, '\0');
  EXPECT_THAT(refusal_of_header(with("[0,12]", "[0,5]"), data), testing::HasSubstr("overlap"));
  EXPECT_THAT(refusal_of_header(with("[0,12]", "[11,16]"), data), testing::HasSubstr("overlap"));
  EXPECT_THAT(refusal_of_header(with("[0,12]", "[13,18]"), data), testing::HasSubstr("gap"));
  EXPECT_THAT(refusal_of_header(with("[0,12]", "[12,17]"), data + "x"), testing::HasSubstr("of which there are 18 bytes"));
  EXPECT_THAT(refusal_of_header(with("[5,17]", "[0,5]"), data.substr(1)), testing::HasSubstr("cut off"));
  EXPECT_THAT(refusal_of_header(with("[0,13]", "[12,17]"), data), testing::HasSubstr("takes 12 bytes"));
  EXPECT_THAT(refusal_of_header(with("[12,0]", "[12,17]"), data), testing::HasSubstr("takes 12 bytes"));
  EXPECT_THAT(refusal_of_header(with("[0]", "[12,17]"), data), testing::HasSubstr("they must be two"));
  EXPECT_THAT(refusal_of_header(with("[0,12,12]", "[12,17]"), data), testing::HasSubstr("they must be two"));
}

TEST_F(DamagedSafetensors, AreRefusedWhereTheirHeaderHasAnotherForm) {
  for (const char* json :
       {"[]",
        "3",
        "null",
        "{",
        "{}}",
        R"({"bias":3})",
        R"({"bias":[]})",
        R"({"bias":{}})",
        R"({"bias":{"dtype":"F32","shape":[]}})",
        R"({"bias":{"dtype":"F32","shape":[],"data_offsets":[0,4],"more":1}})",
        R"({"bias":{"dtype":3}})",
        R"({"bias":{"dtype":["F32"]}})",
        R"({"bias":{"shape":"3"}})",
        R"({"bias":{"shape":[-1]}})",
        R"({"bias":{"shape":[1.0]}})",
        R"({"bias":{"shape":[[3]]}})",
        R"({"bias":{"shape":{"x":3}}})",
        R"({"bias":{"shape":[true]}})",
        R"({"bias":{"shape":[null]}})",
        R"({"bias":{"dtype":"F32","dtype":"F32","shape":[],"data_offsets":[0,4]}})",
        R"({"__metadata__":{"a":3}})",
        R"({"__metadata__":"a"})",
        R"({"__metadata__":{"a":{"b":"c"}}})",
        R"({"__metadata__":{"a":"b","a":"b"}})",
        R"({"__metadata__":{},"__metadata__":{}})",
        "{\"\xff\":{}}",
        "\xef\xbb\xbf{}",
        R"({"bias":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"bias":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"}) {
    SCOPED_TRACE(json);
    EXPECT_THAT(refusal_of_header(json), testing::HasSubstr(", byte "));
  }
  EXPECT_THAT(refusal_of_header(std::string(100'000, '[')), testing::HasSubstr(", byte 8: "));
  EXPECT_THAT(refusal_of_header("{\"a\":" + std::string(100'000, '[')), testing::HasSubstr(", byte "));
}

TEST_F(DamagedSafetensors, ThatAreAnotherModelsAreRefused) {
  const Tensor bias = full({3}, 1.0, DType::f32);
  const Tensor flags = zeros({5}, DType::boolean);
  const auto refusal = [&](const NamedTensors& tensors) {
    save_tensors(path("other"), tensors);
    return refusal_of(content_of(path("other")));
  };
  EXPECT_THAT(refusal({{"bias", bias}}), testing::HasSubstr("the header has no \"flags\""));
  EXPECT_THAT(refusal({{"bias", bias}, {"flags", flags}, {"more", flags}}), testing::HasSubstr("the file has \"more\""));
  EXPECT_THAT(refusal({{"bias", bias}, {"flags", zeros({4}, DType::boolean)}}),
              testing::HasSubstr("\"flags\" is bool (4,); what is loaded is bool (5,)"));
  EXPECT_THAT(refusal({{"bias", cast(bias, DType::f64)}, {"flags", flags}}),
              testing::HasSubstr("\"bias\" is float64 (3,); what is loaded is float32 (3,)"));
}

TEST_F(DamagedSafetensors, ThatAreNoFilesAreRefused) {
  Tensor x = arange(3);
  const Tensor before = x;
  EXPECT_THROW(load(path("no such file"), x), FileError);
  EXPECT_THROW(load(folder_.string(), x), FileError);
  EXPECT_THROW(load("/dev/zero", x), FileError);
  EXPECT_EQ(x.ref(), before.ref());
}

}  // namespace
}  // namespace tutti::testing_data
