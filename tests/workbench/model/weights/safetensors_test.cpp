// The safetensors reader on files that lie, and the round trip. To add a lie: write its header into
// `error_of`.
#include "core/workbench/model/weights/safetensors_file.h"
#include "core/workbench/model/weights/tensors.h"

#include <csignal>
#include <cstring>
#include <fstream>
#include <random>

#include <sys/resource.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>

#include <switchyard_test.h>

using namespace switchyard;
using model::SafetensorsFile;

namespace {

std::string with_header(const std::string& header, std::size_t data_bytes) {
    std::uint64_t size = header.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &size, 8);
    return bytes + header + std::string(data_bytes, '\x01');
}

std::string write(const std::string& bytes) {
    const auto path = test::temporary_dir("safetensors").string() + "/file";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

// Without the path in front.
std::string error_of(const std::string& bytes) {
    const auto path = write(bytes);
    const auto opened = SafetensorsFile::open(path);
    CHECK((opened.file == nullptr) == !opened.error.empty());
    return opened.error.substr(std::min(opened.error.size(), path.size() + 2));
}

std::string error_of(const std::string& header, std::size_t data_bytes) {
    return error_of(with_header(header, data_bytes));
}

}  // namespace

TEST_CASE("tensors of every dtype come back as they were, views and strides too") {
    std::vector<model::NamedTensor> tensors;
    for (const auto type :
         {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kLong, at::kInt, at::kByte, at::kChar}) {
        tensors.push_back({std::string(toString(type)), at::arange(-3, 9).reshape({3, 4}).abs().to(type)});
    }
    tensors.push_back({"transposed", at::randn({5, 3}).t()});
    tensors.push_back({"scalar", at::randn({})});
    tensors.push_back({"empty", at::empty({0, 4})});
    const auto path = test::temporary_dir("safetensors").string() + "/round.safetensors";
    REQUIRE_FALSE(model::write_safetensors(path, tensors, {{"format", "pt"}}));
    const auto opened = SafetensorsFile::open(path);
    INFO(opened.error);
    REQUIRE(opened.file);
    CHECK(opened.file->metadata().at("format") == "pt");
    CHECK(opened.file->tensors().size() == tensors.size());
    for (const auto& [name, tensor] : tensors) {
        INFO(name);
        const auto* stored = opened.file->find(name);
        REQUIRE(stored != nullptr);
        const auto back = model::view_stored(opened.file, *stored);
        CHECK(back.scalar_type() == tensor.scalar_type());
        CHECK(back.equal(tensor));
        CHECK(reinterpret_cast<std::uintptr_t>(stored->data) % stored->type->bytes == 0);
    }
}

TEST_CASE("a file that is cut off or no safetensors file says so") {
    CHECK_THAT(SafetensorsFile::open("/nowhere/model.safetensors").error,
               test::contains("/nowhere/model.safetensors: cannot open: No such file"));
    CHECK(error_of("abc") == "has 3 bytes; a safetensors file starts with the 8-byte length of its header");
    CHECK(error_of(std::string(8, '\xff') + "{}") ==
          "its first 8 bytes say that the header has 18446744073709551615 bytes, but the file has 2 after "
          "them: it is truncated or no safetensors file");
    CHECK(error_of("[]", 0) == "its header does not start with '{': it is not a safetensors file");
    CHECK_THAT(error_of("{\"a\":", 0), test::contains("its header is not valid JSON"));
    const std::string one = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
    CHECK(error_of(one, 8).empty());
    CHECK(error_of(one, 4) ==
          "tensor 'a' has data_offsets [0,8], but the file has 4 bytes of data: it is truncated or its "
          "header is wrong");
    CHECK(error_of(one, 9) == "there are 1 bytes after the last tensor that belong to none");
}

TEST_CASE("a header that lies is refused with the tensor's name") {
    const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
        return "{\"a\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
    };
    CHECK(error_of(entry("\"F31\"", "[2]", "[0,8]"), 8) == "tensor 'a' has the unknown dtype \"F31\"");
    CHECK(error_of(entry("7", "[2]", "[0,8]"), 8) == "tensor 'a' has no \"dtype\"");
    CHECK(error_of(entry("\"F32\"", "[3]", "[0,8]"), 8) ==
          "tensor 'a' has data_offsets [0,8] (8 bytes), but F32 of shape [3] needs 12");
    CHECK(error_of(entry("\"F32\"", "[-2]", "[0,8]"), 8) ==
          "tensor 'a' has a shape with -2 in it, expected whole numbers from 0");
    CHECK(error_of(entry("\"F32\"", "[2.0]", "[0,8]"), 8) ==
          "tensor 'a' has a shape with 2.0 in it, expected whole numbers from 0");
    CHECK(error_of(entry("\"F32\"", "[2]", "[8,0]"), 8) ==
          "tensor 'a' has data_offsets [8,0], but the file has 8 bytes of data: it is truncated or its "
          "header is wrong");
    CHECK(error_of(entry("\"F32\"", "[2]", "[0,18446744073709551615]"), 8) ==
          "tensor 'a' has data_offsets [0,18446744073709551615], but the file has 8 bytes of data: it is "
          "truncated or its header is wrong");
    CHECK(error_of(entry("\"F32\"", "[4294967296,4294967296]", "[0,8]"), 8) ==
          "tensor 'a' has a shape [4294967296,4294967296] of more bytes than 64 bits can count");
    CHECK(error_of(entry("\"F32\"", "[2]", "[0]"), 8) ==
          "tensor 'a' has no \"data_offsets\" of two whole numbers");
    CHECK(error_of("{\"a\":3}", 0) == "tensor 'a' is not an object with dtype, shape and data_offsets");
    CHECK(error_of("{\"__metadata__\":{\"x\":1}}", 0) == "__metadata__: 'x' is not a string");
}

TEST_CASE("overlaps, holes, doubled names and depth are refused") {
    const auto two = [](const std::string& a, const std::string& b) {
        return "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + a +
               "},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + b + "}}";
    };
    CHECK(error_of(two("[0,4]", "[4,8]"), 8).empty());
    CHECK(error_of(two("[0,4]", "[2,6]"), 6) == "tensors 'a' and 'b' overlap");
    CHECK(error_of(two("[0,4]", "[5,9]"), 9) == "there is a hole of 1 bytes before tensor 'b'");
    CHECK(error_of(two("[1,5]", "[5,9]"), 9) == "there is a hole of 1 bytes before tensor 'a'");
    const std::string a = "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}";
    CHECK(error_of("{" + a + "," + a + "}", 4) ==
          "its header is not valid JSON at column 56: 'a' appears twice");
    CHECK(
        error_of("{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}", 0) ==
        "its header is not valid JSON at column 8: more than 3 lists and objects inside each other; nothing "
        "that is "
        "read here nests so deep");
}

TEST_CASE("no truncation and no flipped bytes crash the reader") {
    const auto path = test::temporary_dir("safetensors").string() + "/whole.safetensors";
    REQUIRE_FALSE(model::write_safetensors(path, {{"w", at::randn({3, 4})}, {"b", at::arange(5)}}, {}));
    std::ifstream file(path, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t size = 0; size < whole.size(); ++size)
        CHECK_FALSE(error_of(whole.substr(0, size)).empty());
    std::mt19937 random(7);
    for (int i = 0; i < 500; ++i) {
        auto bytes = whole;
        for (int k = 0; k < 3; ++k) bytes[random() % 200] = static_cast<char>(random());
        const auto opened = SafetensorsFile::open(write(bytes));
        if (!opened.file) continue;
        for (const auto& stored : opened.file->tensors()) CHECK(stored.bytes <= whole.size());
    }
}

TEST_CASE("a file that cannot be written whole leaves the one before") {
    const auto path = test::temporary_dir("safetensors").string() + "/kept.safetensors";
    REQUIRE_FALSE(model::write_safetensors(path, {{"w", at::arange(4)}}, {}));
    struct rlimit before {};
    ::getrlimit(RLIMIT_FSIZE, &before);
    struct rlimit small = before;
    small.rlim_cur = 1000;  // writing past it fails as a full disk does
    std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto error = model::write_safetensors(path, {{"w", at::arange(1000)}}, {});
    ::setrlimit(RLIMIT_FSIZE, &before);
    REQUIRE(error);
    CHECK_THAT(*error, test::contains("cannot write " + path));
    const auto opened = SafetensorsFile::open(path);
    REQUIRE(opened.file);
    CHECK(opened.file->find("w")->shape == std::vector<std::int64_t>{4});
}
