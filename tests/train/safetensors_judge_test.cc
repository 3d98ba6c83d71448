// A reader and a writer in Python, which know the format and nothing of tutti, agree with ours both ways; and so does the package
// that is the format's own.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdlib>

#include "data/saved_files.h"
#include "runner/python.h"
#include "tutti/train/safetensors.h"

namespace tutti::testing_data {
namespace {

using SafetensorsJudge = SavedFiles;

NamedTensors values() {
  const char* names[] = {"BOOL", "U8", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64"};
  NamedTensors out;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    const std::string name = names[i];
    const DType dtype = every_dtype[i];
    out[name + ".größe"] = cast(reshape(arange(6), {2, 3}) - 2, dtype);
    if (dtype == DType::bf16) continue;
    out[name + ".scalar"] = cast(constant(1), dtype);
    out[name + ".empty"] = zeros({3, 0}, dtype);
  }
  return out;
}

const FileMetadata texts{{"format", "pt"}, {"note", "größe \"x\""}};

int run_judge(const std::string& what, const std::string& path) {
  const std::string words = " " + what + " '" + path + "' '" + TUTTI_SAFETENSORS_PACKAGE + "'";
  return WEXITSTATUS(std::system((python_with_numpy(TUTTI_SAFETENSORS_JUDGE) + words).c_str()));
}
constexpr int is_missing = 77;

void expect_loaded(const std::string& path) {
  EXPECT_EQ(load_metadata(path), texts);
  const NamedTensors wanted = values();
  const NamedTensors loaded = load_tensors(path);
  ASSERT_EQ(loaded.size(), wanted.size());
  for (const auto& [name, tensor] : loaded) {
    SCOPED_TRACE(name);
    expect_same(tensor, wanted.at(name));
  }
}

TEST_F(SafetensorsJudge, ReadsWhatIsSaved) {
  save_tensors(path(), values(), texts);
  EXPECT_EQ(run_judge("check", path()), 0);
}

TEST_F(SafetensorsJudge, WritesWhatIsLoaded) {
  ASSERT_EQ(run_judge("write", path()), 0);
  expect_loaded(path());
}

TEST_F(SafetensorsJudge, OfPyPIReadsWhatIsSaved) {
  save_tensors(path(), values(), texts);
  const int ended = run_judge("package-check", path());
  if (ended == is_missing) GTEST_SKIP() << "no safetensors package; CMake says why it was not fetched";
  EXPECT_EQ(ended, 0);
}

TEST_F(SafetensorsJudge, OfPyPIWritesWhatIsLoaded) {
  const int ended = run_judge("package-write", path());
  if (ended == is_missing) GTEST_SKIP() << "no safetensors package; CMake says why it was not fetched";
  ASSERT_EQ(ended, 0);
  expect_loaded(path());
}

}  // namespace
}  // namespace tutti::testing_data
