// What configured models ask of their slots. To add a case: TOML text, then the use that is looked for.
#include "core/workbench/model/outline.h"

#include "core/kernel/config/load.h"
#include "core/kernel/resolver/request_fields.h"

#include <set>

#include <switchyard_test.h>

using namespace switchyard;
using config::Config;
using resolver::SlotUse;

namespace {

Config loaded(const std::string& text) {
    config::LoadRequest request;
    request.path = "test.toml";
    request.text = text;
    const auto result = config::load(request);
    INFO(config::render(result.problems));
    REQUIRE(result.config);
    return *result.config;
}

std::vector<SlotUse> outline(const std::string& text) {
    const auto config = loaded(text);
    return model::outline(config, model::configured_dtypes(config));
}

const SlotUse& find(const std::vector<SlotUse>& uses, const std::string& slot, Phase phase,
                    const std::string& layers) {
    for (const auto& use : uses) {
        if (use.slot == slot && use.phase == phase && use.layers == layers) return use;
    }
    std::string all;
    for (const auto& use : uses)
        all += "\n" + use.slot + " " + std::string(name(use.phase)) + " " + use.layers;
    throw std::runtime_error("no use " + slot + " " + layers + " among" + all);
}

template <class R>
const R& request(const std::vector<SlotUse>& uses, const std::string& slot, Phase phase,
                 const std::string& layers) {
    return static_cast<const R&>(*find(uses, slot, phase, layers).request);
}

std::set<std::string> slots(const std::vector<SlotUse>& uses, Phase phase) {
    std::set<std::string> set;
    for (const auto& use : uses) {
        if (use.phase == phase) set.insert(use.slot + " " + use.layers);
    }
    return set;
}

const std::string bert = R"(
[model]
type = "bert"
layers = 6
hidden_size = 384
heads = 12
[batch]
size = 32
max_length = 128
)";

}  // namespace

TEST_CASE("an encoder asks for attention over all lengths that its batches can have") {
    const auto uses = outline(bert);
    const auto& train = request<AttentionRequest>(uses, "attention", Phase::train, "encoder.0-5");
    CHECK(train.batch == Range(1, 32));
    CHECK(train.heads == Range(12));
    CHECK(train.kv_heads == Range(12));
    CHECK(train.head_dim == Range(32));
    CHECK(train.v_head_dim == Range(32));
    CHECK(train.q_length == Range(1, 128));
    CHECK(train.kv_length == Range(1, 128));
    CHECK(train.masks == MaskSet{MaskKind::key_lengths});
    CHECK(train.dropout == 0.1);
    CHECK(train.needs_grad);
    CHECK(train.dtype == DType::float32);

    const auto& eval = request<AttentionRequest>(uses, "attention", Phase::eval, "encoder.0-5");
    CHECK(eval.dropout == 0.0);
    CHECK_FALSE(eval.needs_grad);
}

TEST_CASE("an encoder's slots are all there, once for equal layers") {
    const auto uses = outline(bert);
    CHECK(slots(uses, Phase::train) ==
          std::set<std::string>{
              "attention encoder.0-5", "normalization encoder.0-5", "normalization.embedding encoder",
              "activation encoder.0-5", "activation.head model", "normalization.head encoder", "loss model",
              "linear.attention.q,k,v,out encoder.0-5", "linear.feed_forward.in encoder.0-5",
              "linear.feed_forward.out encoder.0-5", "linear.masked_lm.dense model", "linear.lm_head model",
              "optimizer model", "data_loader model"});
    CHECK(slots(uses, Phase::eval) ==
          std::set<std::string>{"attention encoder.0-5", "normalization encoder.0-5",
                                "normalization.embedding encoder", "activation encoder.0-5",
                                "activation.head model", "normalization.head encoder", "loss model",
                                "linear.attention.q,k,v,out encoder.0-5",
                                "linear.feed_forward.in encoder.0-5", "linear.feed_forward.out encoder.0-5",
                                "linear.masked_lm.dense model", "linear.lm_head model", "data_loader model"});
    CHECK(find(uses, "attention", Phase::train, "encoder.0-5").layer_ids.size() == 6);
}

TEST_CASE("a post-norm block asks for the widest normalization, the embeddings for the plain one") {
    const auto uses = outline(bert);
    const auto& block = request<NormalizationRequest>(uses, "normalization", Phase::train, "encoder.0-5");
    CHECK(block.norm == NormKind::layer_norm);
    CHECK(block.rows == Range(1, 32 * 128));
    CHECK(block.width == Range(384));
    CHECK(block.affine_bias);
    CHECK(block.input_bias);
    CHECK(block.residual);
    CHECK(block.dropout == 0.1);
    const auto& embedding =
        request<NormalizationRequest>(uses, "normalization.embedding", Phase::train, "encoder");
    CHECK_FALSE(embedding.input_bias);
    CHECK_FALSE(embedding.residual);
    CHECK(embedding.dropout == 0.0);
}

TEST_CASE(
    "where ranks divide tokens norms between blocks have some of the rows, without what counts positions") {
    auto config = loaded(bert + "[distributed]\nsequence_parallel = true\nmesh = { tensor = 3 }\n");
    config.distributed.part = {1, 3};
    const auto uses = model::outline(config, model::configured_dtypes(config));
    const auto& block = request<NormalizationRequest>(uses, "normalization", Phase::train, "encoder.0-5");
    CHECK(block.rows == Range(0, 1366));  // of 1 to 4096
    CHECK(block.residual);
    CHECK_FALSE(block.input_bias);
    CHECK(block.dropout == 0.0);
    const auto& embedding =
        request<NormalizationRequest>(uses, "normalization.embedding", Phase::train, "encoder");
    CHECK(embedding.rows == Range(1, 4096));
    config.distributed.part = {};
    const auto whole = model::outline(config, model::configured_dtypes(config));
    CHECK(request<NormalizationRequest>(whole, "normalization", Phase::train, "encoder.0-5").rows ==
          Range(1, 4096));
}

TEST_CASE("fixed lengths need no key lengths, packed batches have documents") {
    auto uses = outline(bert + "min_length = 128\n");
    CHECK(request<AttentionRequest>(uses, "attention", Phase::train, "encoder.0-5").masks.empty());
    uses = outline(bert + "layout = \"packed\"\n");
    const auto& packed = request<AttentionRequest>(uses, "attention", Phase::train, "encoder.0-5");
    CHECK(packed.layout == Layout::packed);
    CHECK(packed.masks == MaskSet{MaskKind::documents});
}

TEST_CASE("a decoder is causal, and is planned for prefill and decode") {
    const auto uses = outline(R"(
run.phases = ["train", "prefill", "decode"]
run.device = "cuda"
[model]
type = "gpt"
layers = 4
hidden_size = 256
heads = 8
kv_heads = 2
norm = "rms_norm"
activation = "swiglu"
positions = "rotary"
bias = false
intermediate_size = 1024
window = 64
[batch]
size = 4
max_length = 512
)");
    const auto& train = request<AttentionRequest>(uses, "attention", Phase::train, "decoder.0-3");
    CHECK(train.masks == MaskSet{MaskKind::causal, MaskKind::key_lengths, MaskKind::sliding_window});
    CHECK(train.kv_heads == Range(2));
    CHECK(train.device == Device::cuda);
    const auto& decode = request<AttentionRequest>(uses, "attention", Phase::decode, "decoder.0-3");
    CHECK(decode.q_length == Range(1));
    CHECK(decode.kv_length == Range(1, 512));
    CHECK(decode.masks.has(MaskKind::causal));
    // Rows of several lengths are told where their new tokens stand, once they are grown.
    CHECK(decode.query_offsets);
    CHECK_FALSE(request<AttentionRequest>(uses, "attention", Phase::prefill, "decoder.0-3").query_offsets);
    CHECK_FALSE(train.query_offsets);
    CHECK_FALSE(decode.custom_scale);
    CHECK_FALSE(decode.want_lse);
    CHECK(request<NormalizationRequest>(uses, "normalization", Phase::decode, "decoder.0-3").rows ==
          Range(1, 4));
    const auto& activation = request<ActivationRequest>(uses, "activation", Phase::train, "decoder.0-3");
    CHECK(activation.activation == ActivationKind::swiglu);
    CHECK(activation.width == Range(1024));
    CHECK_FALSE(activation.input_bias);
    CHECK(slots(uses, Phase::decode) ==
          std::set<std::string>{"attention decoder.0-3", "normalization decoder.0-3",
                                "normalization.first decoder.0", "normalization.final decoder",
                                "linear.attention.q,out decoder.0-3", "linear.attention.k,v decoder.0-3",
                                "linear.feed_forward.in decoder.0-3", "linear.feed_forward.out decoder.0-3",
                                "linear.lm_head model", "activation decoder.0-3"});
    // Of a prompt the head sees the last token of each row.
    CHECK(request<LinearRequest>(uses, "linear.lm_head", Phase::prefill, "model").rows == Range(1, 4));
    const auto& first = request<NormalizationRequest>(uses, "normalization.first", Phase::train, "decoder.0");
    CHECK_FALSE(first.residual);
    CHECK_FALSE(first.affine_bias);
    CHECK(request<NormalizationRequest>(uses, "normalization.final", Phase::train, "decoder").residual);
}

TEST_CASE("T5 asks for its relative bias in self-attention only, and for its encoder once in generation") {
    const auto uses = outline(R"(
run.phases = ["train", "prefill", "decode"]
[model]
type = "t5"
layers = 3
decoder_layers = 2
hidden_size = 128
heads = 4
[batch]
size = 2
max_length = 64
)");
    const auto& encoder = request<AttentionRequest>(uses, "attention", Phase::train, "encoder.0-2");
    CHECK(encoder.masks == MaskSet{MaskKind::key_lengths, MaskKind::relative_bias});
    CHECK(encoder.bias_gradient);
    CHECK(encoder.custom_scale);
    const auto& decoder = request<AttentionRequest>(uses, "attention", Phase::train, "decoder.0-1");
    CHECK(decoder.masks == MaskSet{MaskKind::causal, MaskKind::key_lengths, MaskKind::relative_bias});
    const auto& cross = request<AttentionRequest>(uses, "attention.cross", Phase::train, "decoder.0-1");
    CHECK(cross.masks == MaskSet{MaskKind::key_lengths});
    CHECK_FALSE(cross.bias_gradient);
    CHECK(cross.custom_scale);
    CHECK_FALSE(
        request<AttentionRequest>(uses, "attention.cross", Phase::decode, "decoder.0-1").query_offsets);
    CHECK(request<AttentionRequest>(uses, "attention", Phase::decode, "decoder.0-1").query_offsets);
    CHECK(request<AttentionRequest>(uses, "attention.cross", Phase::decode, "decoder.0-1").q_length ==
          Range(1));
    CHECK(request<AttentionRequest>(uses, "attention.cross", Phase::decode, "decoder.0-1").kv_length ==
          Range(1, 64));
    CHECK(request<ActivationRequest>(uses, "activation", Phase::train, "encoder.0-2").dropout == 0.1);
    const auto decode = slots(uses, Phase::decode);
    CHECK(decode.count("attention decoder.0-1") == 1);
    CHECK(decode.count("attention encoder.0-2") == 0);
    // Keys and values are projected with the prompt.
    CHECK(decode.count("linear.cross.q,out decoder.0-1") == 1);
    CHECK(slots(uses, Phase::prefill).count("attention encoder.0-2") == 1);
}

TEST_CASE("rules for some layers split their rows and nothing else") {
    const auto uses = outline(bert + R"(
[attention]
backend = "torch"
[[layer]]
match = "encoder.2-3"
attention.backend = "naive"
)");
    CHECK(find(uses, "attention", Phase::train, "encoder.0-1").config.backend ==
          std::vector<std::string>{"torch"});
    const auto& middle = find(uses, "attention", Phase::train, "encoder.2-3");
    CHECK(middle.config.backend == std::vector<std::string>{"naive"});
    CHECK(middle.origin.line > find(uses, "attention", Phase::train, "encoder.0-1").origin.line);
    CHECK(find(uses, "attention", Phase::train, "encoder.4-5").config.backend ==
          std::vector<std::string>{"torch"});
    CHECK_NOTHROW(find(uses, "normalization", Phase::train, "encoder.0-5"));
}

TEST_CASE("a layer's own window makes a row of its own") {
    const auto uses = outline(bert + "[[layer]]\nmatch = \"encoder.5\"\nmodel.window = 16\n");
    CHECK(request<AttentionRequest>(uses, "attention", Phase::eval, "encoder.5")
              .masks.has(MaskKind::sliding_window));
    CHECK_FALSE(request<AttentionRequest>(uses, "attention", Phase::eval, "encoder.0-4")
                    .masks.has(MaskKind::sliding_window));
}

TEST_CASE(
    "the precision policy's dtypes are asked for by class and layer, and what is written goes before them") {
    const std::string low = "precision.parameter_dtype = \"float32\"\n";
    auto config = loaded(low + bert);
    const model::Dtypes dtypes{
        [](OpClass op, const std::string& layer) {
            if (layer == "encoder.5") return DType::float16;
            return op == OpClass::normalization || op == OpClass::loss ? DType::float32 : DType::bfloat16;
        },
        [](OpClass, const std::string&) { return DType::float32; }};
    auto uses = model::outline(config, dtypes);
    CHECK(request<AttentionRequest>(uses, "attention", Phase::train, "encoder.0-4").dtype == DType::bfloat16);
    CHECK(request<AttentionRequest>(uses, "attention", Phase::train, "encoder.5").dtype == DType::float16);
    CHECK(request<NormalizationRequest>(uses, "normalization", Phase::train, "encoder.0-4").dtype ==
          DType::float32);
    CHECK(request<LossRequest>(uses, "loss", Phase::train, "model").dtype == DType::float32);
    config.precision.compute_dtype = DType::float16;
    uses = model::outline(config, dtypes);
    CHECK(request<AttentionRequest>(uses, "attention", Phase::train, "encoder.0-5").dtype == DType::float16);
    CHECK(request<OptimizerRequest>(uses, "optimizer", Phase::train, "model").dtype == DType::float32);
}

TEST_CASE("linear layers of one module that are asked for alike are one use") {
    const auto uses = outline(bert + "min_length = 16\n");
    std::vector<std::string> slots;
    for (const auto& use : uses)
        if (use.kind == Kind::linear && use.phase == Phase::train)
            slots.push_back(use.layers + " " + use.slot);
    CHECK(slots == std::vector<std::string>{"encoder.0-5 linear.attention.q,k,v,out",
                                            "encoder.0-5 linear.feed_forward.in",
                                            "encoder.0-5 linear.feed_forward.out", "model linear.lm_head",
                                            "model linear.masked_lm.dense"});
    const auto& in = request<LinearRequest>(uses, "linear.feed_forward.in", Phase::train, "encoder.0-5");
    CHECK((in.in == 384 && in.out == 1536 && in.bias && in.needs_grad));
    CHECK((in.rows.min == 16 && in.rows.max == 32 * 128));
    CHECK((in.dtype == DType::float32 && in.output_dtype == DType::float32 && !in.tf32));
}

TEST_CASE("a linear layer has the numbers that the policy says, by its name") {
    const auto config = loaded(bert);
    const model::Dtypes dtypes{[](OpClass op, const std::string& layer) {
                                   if (op != OpClass::linear) return DType::float32;
                                   if (layer == "encoder.2.attention.out") return DType::bfloat16;
                                   return layer.starts_with("encoder.") ? DType::float8_e4m3fn
                                                                        : DType::float32;
                               },
                               [](OpClass, const std::string&) { return DType::float32; },
                               [](const std::string& layer) { return layer == "masked_lm.dense"; }};
    const auto uses = model::outline(config, dtypes);
    const auto& scaled = request<LinearRequest>(uses, "linear.feed_forward.in", Phase::train, "encoder.0-5");
    CHECK((scaled.weight_format == WeightFormat::scaled && scaled.dtype == DType::float8_e4m3fn));
    CHECK(scaled.output_dtype == DType::bfloat16);
    const auto& dense = request<LinearRequest>(uses, "linear.attention.out", Phase::train, "encoder.2");
    CHECK((dense.weight_format == WeightFormat::dense && dense.dtype == DType::bfloat16));
    CHECK(request<LinearRequest>(uses, "linear.masked_lm.dense", Phase::train, "model").tf32);
    CHECK_FALSE(request<LinearRequest>(uses, "linear.lm_head", Phase::train, "model").tf32);
}

TEST_CASE("the optimizer is asked for what the step needs") {
    auto uses = outline(bert + "[optimizer]\nalgorithm = \"lion\"\nmax_grad_norm = 0.0\n");
    const auto& plain = request<OptimizerRequest>(uses, "optimizer", Phase::train, "model");
    CHECK(plain.algorithm == OptimizerKind::lion);
    CHECK_FALSE(plain.clip);
    CHECK_FALSE(plain.unscale);
    CHECK_FALSE(plain.master_weights);
    uses = outline(bert + "[precision]\nparameter_dtype = \"bfloat16\"\nloss_scaling = true\n");
    const auto& low = request<OptimizerRequest>(uses, "optimizer", Phase::train, "model");
    CHECK(low.dtype == DType::bfloat16);
    CHECK(low.master_weights);
    CHECK(low.clip);
    CHECK(low.unscale);
}

TEST_CASE("the precision slot has one row, for the first thing that the run does") {
    const auto train = model::outline_precision(loaded(bert + "[precision]\nloss_scaling = true\n"));
    CHECK(train.slot == "precision");
    CHECK(train.phase == Phase::train);
    CHECK(static_cast<const PrecisionRequest&>(*train.request).loss_scaling);
    CHECK(model::outline_precision(loaded("run.phases = [\"eval\"]\n" + bert)).phase == Phase::eval);
}

TEST_CASE("the loss is asked for with its projection where the slot wants it") {
    const auto uses = outline(bert + "[loss]\nprojection = true\nlabel_smoothing = 0.1\n");
    const auto& train = request<LossRequest>(uses, "loss", Phase::train, "model");
    CHECK(train.projection);
    CHECK(train.width == Range(384));
    CHECK(train.classes == Range(30522));
    CHECK(train.label_smoothing == 0.1);
    CHECK(request<LossRequest>(uses, "loss", Phase::eval, "model").label_smoothing == 0.0);
    CHECK_FALSE(train.may_overwrite_logits);
}

TEST_CASE("a request is told in one line of words") {
    const auto uses = outline(bert);
    CHECK(
        resolver::in_words(Kind::attention, *find(uses, "attention", Phase::train, "encoder.0-5").request) ==
        "float32 on cpu, padded, train, needs_grad, batch 1..32, heads 12, kv_heads 12, q_length 1..128, "
        "kv_length 1..128, "
        "head_dim 32, v_head_dim 32, masks key_lengths, dropout 0.1");
}
