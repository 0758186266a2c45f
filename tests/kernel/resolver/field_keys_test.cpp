// Which keys of the configuration a refused field follows from. To add one: a line in field_keys.cpp, whose
// key the last test finds in the schema.
#include "fakes.h"

#include <set>

#include <nlohmann/json.hpp>

#include "core/kernel/config/schema.h"
#include "core/kernel/resolver/field_keys.h"
#include "core/kernel/resolver/request_fields.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

// "head_dim: model.head_dim model.hidden_size; ..."
std::string keys(Kind kind, const Request& request, std::string_view field) {
    std::string text;
    for (const auto& one : resolver::keys_of(kind, request, field)) {
        text += (text.empty() ? "" : "; ") + one.what + " =";
        for (const auto key : one.keys) text += " " + std::string(key);
    }
    return text;
}

std::string keys(const AttentionRequest& request, std::string_view field) {
    return keys(Kind::attention, request, field);
}

}  // namespace

TEST_CASE("a field has the keys that it follows from") {
    auto request = attention_request();
    CHECK(keys(request, "head_dim") == "head_dim = model.head_dim model.hidden_size model.heads");
    CHECK(keys(request, "dtype") == "dtype = precision.compute_dtype precision.backend");
    CHECK(keys(request, "layout") == "layout = batch.layout");
    CHECK(keys(request, "dropout") == "dropout = model.attention_dropout");
    CHECK(keys(request, "want_lse").empty());
    CHECK(keys(request, "row stride").empty());
    CHECK(keys(request, "").empty());
    CHECK(keys(Kind::normalization, NormalizationRequest{}, "dropout") == "dropout = model.dropout");
    CHECK(keys(Kind::optimizer, OptimizerRequest{}, "dtype") ==
          "dtype = precision.parameter_dtype precision.backend");
    CHECK(keys(Kind::data_loader, DataLoaderRequest{}, "dtype").empty());
}

TEST_CASE("of masks each that is asked for has its own keys") {
    auto request = attention_request();
    CHECK(keys(request, "masks").empty());
    request.masks = {MaskKind::causal, MaskKind::sliding_window, MaskKind::alibi};
    const std::string all =
        "masks: causal = model.type; masks: sliding_window = model.window; masks: alibi = model.positions";
    for (const char* field : {"masks", "mask", "masks.alibi"}) CHECK(keys(request, field) == all);
}

TEST_CASE("a reason of two fields has the keys of both") {
    CHECK(keys(attention_request(), "q_length, kv_length") ==
          "q_length = batch.min_length batch.max_length; kv_length = batch.min_length batch.max_length");
}

TEST_CASE("prompts and what follows them are padded rows of any length whatever [batch] says") {
    auto request = attention_request();
    request.masks = {MaskKind::key_lengths};
    request.phase = Phase::decode;
    CHECK(keys(request, "layout").empty());
    CHECK(keys(request, "masks").empty());
    CHECK(keys(request, "q_length") == "q_length = cache.step_tokens");
    CHECK(keys(request, "kv_length") == "kv_length = batch.max_length");
    request.phase = Phase::prefill;
    CHECK(keys(request, "q_length") == "q_length = batch.max_length");
}

TEST_CASE("a failure names the keys that were written with their places, or those that would be") {
    auto request = attention_request(60);
    request.dropout = 0.1;
    const auto strict = candidate<AttentionRequest>("x/x", 1, [](const AttentionRequest& r, Verdict& v) {
        if (r.head_dim.max % 8 != 0) v.reject(Code::HeadDim, "head_dim", "a multiple of 8", r.head_dim);
        if (r.head_dim.max % 4 != 1) v.reject(Code::HeadDim, "head_dim", "odd", r.head_dim);
        if (r.dropout > 0) v.reject(Code::Dropout, "dropout", "0", r.dropout);
    });
    resolver::ResolveOptions options;
    options.explain = false;
    const auto without = resolve(use(request, {"x"}), {strict}, test_host(), options).error;
    CHECK(without.find("follows from") == std::string::npos);
    options.written_at = [](std::string_view key) {
        return key.starts_with("model.h") ? "job.toml:3:" + std::to_string(key.size()) : std::string();
    };
    CHECK(
        resolve(use(request, {"x"}), {strict}, test_host(), options).error ==
        without +
            "\n    head_dim follows from model.head_dim (job.toml:3:14), model.hidden_size (job.toml:3:17), "
            "model.heads (job.toml:3:11)"
            "\n    dropout follows from model.attention_dropout (not written: as by default)");
}

TEST_CASE("every key that a field follows from is a key of the configuration") {
    std::set<std::string> known;
    for (const auto& entry : config::schema_json()) known.insert(entry.at("key").get<std::string>());
    std::set<std::string> named;
    for (const Kind kind : all_kinds) {
        visit(kind, [&]<class Traits>(Traits) {
            typename Traits::Request request;
            for (const Phase phase : {Phase::train, Phase::decode}) {
                request.phase = phase;
                if constexpr (Traits::kind == Kind::attention)
                    for (std::size_t i = 0; i < names<MaskKind>.size(); ++i)
                        request.masks.insert(static_cast<MaskKind>(i));
                for (const auto& field : resolver::fields(kind, request)) {
                    for (const auto& of : resolver::keys_of(kind, request, field.name))
                        named.insert(of.keys.begin(), of.keys.end());
                }
            }
        });
    }
    CHECK(named.size() > 30);
    for (const auto& key : named) {
        INFO(key);
        CHECK(known.count(key) == 1);
    }
}
