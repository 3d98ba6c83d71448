// Tables in text are read with their names, or refused at a line and a column.
#include <gmock/gmock.h>

#include <cmath>

#include "data/saved_files.h"

namespace tutti::testing_data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Csv : public SavedFiles {
 protected:
  CsvTable loaded(const std::string& content, const CsvOptions& options = {}) {
    put(path(), content);
    return load_csv(path(), options);
  }
  std::string refusal_of(const std::string& content, const CsvOptions& options = {}) {
    try {
      loaded(content, options);
      ADD_FAILURE() << "was loaded";
    } catch (const FileError& error) {
      return error.message().substr(path().size());
    }
    return {};
  }
};

TEST_F(Csv, GivesNamesAndNumbers) {
  const CsvTable table = loaded("width, height\n1,2.5\n-3e2,+4\n");
  EXPECT_THAT(table.columns, ElementsAre("width", "height"));
  expect_same(table.values, constant({{1.0F, 2.5F}, {-300.0F, 4.0F}}));
  expect_same(table.column("height"), constant({2.5F, 4.0F}));
}

TEST_F(Csv, TakesLineEndsMarksAndQuotesAsTheyCome) {
  const CsvTable table = loaded("\xEF\xBB\xBF\"a, \"\"b\"\"\";c\r\n\r\n1;2\r3;\"4\"", {.delimiter = ';', .dtype = DType::i64});
  EXPECT_THAT(table.columns, ElementsAre("a, \"b\"", "c"));
  expect_same(table.values, constant({{std::int64_t{1}, std::int64_t{2}}, {std::int64_t{3}, std::int64_t{4}}}));
}

TEST_F(Csv, WithoutAHeaderOrRowsIsATableToo) {
  expect_same(loaded("1,2\n", {.header = false, .dtype = DType::f64}).values, constant({{1.0, 2.0}}));
  EXPECT_EQ(loaded("a,b\n").values.shape(), (Shape{0, 2}));
  EXPECT_EQ(loaded("", {.header = false}).values.shape(), (Shape{0, 0}));
}

TEST_F(Csv, MissingFieldsMeanWhatTheCallerSays) {
  EXPECT_THAT(refusal_of("a,b\n1,\n"), HasSubstr("line 2, column 2: the field is empty"));
  expect_same(loaded("a,b\n1,\n", {.missing = -1}).values, constant({{1.0F, -1.0F}}));
}

TEST_F(Csv, TakesBlanksBetweenQuotedFieldsAndVerySmallNumbers) {
  const CsvTable table = loaded("\"a\" \"b\"\n1 \"2\"\n", {.delimiter = ' '});
  EXPECT_THAT(table.columns, ElementsAre("a", "b"));
  expect_same(table.values, constant({{1.0F, 2.0F}}));
  expect_same(loaded("a,b,c\n1e-50,-1e-42,+5\n").values, constant({{0.0F, -1e-42F, 5.0F}}));
}

TEST_F(Csv, IsRefusedAtThePlaceOfTheFault) {
  EXPECT_THAT(refusal_of("a\n+-5\n"), HasSubstr("\"+-5\" is no number"));
  EXPECT_THAT(refusal_of("a\n1e50\n"), HasSubstr("\"1e50\" does not fit"));
  for (const double missing : {0.5, 1e19, std::nan("")})
    EXPECT_THROW(loaded("a,b\n1,\n", {.dtype = DType::i64, .missing = missing}), InvalidArgument) << missing;
  EXPECT_THAT(refusal_of("a,b\n1,2\n3,x4\n"), HasSubstr("line 3, column 2: \"x4\" is no number"));
  EXPECT_THAT(refusal_of("a,b\n1,2\n3\n"), HasSubstr("line 3, column 1: the line has 1 fields, those before it 2"));
  EXPECT_THAT(refusal_of("a\n1\n\n\"\n2"), HasSubstr("line 4, column 1: the quoted field has no end"));
  EXPECT_THAT(refusal_of("a\n\"1\"2\n"), HasSubstr("behind the end of a quoted field"));
  EXPECT_THAT(refusal_of("a\n9223372036854775808\n", {.dtype = DType::i64}), HasSubstr("does not fit"));
  EXPECT_THAT(refusal_of(""), HasSubstr("the file is empty"));
  EXPECT_THROW(loaded("a\n1\n", {.dtype = DType::u8}), InvalidArgument);
  EXPECT_THROW(static_cast<void>(loaded("a\n1\n").column("b")), InvalidArgument);
}

}  // namespace
}  // namespace tutti::testing_data
