// Models in GGUF files: sizes and formulas by their metadata, in llama.cpp's form
// (tests/fixtures/make_gguf.py).
// To add a case: metadata, and what is said of it.
#include <cmath>

#include "core/workbench/model/weights/gguf_model.h"
#include "core/workbench/model/weights/gguf_names.h"
#include "core/workbench/model/weights/huggingface_config.h"
#include "core/workbench/model/weights/model_description.h"

#include "../../gguf/gguf_bytes.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::contains;
using test::GgufBytes;

namespace {

std::string fixture_path(const std::string& name) {
    return (test::source_dir() / "tests/fixtures" / name).string();
}

model::GgufModel read_gguf(const std::string& path) {
    const auto opened = gguf::File::open(path);
    REQUIRE(opened.error == "");
    return model::read_gguf_model(*opened.file);
}

// A llama of one layer, and more metadata.
GgufBytes llama(std::uint64_t count = 0, const GgufBytes& more = {},
                const std::string& architecture = "llama") {
    GgufBytes bytes;
    bytes.header(1, count + 6).entry("general.architecture", architecture);
    const auto key = [&](const std::string& name, std::uint32_t value) {
        bytes.entry(architecture + "." + name, value);
    };
    key("block_count", 1), key("context_length", 64), key("embedding_length", 8),
        key("feed_forward_length", 16);
    key("attention.head_count", 2);
    return bytes.raw(more.bytes()).tensor({"token_embd.weight", {8, 4}, 0, 0}).data(128);
}

std::string error_of_gguf(const GgufBytes& bytes) {
    const auto path = bytes.write();
    const auto error = read_gguf(path).error;
    return error.starts_with(path + ": ") ? error.substr(path.size() + 2) : error;
}

GgufBytes number(const std::string& key, float value) {
    return GgufBytes().text(key).number<std::uint32_t>(6).number(value);
}

}  // namespace

TEST_CASE("a GGUF file has the model of the folder that it was made of") {
    for (const auto* const name : {"llama", "gpt2"}) {
        INFO(name);
        const auto found = read_gguf(fixture_path("gguf/" + std::string(name) + ".gguf"));
        REQUIRE(found.error == "");
        CHECK(found.notes.empty());
        auto theirs =
            model::read_huggingface_config(fixture_path("generation_" + std::string(name)) + "/config.json")
                .model;
        CHECK(std::abs(found.model.norm_eps / theirs.norm_eps - 1.0) < 1e-6);  // float32 there
        theirs.norm_eps = found.model.norm_eps;
        CHECK(model::differences(found.model, theirs) == std::vector<std::string>{});
        CHECK(found.model.dropout == 0.0);
    }
}

TEST_CASE("Llama 3's scaling is found again in the factors that a GGUF file keeps of it") {
    const auto found = read_gguf(fixture_path("gguf/llama3.gguf"));
    REQUIRE(found.error == "");
    CHECK(found.model.rotary_scaling == config::RotaryScaling::llama3);
    CHECK(std::abs(found.model.rotary_factor - 8.0) < 1e-5);
    CHECK(found.model.rotary_low_freq_factor == 1.0);
    CHECK(found.model.rotary_high_freq_factor == 4.0);
    CHECK(found.model.rotary_original_positions == 128);
}

TEST_CASE("[model] from names a GGUF file: its model, and the file as weights") {
    config::LoadRequest request;
    request.path = "job.toml";
    const auto path = fixture_path("gguf/llama.gguf");
    request.text = "[model]\nfrom = \"" + path + "\"\n";
    request.read_model_folder = model::read_model_folder;
    const auto loaded = config::load(request);
    REQUIRE(config::render(loaded.problems) == "");
    CHECK(loaded.config->model == read_gguf(path).model);
    CHECK(loaded.config->train.weights == path);
    CHECK(loaded.config->where("model.layers") == path);
    auto other = loaded.config->model;
    other.layers = 3;
    CHECK(model::differences(other, model::describe_weights(path)) ==
          std::vector{path + ": not the configured model: model.layers: 3 configured, 2 in the file"});
}

TEST_CASE("the smallest llama is read with the usual numbers, and linear scaling where it is said") {
    const auto found = read_gguf(llama().write());
    REQUIRE(found.error == "");
    CHECK(found.model.kv_heads == 2);
    CHECK(found.model.head_dim == 4);
    CHECK(found.model.vocab_size == 4);
    CHECK(found.model.tie_embeddings);
    CHECK(found.model.rotary_theta == 10000.0);
    CHECK(found.model.rotary_scaling == config::RotaryScaling::none);
    GgufBytes more;
    more.entry("llama.rope.scaling.type", "linear").raw(number("llama.rope.scaling.factor", 2.0F).bytes());
    const auto scaled = read_gguf(llama(2, more).write());
    REQUIRE(scaled.error == "");
    CHECK(scaled.model.rotary_scaling == config::RotaryScaling::linear);
    CHECK(scaled.model.rotary_factor == 2.0);
    const auto noted = read_gguf(llama(1, GgufBytes().entry("llama.something_new", 1)).write());
    REQUIRE(noted.notes.size() == 1);
    CHECK_THAT(noted.notes.front(), contains("llama.something_new is not known here and was not looked at"));
}

TEST_CASE("metadata that is missing, wrong or says that another model is computed is refused by its key") {
    const auto with = [](const std::string& key, std::uint32_t value) {
        return error_of_gguf(llama(1, GgufBytes().entry("llama." + key, value)));
    };
    CHECK(error_of_gguf(GgufBytes().header(0, 0)) == "general.architecture: expected a text, got nothing");
    CHECK(error_of_gguf(llama(0, {}, "qwen2")) ==
          "general.architecture: expected 'llama' or 'gpt2', got 'qwen2'");
    CHECK(error_of_gguf(GgufBytes().header(0, 1).entry("general.architecture", "llama")) ==
          "llama.block_count: expected a whole number from 1, got nothing");
    CHECK(error_of_gguf(llama(1, GgufBytes().entry("split.count", 3))) ==
          "split.count: expected a whole model in one file; llama-gguf-split --merge joins the parts, got 3");
    CHECK(error_of_gguf(llama(1, GgufBytes().entry("general.type", "adapter"))) ==
          "general.type: expected 'model', got 'adapter'");
    CHECK(with("expert_count", 8) ==
          "llama.expert_count: expected a file without it: what it changes is not computed "
          "here, got 8");
    CHECK(with("vocab_size", 5) == "llama.vocab_size: expected 4, the rows of token_embd.weight, got 5");
    CHECK(with("rope.dimension_count", 2) ==
          "llama.rope.dimension_count: expected 4, the width of a head, got 2");
    CHECK(with("attention.value_length", 6) ==
          "llama.attention.value_length: expected as much as attention.key_length, got 6");
    CHECK(error_of_gguf(llama(1, GgufBytes().entry("llama.rope.scaling.type", "yarn"))) ==
          "llama.rope.scaling.type: expected none or linear: other scalings of rotary positions are not "
          "computed here, "
          "got 'yarn'");
    CHECK(error_of_gguf(llama(1, number("llama.rope.freq_base", -1.0F))) ==
          "llama.rope.freq_base: expected a number above 0, got -1.00000");
}

TEST_CASE("names of GGUF's tensors go to Hugging Face's and back") {
    using model::GgufFamily;
    const auto both = [](GgufFamily family, const std::string& gguf, const std::string& theirs) {
        CHECK(model::huggingface_name(family, gguf) == theirs);
        CHECK(model::gguf_name(family, theirs) == gguf);
    };
    both(GgufFamily::llama, "blk.12.attn_output.weight", "model.layers.12.self_attn.o_proj.weight");
    both(GgufFamily::llama, "output.weight", "lm_head.weight");
    both(GgufFamily::llama, "output_norm.weight", "model.norm.weight");
    both(GgufFamily::llama, "something.weight", "something.weight");
    both(GgufFamily::gpt2, "blk.0.attn_qkv.bias", "transformer.h.0.attn.c_attn.bias");
    both(GgufFamily::gpt2, "position_embd.weight", "transformer.wpe.weight");
}
