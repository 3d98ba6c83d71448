// Every op, over dtypes and layouts, on the CPU and on a simulated GPU, judged by NumPy.
#include <gtest/gtest.h>

#include <cstring>

#include "oracle/oracle.h"

namespace tutti::oracle {
namespace {

template <class Visit>
void for_each_kind(Visit&& visit) {
  for (const DType dtype : all_dtypes) {
    for (const Layout layout : all_layouts) visit(dtype, layout);
  }
}

Layout any_layout(Random& random) { return all_layouts[static_cast<std::size_t>(random.from(0, all_layouts.size() - 1))]; }
DType any_dtype(Random& random) { return all_dtypes[static_cast<std::size_t>(random.from(0, all_dtypes.size() - 1))]; }

template <class Op>
void unary(Random& random, Oracle& oracle, const char* name, Op op, bool (*takes)(DType)) {
  for_each_kind([&](DType dtype, Layout layout) {
    if (!takes(dtype)) return;
    const Input x = random_input(random, dtype, random.shape(), layout, Values::any);
    oracle.add(random.seed(), name, "", {&x}, op(x.tensor));
  });
}

template <class Op>
void binary(Random& random, Oracle& oracle, const char* name, Op op) {
  for_each_kind([&](DType dtype, Layout layout) {
    const Shape shape = random.shape();
    const bool swaps = random.one_in(2);
    const DType other = random.one_in(3) ? any_dtype(random) : dtype;
    const Input a = random_input(random, dtype, shape, layout, Values::any);
    const Input b =
        random_input(random, other, random.one_in(2) ? shape : random.broadcast_partner(shape), any_layout(random), Values::any);
    oracle.add(random.seed(), name, "", {swaps ? &b : &a, swaps ? &a : &b},
               swaps ? op(b.tensor, a.tensor) : op(a.tensor, b.tensor));
  });
}

TEST(AgainstNumPy, Add) {
  compare_with_numpy(6,
                     [](Random& r, Oracle& o) { binary(r, o, "add", [](const Tensor& a, const Tensor& b) { return a + b; }); });
}

TEST(AgainstNumPy, Multiply) {
  compare_with_numpy(
      6, [](Random& r, Oracle& o) { binary(r, o, "multiply", [](const Tensor& a, const Tensor& b) { return a * b; }); });
}

TEST(AgainstNumPy, Exp) {
  compare_with_numpy(8, [](Random& r, Oracle& o) {
    unary(
        r, o, "exp", [](const Tensor& x) { return exp(x); }, is_floating);
  });
}

TEST(AgainstNumPy, Relu) {
  compare_with_numpy(6, [](Random& r, Oracle& o) {
    unary(
        r, o, "relu", [](const Tensor& x) { return relu(x); }, [](DType d) { return d != DType::boolean; });
  });
}

TEST(AgainstNumPy, Where) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Shape shape = random.shape();
      const Input condition =
          random_input(random, DType::boolean, random.broadcast_partner(shape), any_layout(random), Values::any);
      const Input a = random_input(random, dtype, shape, layout, Values::any);
      const Input b = random_input(random, random.one_in(4) ? any_dtype(random) : dtype, random.broadcast_partner(shape),
                                   any_layout(random), Values::any);
      oracle.add(random.seed(), "where", "", {&condition, &a, &b}, where(condition.tensor, a.tensor, b.tensor));
    });
  });
}

TEST(AgainstNumPy, CastBetweenAllDTypes) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      for (const DType to : all_dtypes) {
        const Input x = random_input(random, dtype, random.shape(), layout, Values::any);
        oracle.add(random.seed(), "cast", "", {&x}, cast(x.tensor, to));
      }
    });
  });
}

TEST(AgainstNumPy, MatrixProductsWithBatchesAndBroadcasting) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Shape batch = random.one_in(2) ? Shape{} : random.shape(0, 2);
      const auto size = [&] { return random.one_in(20) ? 0 : random.one_in(4) ? random.from(17, 70) : random.from(1, 9); };
      const std::int64_t k = size();
      Shape left = random.broadcast_partner(batch);
      Shape right = batch;
      for (const std::int64_t n : {size(), k}) left.push_back(n);
      for (const std::int64_t n : {k, size()}) right.push_back(n);
      const DType other = random.one_in(4) ? any_dtype(random) : dtype;
      const Input a = random_input(random, dtype, left, layout, Values::moderate);
      const Input b = random_input(random, other, right, any_layout(random), Values::moderate);
      oracle.add(random.seed(), "matmul", "", {&a, &b}, matmul(a.tensor, b.tensor));
    });
  });
}

TEST(AgainstNumPy, MatrixProductsWithVectors) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const std::int64_t k = random.from(1, 40);
      const Input v = random_input(random, dtype, {k}, layout, Values::moderate);
      const Input w = random_input(random, dtype, {k}, any_layout(random), Values::moderate);
      const Input left =
          random_input(random, dtype, random.one_in(2) ? Shape{5, k} : Shape{2, 3, k}, any_layout(random), Values::moderate);
      const Input right =
          random_input(random, dtype, random.one_in(2) ? Shape{k, 5} : Shape{2, k, 3}, any_layout(random), Values::moderate);
      oracle.add(random.seed(), "matmul", "", {&v, &w}, matmul(v.tensor, w.tensor));
      oracle.add(random.seed(), "matmul", "", {&left, &v}, matmul(left.tensor, v.tensor));
      oracle.add(random.seed(), "matmul", "", {&v, &right}, matmul(v.tensor, right.tensor));
    });
  });
}

TEST(AgainstNumPy, AddN) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Shape shape = random.shape();
      std::vector<Input> inputs;
      const std::int64_t count = random.from(1, 12);
      for (std::int64_t i = 0; i < count; ++i) {
        inputs.push_back(random_input(random, dtype, shape, i == 0 ? layout : any_layout(random),
                                      is_floating(dtype) ? Values::moderate : Values::any));
      }
      std::vector<Tensor> tensors;
      std::vector<const Input*> pointers;
      for (const Input& input : inputs) {
        tensors.push_back(input.tensor);
        pointers.push_back(&input);
      }
      oracle.add(random.seed(), "add_n", "", pointers, add_n(tensors));
    });
  });
}

TEST(AgainstNumPy, TakeWithPositiveAndNegativeIndices) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Shape shape = random.shape(1, 4);
      const Input x = random_input(random, dtype, shape, layout, Values::any);
      const std::int64_t axis = random.from(0, static_cast<std::int64_t>(shape.size()) - 1);
      const std::int64_t size = shape[static_cast<std::size_t>(axis)];
      const Shape wanted = size == 0 ? Shape{0} : random.shape(0, 2);
      const std::int64_t count = element_count(wanted).value();
      const bool wide = random.one_in(2);
      std::vector<std::byte> bytes(static_cast<std::size_t>(count) * (wide ? 8 : 4));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t index = random.from(-size, size - 1);
        const auto narrow = static_cast<std::int32_t>(index);
        if (wide) std::memcpy(bytes.data() + i * 8, &index, 8);
        if (!wide) std::memcpy(bytes.data() + i * 4, &narrow, 4);
      }
      Input indices = make_input(wide ? DType::i64 : DType::i32, wanted, bytes);
      if (wanted.size() == 2 && random.one_in(2)) indices.transpose({1, 0});
      const std::int64_t asked = random.one_in(2) ? axis - static_cast<std::int64_t>(shape.size()) : axis;
      oracle.add(random.seed(), "take", R"("axis":)" + std::to_string(asked), {&x, &indices},
                 take(x.tensor, indices.tensor, asked));
    });
  });
}

TEST(AgainstNumPy, NonzeroAndItsCount) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Input x =
          random_input(random, dtype, random.shape(1, 4), layout, random.one_in(2) ? Values::any : Values::small_range);
      oracle.add(random.seed(), "nonzero", "", {&x}, nonzero(x.tensor));
      oracle.add(random.seed(), "count_nonzero", "", {&x}, count_nonzero(x.tensor));
    });
  });
}

TEST(AgainstNumPy, ViewsOfViews) {
  compare_with_numpy(30, [](Random& random, Oracle& oracle) {
    const DType dtype = any_dtype(random);
    const Shape base = random.shape(0, 4);
    Input x = random_input(random, dtype, base, Layout::dense, Values::any);
    const std::int64_t steps = random.from(1, 6);
    for (std::int64_t step = 0; step < steps; ++step) {
      const Shape shape = x.tensor.shape();
      const auto rank = static_cast<std::int64_t>(shape.size());
      const std::int64_t kind = random.from(0, 3);
      if (kind == 0 && rank > 0) {
        const std::int64_t axis = random.from(0, rank - 1);
        const std::int64_t size = shape[static_cast<std::size_t>(axis)];
        Range range;
        if (!random.one_in(3)) range.start = random.from(-size - 3, size + 3);
        if (!random.one_in(3)) range.stop = random.from(-size - 3, size + 3);
        range.step = random.one_in(2) ? random.from(1, 4) : -random.from(1, 4);
        if (random.one_in(40)) range.step = random.one_in(2) ? INT64_MAX : INT64_MIN + 1;
        x.slice(axis, range);
      } else if (kind == 1) {
        Dims axes;
        for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
        for (std::size_t i = axes.size(); i > 1; --i)
          std::swap(axes[i - 1], axes[static_cast<std::size_t>(random.from(0, static_cast<std::int64_t>(i) - 1))]);
        x.transpose(axes);
      } else if (kind == 2 && rank < 5) {
        Shape grown;
        for (std::int64_t i = random.from(0, 1); i > 0; --i) grown.push_back(random.from(0, 3));
        for (const std::int64_t size : shape) grown.push_back(size == 1 ? random.from(0, 3) : size);
        x.expand(grown);
      } else {
        // Two neighbours joined, or one axis split, or a -1, or an axis of 1 put in.
        Shape next;
        const std::int64_t at = rank > 0 ? random.from(0, rank - 1) : 0;
        for (std::int64_t i = 0; i < rank; ++i) {
          const std::int64_t size = shape[static_cast<std::size_t>(i)];
          if (i == at && i + 1 < rank && random.one_in(2)) {
            next.push_back(size * shape[static_cast<std::size_t>(++i)]);
          } else if (i == at && size % 2 == 0 && rank < 7) {
            next.push_back(2);
            next.push_back(size / 2);
          } else {
            next.push_back(size);
          }
        }
        if (next.size() < 7 && random.one_in(3)) next.push_back(1);
        if (!next.empty() && element_count(shape).value() > 0 && random.one_in(2))
          next[static_cast<std::size_t>(random.from(0, static_cast<std::int64_t>(next.size()) - 1))] = -1;
        x.reshape(next);
      }
    }
    oracle.add(random.seed(), "same", "", {&x}, contiguous(x.tensor));
    oracle.add(random.seed(), "same", "", {&x}, x.tensor);
    oracle.add(random.seed(), "same", "", {&x},
               copy_to(x.tensor, x.tensor.device().find("CPU") != std::string::npos ? "GPU:0" : "CPU:0"));
  });
}

}  // namespace
}  // namespace tutti::oracle
