// A small convolutional network learns images in IDX files, the format of MNIST:
//   idx_cnn train-images-idx3-ubyte train-labels-idx1-ubyte
// Without files it draws some: strokes that lie, stand, fall or rise, with noise around them.
#include <tutti/tutti.h>

#include <unistd.h>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

namespace tt = tutti;

namespace {

struct Cnn {
  std::int64_t side;
  tt::Conv2D first{1, 8, 3, {.padding = 1}};
  tt::Conv2D second{8, 16, 3, {.padding = 1}};
  tt::Dense out{16 * (side / 4) * (side / 4), 10};

  tt::Tensor operator()(const tt::Tensor& x) const {
    tt::Tensor y = tt::max_pool2d(tt::relu(first(x)), 2);
    y = tt::max_pool2d(tt::relu(second(y)), 2);
    return out(tt::reshape(y, {y.shape()[0], -1}));
  }
};

// The header of an IDX file of bytes, and then the bytes.
void write_idx(const std::string& path, const std::vector<std::uint32_t>& sizes, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << '\0' << '\0' << '\x08' << static_cast<char>(sizes.size());
  for (const std::uint32_t size : sizes) {
    for (const int shift : {24, 16, 8, 0}) file << static_cast<char>(size >> shift & 0xFFU);
  }
  file << bytes;
}

void draw(const std::string& images_path, const std::string& labels_path) {
  constexpr std::uint32_t count = 480;
  constexpr std::uint32_t side = 12;
  std::string images;
  std::string labels;
  std::uint32_t state = 1;
  const auto random = [&](std::uint32_t below) { return (state = state * 1664525U + 1013904223U) / 65536U % below; };
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t kind = i % 4;
    const std::uint32_t place = 2 + random(side - 4);
    for (std::uint32_t row = 0; row < side; ++row) {
      for (std::uint32_t column = 0; column < side; ++column) {
        const bool is_stroke = kind == 0   ? row == place
                               : kind == 1 ? column == place
                               : kind == 2 ? (row + place) % side == column
                                           : (row + column) % side == place;
        images += static_cast<char>(is_stroke ? 155 + random(100) : random(100));
      }
    }
    labels += static_cast<char>(kind);
  }
  write_idx(images_path, {count, side, side}, images);
  write_idx(labels_path, {count}, labels);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 1 && argc != 3) {
    std::cerr << "usage: idx_cnn [IMAGES LABELS]\n";
    return 2;
  }
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("idx_cnn_" + std::to_string(getpid()));
  std::string images_path = argc == 3 ? argv[1] : (folder / "images").string();
  std::string labels_path = argc == 3 ? argv[2] : (folder / "labels").string();
  if (argc == 1) {
    std::filesystem::create_directory(folder);
    draw(images_path, labels_path);
  }
  const tt::Tensor images = tt::load_idx(images_path);  // (count, height, width), u8
  const tt::Tensor labels = tt::load_idx(labels_path);
  std::filesystem::remove_all(folder);
  if (images.rank() != 3 || images.shape()[1] != images.shape()[2] || images.shape()[1] < 4) {
    std::cerr << "idx_cnn takes square images, 4 by 4 or larger\n";
    return 1;
  }
  const std::int64_t count = images.shape()[0];
  std::cout << count << " images of " << images.shape()[1] << " x " << images.shape()[2] << '\n';

  tt::set_seed(1);
  // One in eight is kept aside, to judge by.
  const std::int64_t learnt = count - count / 8;
  const auto examples = [&](std::int64_t begin, std::int64_t end) {
    const auto part = std::tuple(tt::slice(images, 0, {begin, end}), tt::slice(labels, 0, {begin, end}));
    return tt::Dataset(part).batch(32).map([](const std::tuple<tt::Tensor, tt::Tensor>& batch) {
      const auto& [x, y] = batch;
      return std::tuple(tt::cast(tt::expand_dims(x, 1), tt::DType::f32) / 255, tt::cast(y, tt::DType::i64));
    });
  };
  const auto others = examples(learnt, count);

  const tt::Model model(Cnn{.side = images.shape()[1]});
  model.compile({.optimizer = tt::adam(3e-3), .loss = tt::cross_entropy, .metrics = {tt::accuracy()}});
  // Where the output is a terminal, .verbose = tt::Verbosity::automatic draws a bar.
  const tt::History history = model.fit(
      examples(0, learnt).shuffle(7),
      {.epochs = 6, .validation = others, .callbacks = {tt::early_stopping({.patience = 2})}, .verbose = tt::Verbosity::quiet});
  std::cout << "the loss went down: " << (history.at("loss").back() < history.at("loss").front() ? "yes" : "no") << '\n';
  const tt::NamedValues judged = model.evaluate(others);
  std::cout << "more than 90 of 100 others are known: " << (judged.at("accuracy") > 0.9 ? "yes" : "no") << '\n';
}
