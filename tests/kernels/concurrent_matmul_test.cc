#include <atomic>

#include "kernels/operands.h"

namespace tutti::testing {

namespace {

struct Product {
  Array a;
  Array b;
  Array c;
  std::vector<std::byte> alone;  // what it gives with nothing beside it

  Product(DType dtype, std::int64_t m, std::int64_t k, std::int64_t n, Random& random)
      : a(dtype, {m, k}, Lie::dense, random), b(dtype, {k, n}, Lie::dense, random), c(dtype, {m, n}, Lie::dense, random) {
    a.fill(random, true);
    b.fill(random, true);
    multiply();
    alone.assign(c.operand().data, c.operand().data + bytes());
  }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(c.count()) * size_of(c.operand().dtype); }
  [[nodiscard]] bool is_as_alone() const { return std::memcmp(c.operand().data, alone.data(), bytes()) == 0; }
  void multiply() {
    Serial serial;
    run_kernel(host_kernel("MatMul"), serial, {&a, &b}, c);
  }
};

}  // namespace

// Bands of one product on several cores, and the products of several streams, all go through the BLAS at the same time: each
// must have its working buffer to itself. Products with a vector are the shortest that take one, and so take one most often.
TEST(ConcurrentMatMul, GivesWhatEachProductGivesAlone) {
  constexpr std::size_t n_threads = 4;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr std::int64_t products_each = 6000;
#else
  constexpr std::int64_t products_each = 60000;
#endif
  std::atomic<std::size_t> ready{0};
  std::array<int, n_threads> wrong{};
  const auto work = [&](std::size_t thread) {
    Random random(thread + 1);
    std::vector<Product> products;
    products.emplace_back(DType::f64, 700, 4, 1, random);
    products.emplace_back(DType::f64, 700, 8, 1, random);
    products.emplace_back(DType::f64, 700, 32, 1, random);
    products.emplace_back(DType::f64, 2000, 16, 1, random);
    products.emplace_back(DType::f32, 1500, 64, 1, random);
    products.emplace_back(DType::f32, 100, 100, 101, random);
    products.emplace_back(DType::f32, 256, 64, 128, random);
    products.emplace_back(DType::f64, 40, 200, 33, random);
    products.emplace_back(DType::bf16, 128, 64, 128, random);
    ++ready;
    while (ready < n_threads) std::this_thread::yield();
    for (std::int64_t i = 0; i < products_each; ++i) {
      // Seven in eight are vectors.
      Product& product = products[static_cast<std::size_t>(pick(random, 0, 7) > 0 ? pick(random, 0, 4) : pick(random, 5, 8))];
      product.multiply();
      if (!product.is_as_alone()) ++wrong[thread];
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < n_threads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < n_threads; ++i) EXPECT_EQ(wrong[i], 0) << "of " << products_each << " products of thread " << i;
}

}  // namespace tutti::testing
