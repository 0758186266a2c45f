// Tensors of GGUF files in Hugging Face's form: rows of q and k in their order, as float32 and as groups.
#include "core/workbench/model/weights/file_tensor.h"
#include "core/workbench/gguf/blocks.h"

#include <random>

#include <ATen/ops/allclose.h>

#include "../../gguf/gguf_bytes.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::GgufBytes;

namespace {

constexpr std::uint64_t columns = 64;
constexpr std::int64_t heads = 2, kv_heads = 1, head_dim = 4;

// So many rows of that type, with float16 scales (and minima) of usual sizes.
std::string blocks(const gguf::TensorType& type, std::uint64_t rows) {
    std::minstd_rand random(7);
    std::string bytes;
    for (std::uint64_t block = 0; block < rows * columns / type.elements; ++block) {
        for (std::uint32_t i = 0; i < type.bytes; ++i) bytes += static_cast<char>(random() >> 8);
        bytes[bytes.size() - type.bytes + 1] = 0x2C;
        if (type.name == "Q4_1") bytes[bytes.size() - type.bytes + 3] = 0x2F;
    }
    return bytes;
}

// q, k and v of one layer.
std::shared_ptr<const gguf::File> file_of(std::uint32_t number) {
    const auto& type = *gguf::find_tensor_type(number);
    const std::uint64_t q_rows = heads * head_dim, kv_rows = kv_heads * head_dim;
    const auto q = blocks(type, q_rows), kv = blocks(type, kv_rows);
    const auto aligned = [](std::size_t bytes) { return (bytes + 31) / 32 * 32; };
    GgufBytes bytes;
    bytes.header(3, 0);
    bytes.tensor({"blk.0.attn_q.weight", {columns, q_rows}, number, 0});
    bytes.tensor({"blk.0.attn_k.weight", {columns, kv_rows}, number, aligned(q.size())});
    bytes.tensor({"blk.0.attn_v.weight", {columns, kv_rows}, number, aligned(q.size()) + aligned(kv.size())});
    for (const auto& part : {q, kv, kv}) bytes.padded().raw(part);
    const auto opened = gguf::File::open(bytes.write());
    REQUIRE(opened.error == "");
    return opened.file;
}

config::ModelConfig model_of() {
    config::ModelConfig model;
    model.heads = heads, model.kv_heads = kv_heads, model.head_dim = head_dim;
    return model;
}

}  // namespace

TEST_CASE("rows of q and k are put in the order of halves, and those of v stay") {
    const auto file = file_of(8);
    const auto tensors = model::file_tensors(file, model::GgufFamily::llama, model_of());
    REQUIRE(tensors.size() == 3);
    const auto q = tensors[0].value(), k = tensors[1].value(), v = tensors[2].value();
    CHECK(tensors[0].huggingface == "model.layers.0.self_attn.q_proj.weight");
    CHECK(q.sizes() == at::IntArrayRef{heads * head_dim, static_cast<std::int64_t>(columns)});
    // k has the bytes of v: its rows 0, 1, 2, 3 are the neighbours 0, 1 of the two turns.
    CHECK(k[0].equal(v[0]));
    CHECK(k[1].equal(v[2]));
    CHECK(k[2].equal(v[1]));
    CHECK(k[3].equal(v[3]));
    // The generator makes the first rows of q as those of v.
    CHECK(q[1].equal(v[2]));
}

TEST_CASE("groups of a GGUF file's matrix mean its numbers, in the same order of rows") {
    for (const std::uint32_t number : {8, 2, 3}) {
        const auto file = file_of(number);
        for (const auto& tensor : model::file_tensors(file, model::GgufFamily::llama, model_of())) {
            INFO(tensor.name << " of type " << number);
            REQUIRE(tensor.groups);
            const auto groups = tensor.groups();
            CHECK(groups.bits == (number == 8 ? 8 : 4));
            CHECK(groups.zero_points.defined() == (number == 3));
            auto values = groups.values.to(at::kFloat).unflatten(1, {-1, gguf::QuantizedGroups::size});
            if (groups.zero_points.defined()) values = values.sub(groups.zero_points.unsqueeze(-1));
            const auto meant = values.mul(groups.scales.unsqueeze(-1)).flatten(1);
            CHECK(at::allclose(meant, tensor.value(), 1e-5, 1e-5));
        }
    }
    const auto plain = file_of(1);
    CHECK_FALSE(model::file_tensors(plain, model::GgufFamily::llama, model_of())[0].groups);
}
