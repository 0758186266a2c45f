// Signatures by Ed25519 (RFC 8032, section 5.1), and SHA-256 (FIPS 180-4), as libsodium computes them. The
// only source that sees its header is ed25519.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace switchyard::trust {

struct PublicKey {
    std::array<unsigned char, 32> bytes{};
    bool operator==(const PublicKey&) const = default;
};

using SignatureBytes = std::array<unsigned char, 64>;

// The 32 bytes from which RFC 8032 derives everything else. Wiped when it goes.
class SecretKey {
public:
    using Seed = std::array<unsigned char, 32>;

    explicit SecretKey(const Seed& seed) : seed_(seed) {}
    static SecretKey random();  // from the system's generator
    SecretKey(const SecretKey&) = default;
    SecretKey& operator=(const SecretKey&) = default;
    ~SecretKey();

    const Seed& seed() const { return seed_; }
    PublicKey public_key() const;
    SignatureBytes sign(std::string_view message) const;

private:
    Seed seed_;
};

// False also for keys and signatures that RFC 8032 does not allow: of small order, not canonical.
bool verify(const PublicKey& key, std::string_view message, const SignatureBytes& signature);

// "SHA256:" and 43 characters of base64, as OpenSSH writes it, of the key's 32 bytes.
std::string fingerprint(const PublicKey& key);

// Hexadecimal. Of a file: empty if it cannot be read; `sha256sum FILE` says the same.
std::string sha256_of(std::string_view text);
std::string sha256_of_file(const std::string& path);

// RFC 4648, with padding; nothing where the text is not the base64 of exactly that many bytes.
std::string to_base64(const unsigned char* bytes, std::size_t count);
bool from_base64(std::string_view text, unsigned char* bytes, std::size_t count);

template <std::size_t N>
std::string to_base64(const std::array<unsigned char, N>& bytes) {
    return to_base64(bytes.data(), N);
}
template <std::size_t N>
std::optional<std::array<unsigned char, N>> from_base64(std::string_view text) {
    std::array<unsigned char, N> bytes{};
    return from_base64(text, bytes.data(), N) ? std::optional(bytes) : std::nullopt;
}

}  // namespace switchyard::trust
