// index(), at(), gathers and scatters over dtypes and layouts, judged by NumPy.
#include <gtest/gtest.h>

#include "oracle/index_items.h"

namespace tutti::oracle {
namespace {

template <class Visit>
void for_each_kind(Visit&& visit) {
  for (const DType dtype : all_dtypes) {
    for (const Layout layout : all_layouts) visit(dtype, layout);
  }
}

Layout any_layout(Random& random) { return all_layouts[static_cast<std::size_t>(random.from(0, all_layouts.size() - 1))]; }

std::vector<const Input*> inputs_of(const Input& x, const Items& items, const Input* values = nullptr) {
  std::vector<const Input*> out{&x};
  for (const auto& each : items.tensors) out.push_back(each.get());
  if (values != nullptr) out.push_back(values);
  return out;
}

void check_index(Random& random, Oracle& oracle, ItemKinds kinds) {
  for_each_kind([&](DType dtype, Layout layout) {
    const Shape shape = random.shape(kinds == ItemKinds::mask ? 1 : 0, 4);
    const Input x = random_input(random, dtype, shape, layout, Values::any);
    const Items items = random_items(random, shape, kinds);
    oracle.add(random.seed(), "index", items.json, inputs_of(x, items), index(x.tensor, items.items));
  });
}

TEST(AgainstNumPy, IndexWithIntegersRangesEllipsisAndNewAxes) {
  compare_with_numpy(20, [](Random& r, Oracle& o) { check_index(r, o, ItemKinds::basic); });
}
TEST(AgainstNumPy, IndexWithTensors) {
  compare_with_numpy(20, [](Random& r, Oracle& o) { check_index(r, o, ItemKinds::indices); });
}
TEST(AgainstNumPy, IndexWithAMask) {
  compare_with_numpy(20, [](Random& r, Oracle& o) { check_index(r, o, ItemKinds::mask); });
}
TEST(AgainstNumPy, IndexWithTensorsAndAMask) {
  compare_with_numpy(20, [](Random& r, Oracle& o) { check_index(r, o, ItemKinds::all); });
}

constexpr std::array modes{"set", "add", "multiply", "min", "max"};

Tensor changed(At places, std::size_t mode, const TensorArg& values) {
  switch (mode) {
    case 0: return std::move(places).set(values);
    case 1: return std::move(places).add(values);
    case 2: return std::move(places).multiply(values);
    case 3: return std::move(places).min(values);
    default: return std::move(places).max(values);
  }
}

// Sums and products of floats stay in range, so that no infinities of either sign meet.
Values values_for(DType dtype, std::size_t mode) {
  return is_floating(dtype) && (mode == 1 || mode == 2) ? Values::moderate : Values::any;
}

void check_at(Random& random, Oracle& oracle, ItemKinds kinds) {
  for_each_kind([&](DType dtype, Layout layout) {
    for (std::size_t mode = 0; mode < modes.size(); ++mode) {
      const Shape shape = random.shape(kinds == ItemKinds::mask ? 1 : 0, 4);
      const Input x = random_input(random, dtype, shape, layout, values_for(dtype, mode));
      const Items items = random_items(random, shape, kinds);
      const Shape places = index(x.tensor, items.items).shape();
      const DType other = random.one_in(4) ? DType::boolean : dtype;
      const Input values = random_input(random, other, random.one_in(3) ? random.broadcast_partner(places) : places,
                                        any_layout(random), values_for(dtype, mode));
      const std::string params = items.json + R"(,"mode":")" + modes[mode] + "\"";
      oracle.add(random.seed(), "at", params, inputs_of(x, items, &values),
                 changed(at(x.tensor, items.items), mode, values.tensor));
      const Input one = make_input(DType::i8, {}, {std::byte{2}});
      oracle.add(random.seed(), "at", params, inputs_of(x, items, &one),
                 changed(at(contiguous(x.tensor), items.items), mode, dtype == DType::boolean ? TensorArg(true) : 2));
    }
  });
}

TEST(AgainstNumPy, AtRanges) {
  compare_with_numpy(6, [](Random& r, Oracle& o) { check_at(r, o, ItemKinds::basic); });
}
TEST(AgainstNumPy, AtIndices) {
  compare_with_numpy(6, [](Random& r, Oracle& o) { check_at(r, o, ItemKinds::indices); });
}
TEST(AgainstNumPy, AtAMask) {
  compare_with_numpy(6, [](Random& r, Oracle& o) { check_at(r, o, ItemKinds::mask); });
}
TEST(AgainstNumPy, AtIndicesAndAMask) {
  compare_with_numpy(6, [](Random& r, Oracle& o) { check_at(r, o, ItemKinds::all); });
}

// Large enough for several cores, one way of sharing the work after the other.
TEST(AgainstNumPy, AtManyPlaces) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    struct Kind {
      Shape x;
      std::size_t axis;
      std::int64_t indices;
    };
    for (const DType dtype : all_dtypes) {
      for (const Kind& kind :
           {Kind{{70, 130}, 0, 900}, Kind{{70000}, 0, 90000}, Kind{{150, 40, 3}, 1, 200}, Kind{{9, 9}, 0, 9000}}) {
        for (std::size_t mode = 0; mode < modes.size(); ++mode) {
          const Input x = random_input(random, dtype, kind.x, Layout::dense, values_for(dtype, mode));
          Items items;
          if (kind.axis == 1) items.add(Range{}, R"(["range",null,null,1])");
          items.add_tensor(random_indices(random, {kind.indices}, kind.x[kind.axis]));
          items.json = "\"items\":[" + items.json + "]";
          Shape places = kind.x;
          places[kind.axis] = kind.indices;
          const Input values = random_input(random, dtype, places, any_layout(random), values_for(dtype, mode));
          oracle.add(random.seed(), "at", items.json + R"(,"mode":")" + modes[mode] + "\"", inputs_of(x, items, &values),
                     changed(at(x.tensor, items.items), mode, values.tensor));
          if (mode == 0) oracle.add(random.seed(), "index", items.json, inputs_of(x, items), index(x.tensor, items.items));
        }
      }
    }
  });
}

TEST(AgainstNumPy, TakeAlongAxisAndGather) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Shape shape = random.shape(1, 4);
      const auto axis = static_cast<std::size_t>(random.from(0, static_cast<std::int64_t>(shape.size()) - 1));
      const Input x = random_input(random, dtype, shape, layout, Values::any);
      const std::string params = R"("axis":)" + std::to_string(static_cast<std::int64_t>(axis) -
                                                               (random.one_in(2) ? static_cast<std::int64_t>(shape.size()) : 0));
      Shape wanted = shape;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (random.one_in(4)) wanted[i] = 1;
      }
      wanted[axis] = shape[axis] == 0 ? 0 : random.from(0, 9);
      const Input indices = random_indices(random, wanted, shape[axis]);
      oracle.add(random.seed(), "take_along_axis", params, {&x, &indices},
                 take_along_axis(x.tensor, indices.tensor, static_cast<std::int64_t>(axis)));
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (i != axis) wanted[i] = random.from(0, shape[i]);
      }
      const Input covering = random_indices(random, wanted, shape[axis]);
      oracle.add(random.seed(), "gather", params, {&x, &covering},
                 gather(x.tensor, static_cast<std::int64_t>(axis), covering.tensor));
      const Input line = random_indices(random, {shape[axis] == 0 ? 0 : random.from(0, 20)}, shape[axis]);
      oracle.add(random.seed(), "index_select", params, {&x, &line},
                 index_select(x.tensor, static_cast<std::int64_t>(axis), line.tensor));
    });
  });
}

TEST(AgainstNumPy, ScatterAlongAnAxis) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      for (std::size_t mode = 0; mode < modes.size(); ++mode) {
        const Shape shape = random.shape(1, 4);
        const auto axis = static_cast<std::size_t>(random.from(0, static_cast<std::int64_t>(shape.size()) - 1));
        const Input x = random_input(random, dtype, shape, layout, values_for(dtype, mode));
        Shape wanted = shape;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          if (random.one_in(2)) wanted[i] = random.from(0, shape[i]);
        }
        wanted[axis] = shape[axis] == 0 ? 0 : random.from(1, 12);
        const Input indices = random_indices(random, wanted, shape[axis]);
        const Input values = random_input(random, dtype, random.one_in(3) ? random.broadcast_partner(wanted) : wanted,
                                          any_layout(random), values_for(dtype, mode));
        oracle.add(random.seed(), "scatter", R"("axis":)" + std::to_string(axis) + R"(,"mode":")" + modes[mode] + "\"",
                   {&x, &indices, &values},
                   scatter(x.tensor, static_cast<std::int64_t>(axis), indices.tensor, values.tensor,
                           {.mode = static_cast<ScatterMode>(mode)}));
      }
    });
  });
}

TEST(AgainstNumPy, GatherAndScatterOfManyElements) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const std::size_t axis : {std::size_t{0}, std::size_t{1}}) {
        const Shape shape{160, 420};
        Shape wanted = shape;
        wanted[axis] = 430;
        const Input x = random_input(random, dtype, shape, any_layout(random), values_for(dtype, 1));
        const Input indices = random_indices(random, wanted, shape[axis]);
        const Input values = random_input(random, dtype, wanted, any_layout(random), values_for(dtype, 1));
        const auto along = static_cast<std::int64_t>(axis);
        const std::string params = R"("axis":)" + std::to_string(axis);
        oracle.add(random.seed(), "gather", params, {&x, &indices}, gather(x.tensor, along, indices.tensor));
        for (std::size_t mode = 0; mode < modes.size(); ++mode) {
          oracle.add(random.seed(), "scatter", params + R"(,"mode":")" + modes[mode] + "\"", {&x, &indices, &values},
                     scatter(x.tensor, along, indices.tensor, values.tensor, {.mode = static_cast<ScatterMode>(mode)}));
        }
      }
    }
  });
}

}  // namespace
}  // namespace tutti::oracle
