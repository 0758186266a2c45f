// GGUF files: what is read of a good one, and in which words each way of being wrong is refused.
// To add a case: the parts of a file, and what is said of it.
#include <filesystem>

#include "core/kernel/base/limits.h"
#include "core/workbench/gguf/gguf_file.h"

#include "gguf_bytes.h"

using namespace switchyard;
using test::GgufBytes;

namespace {

GgufBytes good() {
    GgufBytes bytes;
    bytes.header(2, 2).entry("general.architecture", "llama").entry("general.alignment", 32);
    bytes.tensor({"a", {4, 2}, 0, 0}).tensor({"b", {32, 2}, 8, 32});
    return bytes.data(32 + 68);
}

std::string error_of(const GgufBytes& bytes) {
    const auto path = bytes.write();
    const auto opened = gguf::File::open(path);
    CHECK((opened.file == nullptr) != opened.error.empty());
    return opened.error.starts_with(path + ": ") ? opened.error.substr(path.size() + 2) : opened.error;
}

// One tensor in a file of so many bytes of data.
std::string error_of_tensor(const GgufBytes::Tensor& tensor, std::size_t data) {
    return error_of(GgufBytes().header(1, 0).tensor(tensor).data(data));
}

}  // namespace

TEST_CASE("a GGUF file's metadata and tensors are read as they were written") {
    const auto path = good().write();
    const auto opened = gguf::File::open(path);
    REQUIRE(opened.error == "");
    const auto& file = *opened.file;
    CHECK(gguf::is_gguf_file(path));
    CHECK(file.version() == 3);
    CHECK(std::get<std::string_view>(file.metadata().at("general.architecture").held) == "llama");
    CHECK(std::get<std::int64_t>(file.metadata().at("general.alignment").held) == 32);
    REQUIRE(file.tensors().size() == 2);
    CHECK(file.tensors()[0].name == "a");
    CHECK(file.tensors()[0].shape == std::vector<std::int64_t>{2, 4});
    CHECK(file.tensors()[0].bytes == 32);
    CHECK(file.find("b")->type->name == "Q8_0");
    CHECK(file.find("b")->shape == std::vector<std::int64_t>{2, 32});
    CHECK(file.find("b")->bytes == 68);
    CHECK(file.find("b")->data == file.find("a")->data + 32);
    CHECK(file.find("c") == nullptr);
}

TEST_CASE("every type of metadata is read, lists in lists too") {
    GgufBytes bytes;
    bytes.header(0, 5);
    bytes.text("i8").number<std::uint32_t>(1).number<std::int8_t>(-3);
    bytes.text("u64").number<std::uint32_t>(10).number<std::uint64_t>(~std::uint64_t{0});
    bytes.text("f32").number<std::uint32_t>(6).number(0.5F);
    bytes.text("flag").number<std::uint32_t>(7).number<std::uint8_t>(1);
    bytes.text("lists").number<std::uint32_t>(9).number<std::uint32_t>(9).number<std::uint64_t>(1);
    bytes.number<std::uint32_t>(8).number<std::uint64_t>(2).text("x").text("yz");
    const auto opened = gguf::File::open(bytes.write());
    REQUIRE(opened.error == "");
    const auto& metadata = opened.file->metadata();
    CHECK(std::get<std::int64_t>(metadata.at("i8").held) == -3);
    CHECK(std::get<double>(metadata.at("u64").held) == 18446744073709551616.0);
    CHECK(std::get<double>(metadata.at("f32").held) == 0.5);
    CHECK(std::get<bool>(metadata.at("flag").held));
    const auto& inner =
        std::get<gguf::List>(std::get<gguf::List>(metadata.at("lists").held).items.at(0).held);
    CHECK(std::get<std::string_view>(inner.items.at(1).held) == "yz");
}

TEST_CASE("a GGUF file that is cut anywhere is refused, in words") {
    const auto whole = good().bytes();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        INFO(size);
        const auto error = error_of(GgufBytes().raw(whole.substr(0, size)));
        CHECK(error != "");
        if (size >= 4) {
            const bool named = error.find("truncated") != std::string::npos;
            CHECK(named);
        }
    }
}

TEST_CASE("the beginning of a GGUF file is checked") {
    CHECK(error_of(GgufBytes().raw("GG")) == "has 2 bytes; a GGUF file begins with \"GGUF\"");
    CHECK(error_of(GgufBytes().raw("GGML\3\0\0\0")) == "does not begin with \"GGUF\": it is no GGUF file");
    CHECK(error_of(GgufBytes().header(0, 0, 1)) == "has the version 1 of the format; expected 2 or 3");
    CHECK(error_of(GgufBytes().header(0, 0, 0x03000000)) ==
          "is big-endian, which is not read here; expected a little-endian file");
    CHECK(error_of(GgufBytes().header(0, std::uint64_t{1} << 60)) ==
          "says that there are 1152921504606846976 metadata entries, but only 0 bytes follow: it is "
          "truncated or "
          "wrong");
    CHECK(error_of(GgufBytes().header(1000, 0).data(64)) ==
          "says that there are 1000 tensors, but only 72 bytes follow: it is truncated or wrong");
    CHECK(error_of(GgufBytes().raw("")) == "has 0 bytes; a GGUF file begins with \"GGUF\"");
    CHECK_THAT(gguf::File::open("/nowhere/x.gguf").error, test::contains("cannot open"));
    CHECK_THAT(gguf::File::open(test::source_dir().string()).error, test::contains("is not a regular file"));
    CHECK_FALSE(gguf::is_gguf_file(test::source_dir().string()));
}

TEST_CASE("wrong metadata is refused with its key") {
    const auto with = [](const GgufBytes& entry) {
        return error_of(GgufBytes().header(0, 1).raw(entry.bytes()).raw(std::string(16, '\0')));
    };
    CHECK(with(GgufBytes().text("k").number<std::uint32_t>(13)) ==
          "metadata 'k': has a value of type 13; expected 0 to 12");
    CHECK(with(GgufBytes().text("k").number<std::uint32_t>(7).number<std::uint8_t>(2)) ==
          "metadata 'k': is a flag of 2; expected 0 or 1");
    CHECK_THAT(
        with(GgufBytes().text("k").number<std::uint32_t>(9).number<std::uint32_t>(4).number<std::uint64_t>(
            1 << 20)),
        test::contains("metadata 'k': says that there are 1048576 values of a list, but only 16 bytes"));
    CHECK_THAT(
        with(GgufBytes().text("a\nb").number<std::uint32_t>(4)),
        test::contains("has the metadata key 'a\\nb'; expected 1 to 65535 printable ASCII characters"));
    CHECK(error_of(GgufBytes().header(0, 2).entry("k", 1).entry("k", 2)) ==
          "metadata 'k': stands there twice");
    GgufBytes deep;
    deep.header(0, 1).text("k").number<std::uint32_t>(9);
    for (int i = 0; i < 5; ++i) deep.number<std::uint32_t>(9).number<std::uint64_t>(1);
    CHECK(error_of(deep.raw(std::string(32, '\0'))) == "metadata 'k': has lists nested deeper than 4 levels");
    for (const std::uint32_t alignment : {0, 4, 48, 131072})
        CHECK(error_of(GgufBytes()
                           .header(1, 1)
                           .entry("general.alignment", alignment)
                           .tensor({"a", {8}, 0, 0})
                           .data(32)) ==
              "metadata 'general.alignment': expected a power of two from 8 to 65536, got " +
                  std::to_string(alignment));
}

TEST_CASE("a tensor that lies about its size, type or place is refused by name") {
    CHECK(error_of_tensor({"a", {8}, 0, 0}, 32) == "");
    CHECK(error_of_tensor({"", {8}, 0, 0}, 32) == "has a tensor with the name ''; expected 1 to 64 bytes");
    CHECK(error_of_tensor({std::string(65, 'n'), {8}, 0, 0}, 32) ==
          "has a tensor with the name '" + std::string(65, 'n') + "'; expected 1 to 64 bytes");
    CHECK(error_of_tensor({"a", {}, 0, 0}, 64) == "tensor 'a' has 0 dimensions; expected 1 to 4");
    CHECK(error_of_tensor({"a", {1, 1, 1, 1, 1}, 0, 0}, 32) ==
          "tensor 'a' has 5 dimensions; expected 1 to 4");
    CHECK(error_of_tensor({"a", {8, 0}, 0, 0}, 32) == "tensor 'a' has a dimension of 0");
    CHECK(error_of_tensor({"a", {8}, 4, 0}, 32) ==
          "tensor 'a' has the type 4, which the format does not have");
    CHECK(error_of_tensor({"a", {8}, 99, 0}, 32) ==
          "tensor 'a' has the type 99, which the format does not have");
    CHECK(error_of_tensor({"a", {33}, 8, 0}, 64) ==
          "tensor 'a' has rows of 33 numbers, but Q8_0 has blocks of 32");
    CHECK(error_of_tensor({"a", {std::uint64_t{1} << 40, std::uint64_t{1} << 40}, 0, 0}, 32) ==
          "tensor 'a' has sizes of more numbers than 64 bits can count");
    CHECK(error_of_tensor({"a", {8}, 0, 16}, 64) ==
          "tensor 'a' begins at 16, which is no multiple of the alignment 32");
    CHECK(error_of_tensor({"a", {16}, 0, 0}, 32) ==
          "tensor 'a' has 64 bytes from 0, but the file has 32 bytes of data: it is truncated or wrong");
    CHECK(error_of_tensor({"a", {8}, 0, ~std::uint64_t{31}}, 32) ==
          "tensor 'a' has 32 bytes from 18446744073709551584, but the file has 32 bytes of data: it is "
          "truncated "
          "or wrong");
    CHECK(error_of_tensor({"a", {8}, 0, 0}, 96) ==
          "has 64 bytes behind the last tensor that belong to none; expected padding of less than 32");
    CHECK(error_of_tensor({"a", {8}, 0, 64}, 96) ==
          "has 64 bytes before tensor 'a' that belong to none; expected padding of less than 32");
}

TEST_CASE("tensors of one name, or of the same bytes, are refused") {
    const auto two = [](const GgufBytes::Tensor& a, const GgufBytes::Tensor& b, std::size_t data) {
        return error_of(GgufBytes().header(2, 0).tensor(a).tensor(b).data(data));
    };
    CHECK(two({"a", {8}, 0, 0}, {"a", {8}, 0, 32}, 64) == "has two tensors with the name 'a'");
    CHECK(two({"a", {16}, 0, 0}, {"b", {8}, 0, 32}, 64) == "tensors 'a' and 'b' overlap");
    CHECK(two({"b", {8}, 0, 0}, {"a", {8}, 0, 0}, 32) == "tensors 'b' and 'a' overlap");
    CHECK(two({"b", {8}, 0, 32}, {"a", {8}, 0, 0}, 64) == "");  // in any order
}

TEST_CASE("the metadata of a GGUF file has as many values as a JSON text may have") {
    // The list itself is one of them, and each of its items.
    const auto file_of = [](std::size_t values) {
        GgufBytes bytes;
        bytes.header(0, 1).text("a").number<std::uint32_t>(9).number<std::uint32_t>(0);
        return bytes.number<std::uint64_t>(values - 1).raw(std::string(values - 1, 'x'));
    };
    CHECK(error_of(file_of(base::limits::json_values)) == "");
    CHECK_THAT(error_of(file_of(base::limits::json_values + 1)),
               test::contains("is beyond the 4194304 values that are read of one file"));
}
