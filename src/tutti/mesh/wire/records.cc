#include "tutti/mesh/wire/records.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <cstring>

#include "tutti/base/error.h"

namespace tutti::wire {

namespace {

constexpr int sealing = 1;
constexpr int opening = 0;

[[noreturn]] void cannot_seal() {
  ERR_clear_error();
  throw InvalidState("OpenSSL cannot seal a record with AES-128-GCM.", Site());
}

unsigned char* as_bytes(std::byte* at) noexcept { return reinterpret_cast<unsigned char*>(at); }
const unsigned char* as_bytes(const std::byte* at) noexcept { return reinterpret_cast<const unsigned char*>(at); }

}  // namespace

struct RecordSeal::Cipher {
  struct FreeCipher {
    void operator()(EVP_CIPHER_CTX* made) const noexcept { EVP_CIPHER_CTX_free(made); }
  };

  std::unique_ptr<EVP_CIPHER_CTX, FreeCipher> context;
  Secrecy secrecy;
  std::uint64_t turn = 0;
  std::array<unsigned char, 12> mask{};  // of the nonces, which follow each other

  // The next record's, for which a nonce was never used before.
  void begin(int direction) {
    std::array<unsigned char, 12> nonce = mask;
    for (std::size_t i = 0; i < sizeof turn; ++i) nonce[nonce.size() - 1 - i] ^= static_cast<unsigned char>(turn >> (8 * i));
    ++turn;
    if (EVP_CipherInit_ex(context.get(), nullptr, nullptr, nullptr, nonce.data(), direction) != 1) cannot_seal();
  }
};

RecordSeal::RecordSeal(const Key& key, Secrecy secrecy) : cipher_(std::make_unique<Cipher>()) {
  static_assert(Key::size >= 16 + std::tuple_size_v<decltype(Cipher::mask)>);
  cipher_->secrecy = secrecy;
  cipher_->context.reset(EVP_CIPHER_CTX_new());
  std::memcpy(cipher_->mask.data(), key.data() + 16, cipher_->mask.size());
  if (cipher_->context == nullptr ||
      EVP_CipherInit_ex(cipher_->context.get(), EVP_aes_128_gcm(), nullptr, key.data(), nullptr, sealing) != 1) {
    cannot_seal();
  }
}

RecordSeal::RecordSeal(RecordSeal&& other) noexcept = default;
RecordSeal& RecordSeal::operator=(RecordSeal&& other) noexcept = default;
RecordSeal::~RecordSeal() = default;

void RecordSeal::seal(const std::byte* in, std::byte* out, std::size_t bytes, RecordTag& tag) {
  EVP_CIPHER_CTX* const context = cipher_->context.get();
  cipher_->begin(sealing);
  // Without a place for the result, the library only takes the bytes into the tag.
  unsigned char* const to = cipher_->secrecy == Secrecy::encrypted ? as_bytes(out) : nullptr;
  int made = 0;
  if (EVP_CipherUpdate(context, to, &made, as_bytes(in), static_cast<int>(bytes)) != 1 ||
      EVP_CipherFinal_ex(context, tag.data(), &made) != 1 ||
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag.size()), tag.data()) != 1) {
    cannot_seal();
  }
}

bool RecordSeal::open(std::byte* data, std::size_t bytes, const RecordTag& tag) {
  EVP_CIPHER_CTX* const context = cipher_->context.get();
  cipher_->begin(opening);
  unsigned char* const to = cipher_->secrecy == Secrecy::encrypted ? as_bytes(data) : nullptr;
  RecordTag expected = tag;  // the library asks for memory it may write
  RecordTag nothing{};
  int made = 0;
  const bool is_it = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag.size()), expected.data()) == 1 &&
                     EVP_CipherUpdate(context, to, &made, as_bytes(data), static_cast<int>(bytes)) == 1 &&
                     EVP_CipherFinal_ex(context, nothing.data(), &made) == 1;
  if (!is_it) ERR_clear_error();
  return is_it;
}

}  // namespace tutti::wire
