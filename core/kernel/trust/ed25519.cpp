#include "core/kernel/trust/ed25519.h"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace switchyard::trust {

namespace {

static_assert(crypto_sign_SEEDBYTES == 32 && crypto_sign_PUBLICKEYBYTES == 32 && crypto_sign_BYTES == 64);

// Once, before anything of libsodium's is called.
void start_sodium() {
    static const int started = sodium_init();
    if (started < 0)
        throw std::runtime_error("libsodium cannot be used: it found no source of random numbers");
}

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

// The form in which libsodium takes a secret key: seed and public key, one behind the other.
struct ExpandedKey {
    explicit ExpandedKey(const SecretKey::Seed& seed) {
        start_sodium();
        crypto_sign_seed_keypair(open.bytes.data(), secret.data(), seed.data());
    }
    ExpandedKey(const ExpandedKey&) = delete;
    ExpandedKey& operator=(const ExpandedKey&) = delete;
    ~ExpandedKey() { sodium_memzero(secret.data(), secret.size()); }

    PublicKey open;
    std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret{};
};

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
    std::string text(2 * count + 1, '\0');
    sodium_bin2hex(text.data(), text.size(), bytes, count);
    text.pop_back();
    return text;
}

}  // namespace

SecretKey SecretKey::random() {
    start_sodium();
    Seed seed;
    randombytes_buf(seed.data(), seed.size());
    SecretKey key(seed);
    sodium_memzero(seed.data(), seed.size());
    return key;
}

SecretKey::~SecretKey() { sodium_memzero(seed_.data(), seed_.size()); }

PublicKey SecretKey::public_key() const { return ExpandedKey(seed_).open; }

SignatureBytes SecretKey::sign(std::string_view message) const {
    const ExpandedKey key(seed_);
    SignatureBytes signature{};
    crypto_sign_detached(signature.data(), nullptr, bytes_of(message), message.size(), key.secret.data());
    return signature;
}

bool verify(const PublicKey& key, std::string_view message, const SignatureBytes& signature) {
    start_sodium();
    return crypto_sign_verify_detached(signature.data(), bytes_of(message), message.size(),
                                       key.bytes.data()) == 0;
}

std::string fingerprint(const PublicKey& key) {
    start_sodium();
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
    crypto_hash_sha256(digest.data(), key.bytes.data(), key.bytes.size());
    auto text = to_base64(digest);
    text.erase(text.find_last_not_of('=') + 1);
    return "SHA256:" + text;
}

std::string sha256_of(std::string_view text) {
    start_sodium();
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
    crypto_hash_sha256(digest.data(), bytes_of(text), text.size());
    return hexadecimal(digest.data(), digest.size());
}

std::string sha256_of_file(const std::string& path) {
    start_sodium();
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return {};
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    std::vector<unsigned char> chunk(1 << 20);
    ssize_t got = 0;
    while ((got = ::read(fd, chunk.data(), chunk.size())) > 0)
        crypto_hash_sha256_update(&state, chunk.data(), static_cast<unsigned long long>(got));
    ::close(fd);
    if (got < 0) return {};
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
    crypto_hash_sha256_final(&state, digest.data());
    return hexadecimal(digest.data(), digest.size());
}

std::string to_base64(const unsigned char* bytes, std::size_t count) {
    constexpr int variant = sodium_base64_VARIANT_ORIGINAL;
    std::string text(sodium_base64_ENCODED_LEN(count, variant), '\0');
    sodium_bin2base64(text.data(), text.size(), bytes, count, variant);
    text.pop_back();
    return text;
}

bool from_base64(std::string_view text, unsigned char* bytes, std::size_t count) {
    std::size_t got = 0;
    const char* end = nullptr;
    const int failed = sodium_base642bin(bytes, count, text.data(), text.size(), nullptr, &got, &end,
                                         sodium_base64_VARIANT_ORIGINAL);
    return failed == 0 && got == count && end == text.data() + text.size();
}

}  // namespace switchyard::trust
