#include "tutti/mesh/wire/tls.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti::wire {

namespace {

struct FreeKdf {
  void operator()(EVP_KDF_CTX* context) const noexcept { EVP_KDF_CTX_free(context); }
};

// Before anything else is asked of it: it stays whole until the process is gone, for threads that are at it while others end.
void ready_library() {
  static const bool is_ready = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr) == 1;
  static_cast<void>(is_ready);
}

// What the library says of the failure at hand; its queue is empty afterwards, for whoever else in this thread uses it.
std::string said_by_library() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  std::string said = reason == nullptr ? "" : reason;
  ERR_clear_error();
  return said;
}

[[noreturn]] void fail(const char* what) { throw InvalidState(text("OpenSSL cannot ", what, ": ", said_by_library()), Site()); }

}  // namespace

struct TlsSession::State {
  struct FreeSsl {
    void operator()(SSL* made) const noexcept { SSL_free(made); }
  };

  Transport* transport = nullptr;
  bool is_client = false;
  std::string name;
  std::optional<Key> key;  // of a client
  KeyOf key_of;            // of a server
  std::unique_ptr<SSL, FreeSsl> ssl;
  bool is_proven = false;
  std::size_t received = 0;  // before it was
  bool has_ended = false;
  std::string why;

  // The library's side of it: callbacks of C, through which no exception may pass.
  static State* of(BIO* bio) noexcept { return static_cast<State*>(BIO_get_data(bio)); }
  static State* of(const SSL* ssl) noexcept { return static_cast<State*>(SSL_get_app_data(ssl)); }
  static int send(BIO* bio, const char* data, int size) noexcept;
  static int receive(BIO* bio, char* data, int size) noexcept;
  static long control(BIO* /*bio*/, int command, long /*number*/, void* /*at*/) noexcept {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }
  static int use_key(SSL* ssl, const EVP_MD* digest, const unsigned char** name, std::size_t* length,
                     SSL_SESSION** session) noexcept;
  static int find_key(SSL* ssl, const unsigned char* name, std::size_t length, SSL_SESSION** session) noexcept;

  static BIO_METHOD* method();
  static SSL_CTX* context();
};

namespace {

// Cut down to what is needed, so that nothing else is ever negotiated.
constexpr const char* suite = "TLS_AES_128_GCM_SHA256";
constexpr std::array<unsigned char, 2> suite_number{0x13, 0x01};
constexpr const char* group = "X25519";

SSL_SESSION* session_with(SSL* ssl, const Key& key) noexcept {
  SSL_SESSION* const session = SSL_SESSION_new();
  if (session != nullptr && SSL_SESSION_set1_master_key(session, key.data(), Key::size) == 1 &&
      SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, suite_number.data())) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1) {
    return session;
  }
  SSL_SESSION_free(session);
  return nullptr;
}

// No server of ours has a certificate: who shows one is a stranger, whoever has signed it.
int refuse_certificate(int /*is_good*/, X509_STORE_CTX* /*chain*/) noexcept { return 0; }

}  // namespace

int TlsSession::State::send(BIO* bio, const char* data, int size) noexcept {
  BIO_clear_retry_flags(bio);
  const std::ptrdiff_t moved = of(bio)->transport->send(data, static_cast<std::size_t>(size));
  if (moved == 0) BIO_set_retry_write(bio);
  return moved <= 0 ? -1 : static_cast<int>(moved);
}

int TlsSession::State::receive(BIO* bio, char* data, int size) noexcept {
  BIO_clear_retry_flags(bio);
  State& state = *of(bio);
  auto wanted = static_cast<std::size_t>(size);
  if (!state.is_proven) wanted = std::min(wanted, largest_tls_greeting - state.received);
  if (wanted == 0) return -1;  // a stranger that talks
  const std::ptrdiff_t moved = state.transport->receive(data, wanted);
  if (moved == 0) BIO_set_retry_read(bio);
  if (moved > 0 && !state.is_proven) state.received += static_cast<std::size_t>(moved);
  return moved <= 0 ? -1 : static_cast<int>(moved);
}

int TlsSession::State::use_key(SSL* ssl, const EVP_MD* digest, const unsigned char** name, std::size_t* length,
                               SSL_SESSION** session) noexcept {
  State& state = *of(ssl);
  // Asked again for another digest, by a server that wants another cipher: there is no key for that.
  const bool fits = digest == nullptr || EVP_MD_is_a(digest, "SHA256") == 1;
  *session = fits && state.key ? session_with(ssl, *state.key) : nullptr;
  *name = reinterpret_cast<const unsigned char*>(state.name.data());
  *length = state.name.size();
  return 1;
}

int TlsSession::State::find_key(SSL* ssl, const unsigned char* name, std::size_t length, SSL_SESSION** session) noexcept {
  State& state = *of(ssl);
  *session = nullptr;
  try {
    const std::string given(reinterpret_cast<const char*>(name), length);
    state.name = given;
    // Without one it goes on, and finds that there is nothing else to go on with.
    if (const std::optional<Key> key = state.key_of(given)) *session = session_with(ssl, *key);
    return 1;
  } catch (...) {
    return 0;
  }
}

BIO_METHOD* TlsSession::State::method() {
  static BIO_METHOD* const made = [] {
    BIO_METHOD* const method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tutti");
    if (method == nullptr || BIO_meth_set_write(method, send) != 1 || BIO_meth_set_read(method, receive) != 1 ||
        BIO_meth_set_ctrl(method, control) != 1) {
      fail("make a way to its bytes");
    }
    return method;
  }();
  return made;
}

SSL_CTX* TlsSession::State::context() {
  static SSL_CTX* const made = [] {
    // Threads of this process may still exchange while it ends: nothing is taken from under them.
    ready_library();
    SSL_CTX* const context = SSL_CTX_new(TLS_method());
    if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 || SSL_CTX_set_ciphersuites(context, suite) != 1 ||
        SSL_CTX_set1_groups_list(context, group) != 1 || SSL_CTX_set_num_tickets(context, 0) != 1) {
      fail("prepare TLS 1.3");
    }
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_psk_use_session_callback(context, use_key);
    SSL_CTX_set_psk_find_session_callback(context, find_key);
    return context;
  }();
  return made;
}

TlsSession::TlsSession(Transport& transport, bool is_client) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.transport = &transport;
  state.is_client = is_client;
  state.ssl.reset(SSL_new(State::context()));
  if (state.ssl == nullptr || SSL_set_app_data(state.ssl.get(), &state) != 1) fail("make a session");
  BIO* const bio = BIO_new(State::method());
  if (bio == nullptr) fail("make a session");
  BIO_set_data(bio, &state);
  BIO_set_init(bio, 1);
  SSL_set_bio(state.ssl.get(), bio, bio);
  if (is_client) {
    SSL_set_connect_state(state.ssl.get());
    SSL_set_verify(state.ssl.get(), SSL_VERIFY_PEER, refuse_certificate);
  } else {
    SSL_set_accept_state(state.ssl.get());
  }
}

TlsSession TlsSession::client(Transport& transport, std::string name, const Key& key) {
  TlsSession session(transport, true);
  session.state_->name = std::move(name);
  session.state_->key = key;
  return session;
}

TlsSession TlsSession::server(Transport& transport, KeyOf key_of) {
  TlsSession session(transport, false);
  session.state_->key_of = std::move(key_of);
  return session;
}

TlsSession::TlsSession(TlsSession&& other) noexcept = default;
TlsSession& TlsSession::operator=(TlsSession&& other) noexcept = default;
TlsSession::~TlsSession() = default;

Progress TlsSession::judge(int result) {
  if (result == 1) return Progress::done;
  const int error = SSL_get_error(state_->ssl.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return Progress::blocked;
  state_->has_ended = true;
  state_->why = said_by_library();
  return Progress::ended;
}

Progress TlsSession::handshake() {
  State& state = *state_;
  if (state.has_ended) return Progress::ended;
  ERR_clear_error();
  const Progress progress = judge(SSL_do_handshake(state.ssl.get()));
  if (progress != Progress::done) return progress;
  // It went by the key and by nothing else.
  if (SSL_session_reused(state.ssl.get()) != 1) {
    state.has_ended = true;
    state.why = "the other end does not know the key";
    return Progress::ended;
  }
  state.is_proven = true;
  state.key.reset();
  return Progress::done;
}

Progress TlsSession::write(std::string_view data, std::size_t& moved) {
  moved = 0;
  if (state_->has_ended) return Progress::ended;
  ERR_clear_error();
  return judge(SSL_write_ex(state_->ssl.get(), data.data(), data.size(), &moved));
}

Progress TlsSession::read(char* data, std::size_t size, std::size_t& moved) {
  moved = 0;
  if (state_->has_ended) return Progress::ended;
  ERR_clear_error();
  return judge(SSL_read_ex(state_->ssl.get(), data, size, &moved));
}

bool TlsSession::wants_to_send() const noexcept { return SSL_want_write(state_->ssl.get()) != 0; }
const std::string& TlsSession::name() const noexcept { return state_->name; }
const std::string& TlsSession::why() const noexcept { return state_->why; }

Key TlsSession::exported_key(std::string_view label) const {
  std::array<unsigned char, Key::size> bytes{};
  const bool is_made =
      SSL_export_keying_material(state_->ssl.get(), bytes.data(), bytes.size(), label.data(), label.size(), nullptr, 0, 0) == 1;
  const Key key(bytes);
  wipe(bytes.data(), bytes.size());
  if (!is_made) fail("export a key");
  return key;
}

Key Key::derive(std::string_view secret, std::string_view purpose) {
  ready_library();
  EVP_KDF* const kdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  const std::unique_ptr<EVP_KDF_CTX, FreeKdf> context(kdf == nullptr ? nullptr : EVP_KDF_CTX_new(kdf));
  EVP_KDF_free(kdf);
  std::string digest = "SHA256";
  std::string salt = "tutti job";
  std::array<OSSL_PARAM, 5> parameters{
      OSSL_PARAM_construct_utf8_string("digest", digest.data(), 0),
      OSSL_PARAM_construct_octet_string("key", const_cast<char*>(secret.data()), secret.size()),
      OSSL_PARAM_construct_octet_string("info", const_cast<char*>(purpose.data()), purpose.size()),
      OSSL_PARAM_construct_octet_string("salt", salt.data(), salt.size()), OSSL_PARAM_construct_end()};
  std::array<unsigned char, size> bytes{};
  if (context == nullptr || EVP_KDF_derive(context.get(), bytes.data(), bytes.size(), parameters.data()) != 1) {
    fail("derive a key");
  }
  const Key key(bytes);
  wipe(bytes.data(), bytes.size());
  return key;
}

Key::~Key() { wipe(bytes_.data(), bytes_.size()); }

void wipe(void* at, std::size_t bytes) noexcept { OPENSSL_cleanse(at, bytes); }

}  // namespace tutti::wire
