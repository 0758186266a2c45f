// What a text becomes. Mistakes are in mistakes_test.cpp.
#include "core/kernel/config/arm_config.h"

#include <filesystem>

#include "config_test.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::config;
using switchyard::test::good;

TEST_CASE("nothing written is BERT-base with every backend automatic") {
    const Config config = good("");
    CHECK(config.model == ModelConfig{});
    CHECK(config.model.type == ModelType::bert);
    CHECK(config.batch == BatchConfig{});
    for (const auto kind : names<Kind>) CHECK(config.slot(*parse<Kind>(kind)).automatic());
    CHECK(config.origins.at("model.norm_eps").name == "bert");
    CHECK(config.where("model.norm_eps") == "default (bert)");
    CHECK(config.layers.empty());
}

TEST_CASE("every key reaches its member") {
    const Config config = good(R"(
run = {seed = 7, device = "cuda", deterministic = true, phases = ["train", "decode"]}
runtime = {allocator = "malloc", threads = 3}
plugins = {paths = ["/a"], disabled = ["b"], require = ["signed", "locked"], trusted_keys = ["/k.pub"], lock = "/l"}
batch = {size = 2, min_length = 3, max_length = 40, layout = "packed"}
[model]
type = "gpt"
layers = 2
hidden_size = 64
heads = 8
kv_heads = 2
head_dim = 16
intermediate_size = 100
vocab_size = 11
max_positions = 50
norm = "rms_norm"
norm_eps = 1e-3
norm_position = "post"
activation = "swiglu"
positions = "rotary"
pooler = "relu"
bias = false
tie_embeddings = false
dropout = 0.25
attention_dropout = 0.5
window = 5
prefix = 6
soft_cap = 30
[attention]
backend = "a/b@c"
allow_reduced = true
[normalization]
backend = ["x", "y"]
[activation]
backend = "z"
[loss]
backend = "l"
projection = true
label_smoothing = 0.1
z_loss = 1e-4
ignore_index = -100
[optimizer]
backend = "o"
algorithm = "sgd"
lr = 1
betas = [0, 0.5]
eps = 1e-6
weight_decay = 0
momentum = 0.5
nesterov = true
max_grad_norm = 0
[precision]
backend = "bf16"
parameter_dtype = "bfloat16"
compute_dtype = "float16"
loss_scaling = true
[data_loader]
backend = "d"
shuffle = false
drop_last = true
[log]
command = ["tee", "./a"]
end_seconds = 2.5
)");
    CHECK(config.run == RunConfig{7, Device::cuda, true, {Phase::train, Phase::decode}});
    CHECK(config.runtime == RuntimeConfig{Allocator::malloc, 3, AutoChoice::measured});
    CHECK(config.plugins ==
          PluginsConfig{{"/a"}, {"b"}, {Demand::signature, Demand::lock}, {"/k.pub"}, "/l"});
    CHECK(config.batch == BatchConfig{2, 3, 40, Layout::packed});
    const ModelConfig model{ModelType::gpt,
                            2,
                            0,
                            64,
                            8,
                            2,
                            16,
                            100,
                            11,
                            50,
                            NormKind::rms_norm,
                            1e-3,
                            NormPosition::post,
                            ActivationKind::swiglu,
                            Positions::rotary,
                            0,
                            Pooler::relu,
                            false,
                            false,
                            0.25,
                            0.5,
                            5,
                            6,
                            30.0,
                            10000.0,
                            RotaryScaling::none,
                            1.0,
                            1.0,
                            4.0,
                            8192,
                            ""};
    CHECK(config.model == model);
    CHECK((config.attention.backend == std::vector<std::string>{"a/b@c"} && config.attention.allow_reduced));
    CHECK(config.normalization.backend == std::vector<std::string>{"x", "y"});
    CHECK(config.slot(Kind::activation).backend.front() == "z");
    CHECK((config.loss.projection && config.loss.label_smoothing == 0.1 && config.loss.z_loss == 1e-4));
    CHECK(config.loss.ignore_index == -100);
    CHECK((config.optimizer.algorithm == OptimizerKind::sgd && config.optimizer.lr == 1.0 &&
           config.optimizer.nesterov));
    CHECK((config.optimizer.betas == std::vector<double>{0.0, 0.5} && config.optimizer.eps == 1e-6));
    CHECK((config.optimizer.weight_decay == 0 && config.optimizer.momentum == 0.5 &&
           config.optimizer.max_grad_norm == 0));
    CHECK((config.precision.parameter_dtype == DType::bfloat16 &&
           config.precision.compute_dtype == DType::float16));
    CHECK(config.precision.loss_scaling == true);
    CHECK((!config.data_loader.shuffle && config.data_loader.drop_last));
    CHECK(config.log == LogConfig{{"tee", "./a"}, 2.5});
}

TEST_CASE("an optimizer's algorithm may be one that a plugin brings") {
    const Config config = good("optimizer.algorithm = \"custom:adafactor\"");
    CHECK(config.optimizer.algorithm == OptimizerKind::custom);
    CHECK(config.optimizer.custom == "adafactor");
    CHECK(config.optimizer.algorithm_name() == "custom:adafactor");
    CHECK(good("optimizer.algorithm = \"lion\"").optimizer.custom.empty());
}

TEST_CASE("an activation and a loss may be ones that a plugin brings") {
    const Config config = good("model.activation = \"custom:mish\"\nloss.function = \"custom:focal\"");
    CHECK(config.model.activation == ActivationKind::custom);
    CHECK(config.model.custom_activation == "mish");
    CHECK(config.loss.custom == "focal");
    CHECK(config.loss_kind() == LossKind::custom);
    const Config usual = good("model.activation = \"silu\"\nloss.function = \"auto\"");
    CHECK(usual.model.activation == ActivationKind::silu);
    CHECK(usual.model.custom_activation.empty());
    CHECK(usual.loss_kind() == LossKind::cross_entropy);
}

TEST_CASE("the type of a model decides what is usual") {
    const ModelConfig gpt = good("model.type = \"gpt\"").model;
    CHECK((gpt.norm_position == NormPosition::pre && gpt.activation == ActivationKind::gelu_tanh &&
           gpt.norm_eps == 1e-5));
    CHECK((gpt.max_positions == 1024 && gpt.vocab_size == 50257 && gpt.decoder_layers == 0));
    const Config t5 = good("model = {type = \"t5\", positions = \"alibi\"}");
    CHECK((t5.model.norm == NormKind::rms_norm && t5.model.positions == Positions::alibi && !t5.model.bias));
    CHECK((t5.model.decoder_layers == 6 && t5.model.hidden_size == 512));
    CHECK(t5.where("model.norm") == "default (t5)");
    CHECK(good("").task.kind == TaskKind::masked_lm);
    CHECK(good("model.type = \"gpt\"").task.kind == TaskKind::causal_lm);
    CHECK(t5.task.kind == TaskKind::seq2seq);
    CHECK(t5.where("task.kind") == "default (t5)");
    CHECK(t5.where("model.decoder_layers") == "default (layers for t5, else 0)");
}

TEST_CASE("sizes that are left out follow from the others") {
    const Config config = good("model = {hidden_size = 96, heads = 6, max_positions = 40}");
    CHECK(config.model.kv_heads == 6);
    CHECK(config.model.head_dim == 16);
    CHECK(config.model.intermediate_size == 384);
    CHECK(config.batch.max_length == 40);
}

TEST_CASE("a model knows its stacks") {
    const ModelConfig bert = good("").model;
    CHECK((bert.layers_of(Stack::encoder) == 12 && bert.layers_of(Stack::decoder) == 0 &&
           !bert.has_cross_attention()));
    const ModelConfig gpt = good("preset = \"gpt2\"").model;
    CHECK((gpt.layers_of(Stack::encoder) == 0 && gpt.layers_of(Stack::decoder) == 12));
    const ModelConfig t5 = good("preset = \"t5-small\"\nmodel.decoder_layers = 2").model;
    CHECK(
        (t5.layers_of(Stack::encoder) == 6 && t5.layers_of(Stack::decoder) == 2 && t5.has_cross_attention()));
}

TEST_CASE("\"auto\" leaves the computing dtype to the policy") {
    CHECK_FALSE(good("").precision.compute_dtype);
    CHECK_FALSE(good("").precision.parameter_dtype);
    CHECK_FALSE(good("precision.parameter_dtype = \"auto\"").precision.parameter_dtype);
    CHECK_FALSE(good("").precision.loss_scaling);
    CHECK_FALSE(good("precision.loss_scaling = \"auto\"").precision.loss_scaling);
    CHECK(good("precision.loss_scaling = false").precision.loss_scaling == false);
    CHECK_FALSE(good("precision.compute_dtype = \"auto\"").precision.compute_dtype);
    CHECK(good("precision.compute_dtype = \"bfloat16\"").precision.compute_dtype == DType::bfloat16);
}

TEST_CASE("an arm of a file that is named without a folder belongs to the working directory") {
    config::LoadRequest request;
    request.path = "run.toml";
    request.text = "[[arm]]\nname = \"a\"\nset = []\n";
    const auto arms = config::load_arms(request);
    REQUIRE(arms.size() == 1);
    CHECK(arms[0].folder == (std::filesystem::current_path() / "").string());
}
