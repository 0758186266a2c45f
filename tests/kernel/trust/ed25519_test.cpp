// Ed25519 against the vectors of RFC 8032, section 7.1, and SHA-256 against those of FIPS 180-4. To add a
// vector: a line in `vectors`.
#include "core/kernel/trust/ed25519.h"

#include <string>
#include <vector>

#include "trust_fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

std::string bytes(const std::string& hexadecimal) {
    std::string text;
    for (std::size_t i = 0; i < hexadecimal.size(); i += 2)
        text += static_cast<char>(std::stoi(hexadecimal.substr(i, 2), nullptr, 16));
    return text;
}

template <std::size_t N>
std::array<unsigned char, N> array_of(const std::string& hexadecimal) {
    std::array<unsigned char, N> array{};
    const auto text = bytes(hexadecimal);
    REQUIRE(text.size() == N);
    std::copy(text.begin(), text.end(), array.begin());
    return array;
}

struct Vector {
    const char *secret, *open, *message, *signature;
};

const std::vector<Vector> vectors = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f"
     "0595bbe2465"
     "5141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2ea"
     "eb4302aeeb0"
     "0d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e"
     "9716ed28dc0"
     "27beceea1ec40a"},
    {"833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
     "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
     "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d442"
     "3643ce80e2a"
     "9ac94fa54ca49f",
     "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179"
     "c138ac17ad9"
     "bef1177331a704"},
};

}  // namespace

TEST_CASE("keys and signatures are those of RFC 8032") {
    for (const auto& vector : vectors) {
        INFO(vector.open);
        const trust::SecretKey key(array_of<32>(vector.secret));
        const auto message = bytes(vector.message);
        const auto signature = array_of<64>(vector.signature);
        CHECK(key.public_key().bytes == array_of<32>(vector.open));
        CHECK(key.sign(message) == signature);
        CHECK(trust::verify(key.public_key(), message, signature));
    }
}

TEST_CASE("a signature holds for its key and its message alone, bit by bit") {
    const auto key = key_of('a');
    const std::string message = "what is signed";
    const auto signature = key.sign(message);
    const auto open = key.public_key();
    REQUIRE(trust::verify(open, message, signature));
    for (std::size_t bit = 0; bit < 512; ++bit) {
        auto other = signature;
        other[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
        CHECK_FALSE(trust::verify(open, message, other));
    }
    for (std::size_t bit = 0; bit < 256; ++bit) {
        auto other = open;
        other.bytes[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
        CHECK_FALSE(trust::verify(other, message, signature));
    }
    for (std::size_t bit = 0; bit < 8 * message.size(); ++bit) {
        auto other = message;
        other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
        CHECK_FALSE(trust::verify(open, other, signature));
    }
    CHECK_FALSE(trust::verify(open, message + " ", signature));
    CHECK_FALSE(trust::verify(key_of('b').public_key(), message, signature));
}

TEST_CASE("a signature that was shifted by the order of the group is refused (RFC 8032, 5.1.7)") {
    // L, little endian; S + L verifies by the equation alone.
    const auto order = array_of<32>("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    const auto key = key_of('a');
    auto signature = key.sign("x");
    unsigned carry = 0;
    for (std::size_t i = 0; i < 32; ++i) {
        carry += signature[32 + i] + order[i];
        signature[32 + i] = static_cast<unsigned char>(carry);
        carry >>= 8;
    }
    CHECK_FALSE(trust::verify(key.public_key(), "x", signature));
}

TEST_CASE("a key of small order verifies nothing") {
    trust::PublicKey neutral;
    neutral.bytes[0] = 1;
    trust::SignatureBytes signature{};
    signature[0] = 1;
    CHECK_FALSE(trust::verify(neutral, "anything", signature));
}

TEST_CASE("each new key is another one") {
    const auto one = trust::SecretKey::random(), other = trust::SecretKey::random();
    CHECK(one.seed() != other.seed());
    CHECK(trust::verify(one.public_key(), "m", one.sign("m")));
}

TEST_CASE("SHA-256 of texts and of files, and the fingerprint of a key") {
    CHECK(trust::sha256_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(trust::sha256_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const auto file = (temporary_dir("sha") / "million").string();
    write_file(file, std::string(1'000'000, 'a'));
    CHECK(trust::sha256_of_file(file) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    CHECK(trust::sha256_of_file(file + "x").empty());
    CHECK(trust::sha256_of_file(temporary_dir("folder").string()).empty());
    // base64(sha256(key)) of the first vector's key, computed with Python's hashlib.
    CHECK(trust::fingerprint({array_of<32>(vectors[0].open)}) ==
          "SHA256:If4x36FUomFia/hUBG/SJxt77UtqvkWqWId+9H+XIbk");
}

TEST_CASE("base64 comes back, and nothing else is taken for it") {
    const auto text = trust::to_base64(array_of<32>(vectors[0].open));
    CHECK(text.size() == 44);
    CHECK(trust::from_base64<32>(text) == array_of<32>(vectors[0].open));
    for (const std::string& wrong :
         {std::string(), text.substr(1), text + "A", text + "\n", text.substr(0, 43), "*" + text.substr(1)})
        CHECK_FALSE(trust::from_base64<32>(wrong).has_value());
}
