#include "tutti/place/device_name.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/place/device_name_repair.h"

namespace tutti {
namespace {

DeviceSpec device(const char* type) { return {.job = {}, .replica = {}, .task = {}, .type = type, .index = {}}; }
DeviceSpec device(const char* type, unsigned index) {
  return {.job = {}, .replica = {}, .task = {}, .type = type, .index = index};
}

// The message without the site; empty where the name is accepted.
std::string complaint(std::string_view name) {
  try {
    parse_device_name(name);
    return {};
  } catch (const InvalidDeviceName& error) {
    const std::string message = error.what();
    return message.substr(0, message.rfind(" [at "));
  }
}

TEST(DeviceName, EverySpellingOfOneDeviceMeansTheSame) {
  for (const char* name : {"/device:GPU:0", "/GPU:0", "GPU:0", "gpu:0", "/gpu:0", "Gpu:0", "device:gpu:0", "/device:Gpu:0",
                           "cuda:0", "/CUDA:0", "/device:cuda:0", "GPU:00"}) {
    EXPECT_EQ(parse_device_name(name), device("GPU", 0)) << name;
  }
  EXPECT_EQ(parse_device_name("cuda:1"), device("GPU", 1));
  EXPECT_EQ(parse_device_name("CPU:0"), device("CPU", 0));
}

TEST(DeviceName, ATypeAloneLeavesTheIndexOpen) {
  for (const char* name : {"/device:GPU", "GPU", "/GPU", "gpu", "cuda", "GPU:*", "/device:GPU:*"}) {
    EXPECT_EQ(parse_device_name(name), device("GPU")) << name;
  }
  EXPECT_EQ(parse_device_name("cpu"), device("CPU"));
}

TEST(DeviceName, NothingAndStarsSetNothing) {
  for (const char* name :
       {"", "/", "*", "/*", "*:*", "/device:*", "/device:*:*", "/job:*", "/job:*/replica:*/task:*/device:*:*"}) {
    EXPECT_EQ(parse_device_name(name), DeviceSpec{}) << name;
  }
}

TEST(DeviceName, AFullNameKeepsEveryFieldInAnyOrder) {
  const DeviceSpec full{.job = "worker_1", .replica = 1, .task = 2, .type = "GPU", .index = 3};
  std::vector<std::string> parts{"/job:worker_1", "/replica:1", "/task:2", "/device:GPU:3"};
  std::ranges::sort(parts);
  do {
    const std::string name = parts[0] + parts[1] + parts[2] + parts[3];
    EXPECT_EQ(parse_device_name(name), full) << name;
  } while (std::ranges::next_permutation(parts).found);
  EXPECT_EQ(parse_device_name("/gpu:*/job:*/replica:4").replica, 4U);
}

TEST(DeviceName, UnknownTypesAreGoodNamesOfDevicesThatMayNotExist) {
  EXPECT_EQ(parse_device_name("/device:myspecialdevice:13"), device("MYSPECIALDEVICE", 13));
  EXPECT_EQ(parse_device_name("TPU:0"), device("TPU", 0));
  EXPECT_EQ(parse_device_name("/device:FPGA"), device("FPGA"));
}

TEST(DeviceName, PrintsTheFieldsItHasInCanonicalOrder) {
  EXPECT_EQ(to_string(parse_device_name("gpu:3/task:2/job:a/replica:1")), "/job:a/replica:1/task:2/device:GPU:3");
  EXPECT_EQ(to_string(parse_device_name("gpu")), "/device:GPU");
  EXPECT_EQ(to_string(parse_device_name("/task:7/job:x")), "/job:x/task:7");
  EXPECT_EQ(to_string(DeviceSpec{}), "");
  EXPECT_EQ(canonical_name("GPU", 0), "/job:localhost/replica:0/task:0/device:GPU:0");
  EXPECT_EQ(to_string(parse_device_name(canonical_name("CPU", 12))), canonical_name("CPU", 12));
}

TEST(DeviceName, ComplaintsSayWhereAndWhatWasMeant) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"/gpu:O", "'/gpu:O': index expected at position 5; did you mean '/GPU:0'?"},
      {"gpu:l", "'gpu:l': index expected at position 4; did you mean 'GPU:1'?"},
      {"/GUP:0", "'/GUP:0': unknown part 'GUP' at position 1; did you mean '/GPU:0'?"},
      {"GPU0", "'GPU0': unknown part 'GPU0' at position 0; did you mean 'GPU:0'?"},
      {"gpu-2", "'gpu-2': '/' or the end expected at position 3; did you mean 'GPU:2'?"},
      {"cdua:1", "'cdua:1': unknown part 'cdua' at position 0; did you mean 'CUDA:1'?"},
      {"/GPU:", "'/GPU:': index expected at position 5; did you mean '/GPU'?"},
      {"/GPU:0/", "'/GPU:0/': a part such as 'GPU:0' or 'job:localhost' expected at position 7; did you mean '/GPU:0'?"},
      {"//GPU:0", "'//GPU:0': a part such as 'GPU:0' or 'job:localhost' expected at position 1; did you mean '/GPU:0'?"},
      {" GPU:0", "' GPU:0': a part such as 'GPU:0' or 'job:localhost' expected at position 0; did you mean 'GPU:0'?"},
      {"/devcie:GPU:0", "'/devcie:GPU:0': unknown part 'devcie' at position 1; did you mean '/device:GPU:0'?"},
      {"/DEVICE:GPU:0", "'/DEVICE:GPU:0': unknown part 'DEVICE' at position 1; did you mean '/device:GPU:0'?"},
      {"/physical_device:GPU:0",
       "'/physical_device:GPU:0': unknown part 'physical_device' at position 1; did you mean '/device:GPU:0'?"},
      {"/job:localhost/task:O/gpu:0",
       "'/job:localhost/task:O/gpu:0': task number expected at position 20; did you mean '/job:localhost/task:0/GPU:0'?"},
      {"/device:", "'/device:': device type expected at position 8"},
      {"/device::0", "'/device::0': device type expected at position 8"},
      {"/job:", "'/job:': job name expected at position 5"},
      {"/job:7", "'/job:7': job name expected at position 5"},
      {"/replica:", "'/replica:': replica number expected at position 9"},
      {"/device:*:3", "'/device:*:3': an index needs a type, '*' expected at position 10"},
      {"GPU:-1", "'GPU:-1': index expected at position 4"},
      {"GPU:4294967296", "'GPU:4294967296': index too large at position 4"},
      {"/task:99999999999999999999", "'/task:99999999999999999999': task number too large at position 6"},
      {"/job:a/job:b", "'/job:a/job:b': a second job at position 7"},
      {"/job:*/job:b", "'/job:*/job:b': a second job at position 7"},
      {"/replica:1/replica:1", "'/replica:1/replica:1': a second replica at position 11"},
      {"/task:1/task:2", "'/task:1/task:2': a second task at position 8"},
      {"/GPU:0/CPU:0", "'/GPU:0/CPU:0': a second device at position 7"},
      {"/device:*/CPU:0", "'/device:*/CPU:0': a second device at position 10"},
      {"somewhere", "'somewhere': unknown part 'somewhere' at position 0"},
      {"GPU:0\n", "'GPU:0\\x0a': '/' or the end expected at position 5; did you mean 'GPU:0'?"},
  };
  for (const auto& [name, expected] : cases) EXPECT_EQ(complaint(name), expected);
}

TEST(DeviceName, AnEmbeddedNulIsAFaultLikeAnyOther) {
  EXPECT_EQ(complaint(std::string_view("GPU:0\0", 6)),
            "'GPU:0\\x00': '/' or the end expected at position 5; did you mean 'GPU:0'?");
}

TEST(DeviceName, TheComplaintNamesTheUsersLine) {
  try {
    parse_device_name("?");
    FAIL();
  } catch (const InvalidDeviceName& error) {
    EXPECT_NE(std::string(error.what()).find("device_name_test.cc:"), std::string::npos) << error.what();
  }
}

TEST(DeviceName, AMegabyteOfGarbageGivesAShortComplaint) {
  for (const char c : {'a', '/', ':', '*', '0', '\x01', '\xff'}) {
    const std::string garbage(1'000'000, c);
    EXPECT_NE(complaint(garbage), "");
    EXPECT_LT(complaint(garbage).size(), 1000U);
    EXPECT_LT(complaint("/job:" + garbage).size(), 1000U);
    EXPECT_NE(complaint("GPU:" + garbage), "");
  }
}

TEST(DeviceName, TheLongestNameIsAcceptedAndOneMoreCharacterIsNot) {
  const std::string longest = "/job:" + std::string(longest_device_name - 5, 'x');
  EXPECT_EQ(complaint(longest), "");
  EXPECT_NE(complaint(longest + "x").find("the name goes on after 1024 characters at position 1024"), std::string::npos);
}

TEST(DeviceName, MergingTakesEachFieldFromTheInnerNameFirst) {
  const auto merged = [](const char* outer, const char* inner) {
    return to_string(merge(parse_device_name(outer), parse_device_name(inner)));
  };
  EXPECT_EQ(merged("/job:a/task:1", "GPU:0"), "/job:a/task:1/device:GPU:0");
  EXPECT_EQ(merged("/job:a/replica:2/GPU:1", "/job:b"), "/job:b/replica:2/device:GPU:1");
  EXPECT_EQ(merged("GPU:1", "GPU:0"), "/device:GPU:0");
  EXPECT_EQ(merged("GPU:1", "GPU"), "/device:GPU:1");
  EXPECT_EQ(merged("GPU:1", ""), "/device:GPU:1");
  EXPECT_EQ(merged("", "GPU:1"), "/device:GPU:1");
}

TEST(DeviceName, MergingNeverCarriesAnIndexToAnotherType) {
  EXPECT_EQ(merge(device("GPU", 1), device("CPU")), device("CPU"));
  EXPECT_EQ(merge(device("GPU", 1), device("CPU", 0)), device("CPU", 0));
}

unsigned pick(std::mt19937& random, unsigned below) { return std::uniform_int_distribution<unsigned>(0, below - 1)(random); }

DeviceSpec random_spec(std::mt19937& random) {
  DeviceSpec spec;
  if (pick(random, 2) != 0) spec.job = std::vector<std::string>{"localhost", "worker", "a", "ps_2"}[pick(random, 4)];
  if (pick(random, 2) != 0) spec.replica = random();
  if (pick(random, 2) != 0) spec.task = pick(random, 10);
  if (pick(random, 3) != 0) spec.type = std::vector<std::string>{"CPU", "GPU", "TPU", "MY_NPU2"}[pick(random, 4)];
  if (spec.type && pick(random, 2) != 0) spec.index = pick(random, 100);
  return spec;
}

TEST(DeviceName, WhatIsPrintedParsesBackWhateverTheOrderAndTheCase) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const DeviceSpec spec = random_spec(random);
    EXPECT_EQ(parse_device_name(to_string(spec)), spec);

    std::vector<std::string> parts;
    if (spec.job) parts.push_back("job:" + *spec.job);
    if (spec.replica) parts.push_back("replica:" + std::to_string(*spec.replica));
    if (spec.task) parts.push_back("task:" + std::to_string(*spec.task));
    if (spec.type) {
      std::string type = *spec.type;
      for (char& c : type) c = static_cast<char>(pick(random, 2) != 0 ? std::tolower(c) : c);
      parts.push_back("device:" + type + (spec.index ? ":" + std::to_string(*spec.index) : ""));
    }
    std::ranges::shuffle(parts, random);
    std::string name;
    for (const std::string& part : parts) name += "/" + part;
    EXPECT_EQ(parse_device_name(name), spec) << name;
  }
}

TEST(DeviceName, RandomNamesParseToSomethingStableOrThrowAndSuggestionsParse) {
  static constexpr std::string_view alphabet = "//::**0129gpuGPUcdevtaskjobl_-O \n\xff";
  const std::vector<std::string> words{"/job:", "/replica:", "/task:", "/device:", "GPU", "cuda", ":0", "/"};
  unsigned accepted = 0;
  unsigned suggested = 0;
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    std::mt19937 random(seed);
    std::string name;
    for (unsigned i = pick(random, 6); i > 0; --i) {
      name += pick(random, 2) != 0 ? words[pick(random, 8)]
                                   : std::string(1, alphabet[pick(random, static_cast<unsigned>(alphabet.size()))]);
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed << " name " << testing::PrintToString(name));
    const ParsedName parsed = try_parse_device_name(name);
    if (parsed.fault.empty()) {
      ++accepted;
      EXPECT_EQ(parse_device_name(to_string(parsed.spec)), parsed.spec);
      continue;
    }
    EXPECT_THROW(parse_device_name(name), InvalidDeviceName);
    EXPECT_LE(parsed.position, name.size());
    const std::string nearest = nearest_device_name(name);
    suggested += nearest.empty() ? 0 : 1;
    EXPECT_EQ(complaint(nearest), "");
  }
  EXPECT_GT(accepted, 100U);
  EXPECT_GT(suggested, 100U);
}

}  // namespace
}  // namespace tutti
