// What is saved is loaded again, under the same names.
#include "tutti/train/safetensors.h"

#include <gmock/gmock.h>

#include <optional>
#include <tuple>

#include "data/saved_files.h"

namespace tutti::testing_data {
namespace {

using Safetensors = SavedFiles;

struct Layer {
  Variable weight;
  Variable bias;
};
struct Model {
  Layer hidden;
  std::vector<Layer> rest;
  Tensor scale;
  int steps = 0;
};

Model model_of(double value) {
  const auto layer = [&](double x) {
    return Layer{Variable(full({2, 3}, x, DType::f32)), Variable(full({3}, x + 1, DType::f32))};
  };
  return {layer(value), {layer(value + 10), layer(value + 20)}, full({}, value, DType::f64), 0};
}

TEST_F(Safetensors, KeepEveryDtypeAndShape) {
  NamedTensors all;
  for (const DType dtype : every_dtype) {
    const std::string name(to_string(dtype));
    all[name] = cast(reshape(arange(6), {2, 3}) - 2, dtype);
    all[name + ".scalar"] = cast(constant(1), dtype);
    all[name + ".empty"] = zeros({3, 0, 2}, dtype);
    all[name + ".odd"] = cast(arange(5), dtype);
  }
  save_tensors(path(), all);
  const NamedTensors loaded = load_tensors(path());
  ASSERT_EQ(loaded.size(), all.size());
  for (const auto& [name, tensor] : all) {
    SCOPED_TRACE(name);
    expect_same(loaded.at(name), tensor);
  }
}

TEST_F(Safetensors, KeepBitsThatAreNoNumbers) {
  const std::vector<std::uint32_t> bits{0x7fc00001U, 0xff800000U, 0x80000000U, 1U, 0xffffffffU};
  const Tensor x = from_bytes(DType::f32, {5}, std::as_bytes(std::span(bits)));
  save(path(), x);
  Tensor loaded = zeros({5});
  load(path(), loaded);
  EXPECT_EQ(bytes_of(loaded), bytes_of(x));
}

TEST_F(Safetensors, NameWhatIsInAStructByTheWayThere) {
  const Model model = model_of(1);
  save(path(), model);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : load_tensors(path())) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("hidden.bias", "hidden.weight", "rest.0.bias", "rest.0.weight", "rest.1.bias",
                                          "rest.1.weight", "scale"));
}

TEST_F(Safetensors, AssignVariablesAndReplaceTensors) {
  save(path(), model_of(1));
  Model model = model_of(100);
  const Variable shared = model.rest[1].bias;
  const Tensor before = shared.value();
  load(path(), model);
  expect_same(shared.value(), full({3}, 22.0, DType::f32));
  expect_same(before, full({3}, 121.0, DType::f32));
  expect_same(model.hidden.weight.value(), full({2, 3}, 1.0, DType::f32));
  expect_same(model.scale, full({}, 1.0, DType::f64));
}

TEST_F(Safetensors, LoadTheLayersOfASequential) {
  struct Net {
    Dense first{2, 3};
    Sequential rest;
  };
  const auto net_of = [](const std::vector<Dense>& layers) {
    return Net{.rest = Sequential(layers[0], Dropout{0.5}, layers[1], Sequential(layers[2]))};
  };
  const auto draw = [] { return std::vector{Dense(3, 3), Dense(3, 3), Dense(3, 3)}; };
  const std::vector<Dense> saved = draw();
  const std::vector<Dense> loaded = draw();
  const Net net = net_of(saved);
  Net other = net_of(loaded);
  save(path(), net);
  load(path(), other);
  expect_same(other.first.weight.value(), net.first.weight.value());
  for (std::size_t i = 0; i < saved.size(); ++i) {
    expect_same(loaded[i].weight.value(), saved[i].weight.value());
    expect_same(loaded[i].bias->value(), saved[i].bias->value());
  }
  const Evaluation after_training;
  expect_same(other.rest(ones({2, 3})), net.rest(ones({2, 3})));
  save(path(), net.rest);
  load(path(), other.rest);
}

TEST_F(Safetensors, TakeAnyNameAndAnyNesting) {
  std::map<std::string, std::tuple<Tensor, std::optional<Variable>>> nested;
  nested.emplace("größe \"1\"\n\\ 漢字 \xf0\x9f\x99\x82", std::tuple(arange(3), Variable(arange(4))));
  nested.emplace("dots.in.it", std::tuple(arange(5), std::nullopt));
  save(path(), nested);
  auto loaded = nested;
  std::get<0>(loaded.begin()->second) = zeros({5}, DType::i64);
  std::get<0>(std::next(loaded.begin())->second) = zeros({3}, DType::i64);
  load(path(), loaded);
  expect_same(std::get<0>(loaded.begin()->second), arange(5));
  expect_same(std::get<0>(std::next(loaded.begin())->second), arange(3));
}

TEST_F(Safetensors, WriteViewsInRowOrder) {
  const Tensor x = reshape(arange(24), {2, 3, 4});
  const NamedTensors views{
      {"turned", permute_dims(x, {2, 0, 1})}, {"part", slice(x, 2, {1, {}, 2})}, {"wide", broadcast_to(x, {2, 2, 3, 4})}};
  save_tensors(path(), views);
  for (const auto& [name, tensor] : load_tensors(path())) {
    SCOPED_TRACE(name);
    expect_same(tensor, views.at(name));
  }
}

TEST_F(Safetensors, CarryTextsBesideTheTensors) {
  const FileMetadata texts{{"format", "pt"}, {"note", "größe \"x\""}, {"", ""}};
  save(path(), arange(3), texts);
  EXPECT_EQ(load_metadata(path()), texts);
  save(path(), arange(3));
  EXPECT_TRUE(load_metadata(path()).empty());
}

TEST_F(Safetensors, LieInTheFileWithoutGapsAndAligned) {
  save_tensors(path(), {{"a", zeros({3}, DType::u8)}, {"b", zeros({2}, DType::f64)}, {"c", zeros({1}, DType::f32)}});
  const std::string bytes = content_of(path());
  const auto length = static_cast<unsigned char>(bytes[0]) + 256U * static_cast<unsigned char>(bytes[1]);
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(bytes.size(), 8 + length + 3 + 16 + 4);
  const std::string json = bytes.substr(8, length);
  EXPECT_THAT(json, testing::HasSubstr(R"("b":{"dtype":"F64","shape":[2],"data_offsets":[0,16]})"));
  EXPECT_THAT(json, testing::HasSubstr(R"("c":{"dtype":"F32","shape":[1],"data_offsets":[16,20]})"));
  EXPECT_THAT(json, testing::HasSubstr(R"("a":{"dtype":"U8","shape":[3],"data_offsets":[20,23]})"));
}

TEST_F(Safetensors, AreReadFromAndLoadedToTheDeviceOfEach) {
  simulate_gpus(2);
  const auto on = [](const char* device, double value) {
    const DeviceScope there(device);
    return full({1000}, value, DType::f32);
  };
  struct Parts {
    Tensor tensor;
    Variable variable;
    Variable host;
  };
  save(path(), Parts{on("GPU:0", 1), Variable(on("GPU:1", 2)), Variable(on("CPU:0", 3))});
  Parts loaded{on("GPU:1", 0), Variable(on("GPU:0", 0)), Variable(on("CPU:0", 0))};
  {
    const SyncScope none(OnSync::error);
    load(path(), loaded);
  }
  expect_same(loaded.tensor, on("CPU:0", 1));
  expect_same(loaded.variable.value(), on("CPU:0", 2));
  expect_same(loaded.host.value(), on("CPU:0", 3));
  EXPECT_EQ(loaded.tensor.device(), on("GPU:1", 0).device());
  EXPECT_EQ(loaded.variable.value().device(), on("GPU:0", 0).device());
}

TEST_F(Safetensors, WaitOnceForAllThatIsSaved) {
  simulate_gpus(2);
  NamedTensors all;
  for (int i = 0; i < 20; ++i) {
    const DeviceScope there(i % 2 == 0 ? "GPU:0" : "GPU:1");
    all["x" + std::to_string(i)] = full({100}, i, DType::f32) + 1;
  }
  reset_sync_totals();
  const SyncCount count;
  save_tensors(path(), all);
  const unsigned line = __LINE__ - 1;
  EXPECT_EQ(count.demand_syncs(), 1U);
  bool is_told = false;
  for (const SyncTotals& each : sync_totals()) {
    if (each.reason != SyncReason::value_read) continue;
    is_told = true;
    EXPECT_EQ(each.site.line(), line);
    EXPECT_EQ(each.bytes, 20 * 400U);
    EXPECT_EQ(each.stated[static_cast<std::size_t>(Intent::store)], 1U);
  }
  EXPECT_TRUE(is_told);
}

TEST_F(Safetensors, LeaveUndefinedTensorsOutAndFillThem) {
  struct Pair {
    Tensor a;
    Tensor b;
  };
  save(path(), Pair{arange(3), {}});
  EXPECT_EQ(load_tensors(path()).size(), 1U);
  Pair both;
  load(path(), both);
  expect_same(both.a, arange(3));
  EXPECT_FALSE(both.b.is_defined());
}

TEST_F(Safetensors, RefuseNamesThatCannotBeWritten) {
  EXPECT_THROW(save_tensors(path(), {{"__metadata__", arange(3)}}), InvalidArgument);
  EXPECT_THROW(save_tensors(path(), {{"\xff", arange(3)}}), InvalidArgument);
  EXPECT_THROW(save_tensors(path(), {{"x", Tensor()}}), InvalidArgument);
  EXPECT_THROW(save(path(), 3), InvalidArgument) << "nothing in it";
  const std::map<std::string, std::map<std::string, Tensor>> twice{{"a", {{"b.c", arange(3)}}}, {"a.b", {{"c", arange(3)}}}};
  EXPECT_THROW(save(path(), twice), InvalidArgument);
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace tutti::testing_data
