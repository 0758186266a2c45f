// Every kind of mistake that a file can hold, with the exact text that is printed.
// Add a case: a text with the mistake and the line expected for it; `errors` leaves out the lines that show
// the source.
#include "core/kernel/config/load.h"

#include "config_test.h"

#include <switchyard_test.h>

using switchyard::test::errors;
using switchyard::test::load_text;

TEST_CASE(
    "ten different mistakes in one file are all told, in order, with place, expectation and suggestion") {
    const std::string text = R"(preset = "gpt"

[model]
layers = "six"
hiden_size = 384
activation = "gelu"
dropout = 1.5

[attnetion]
backend = "naive"

[attention]
backend = ["torch", "no such name"]

[optimizer]
learning_rate = 3e-4
betas = [0.9, 0.95, 0.99]

[[layer]]
match = "encoder.0-3"
optimizer.lr = 1e-5

[batch]
size = 0
)";
    CHECK(
        errors(text) ==
        R"(run.toml:1:10: error: preset: there is no preset "gpt"; expected one of bert-base, gpt2, mini-gpt, mini-llama, minilm-l6, t5-small, t5-v1.1-small, textbook-768; did you mean "gpt2"?
run.toml:4:10: error: model.layers: got the string "six"; expected an integer >= 1 and <= 1000
run.toml:5:1: error: model.hiden_size: unknown key; did you mean model.hidden_size?
run.toml:6:14: error: model.activation: got the string "gelu"; expected one of "gelu_erf", "gelu_tanh", "relu", "silu", "swiglu", "geglu_erf", "geglu_tanh", "reglu", "identity", "custom:NAME"; did you mean "gelu_erf"?
run.toml:7:11: error: model.dropout: got the number 1.5; expected a number >= 0 and < 1
run.toml:9:2: error: attnetion: unknown section; did you mean attention?
run.toml:13:21: error: attention.backend[1]: got the string "no such name"; expected [plugin/]component[@variant], a list of them, or "auto"
run.toml:16:1: error: optimizer.learning_rate: unknown key; did you mean optimizer.lr?
run.toml:17:9: error: optimizer.betas: got a list; expected a list of 2 numbers >= 0 and < 1; it has 3
run.toml:21:11: error: optimizer.lr: cannot differ from layer to layer
run.toml:24:8: error: batch.size: got the integer 0; expected an integer >= 1 and <= 1048576, or "fit"
)");
}

TEST_CASE("a key of an earlier name is told the one of today, but read in what a run recorded then") {
    const std::string text = "[train]\nkeep_checkpoints = 7\n";
    CHECK(errors(text) == "run.toml:2:1: error: train.keep_checkpoints: is called train.keep_last now\n");
    switchyard::config::LoadRequest request;
    request.path = "config.toml";
    request.text = text;
    request.recorded = true;
    const auto result = switchyard::config::load(request);
    REQUIRE(result.config);
    CHECK(result.config->train.keep_last == 7);
    CHECK(result.config->where("train.keep_last") == "config.toml:2:1");

    request.text = "[loss]\nignore_index = -1\n";  // which no data mark anything with
    const auto labelled = switchyard::config::load(request);
    REQUIRE(labelled.config);
    CHECK(labelled.config->loss.ignore_index == -100);
}

TEST_CASE("a metric that is never computed is told with those that are") {
    const auto kept = [](const std::string& keep_best, const std::string& more) {
        return errors("[train]\nkeep_best = \"" + keep_best + "\"\neval_every = 2\n" + more);
    };
    const std::string place = "run.toml:2:1: error: train.keep_best: ";
    CHECK(kept("eval.perplexity", "") == "");
    CHECK(kept("eval.mae/b", "[task]\nkind = \"regression\"\nlabels = [\"a\", \"b\"]\n") == "");
    CHECK(kept("eval.f1/x/y", "[task]\nkind = \"classification\"\nlabels = [\"a\", \"x/y\"]\n") == "");
    CHECK(kept("eval.r2", "") ==
          place +
              "\"eval.r2\" is no metric of masked_lm; expected eval.loss, eval.accuracy, "
              "eval.perplexity\n");
    CHECK(kept("accuracy", "") ==
          place +
              "\"accuracy\" is no metric of masked_lm; expected eval.loss, eval.accuracy, "
              "eval.perplexity; did you mean \"eval.accuracy\"?\n");
    CHECK(kept("eval.acuracy", "")
              .starts_with(place +
                           "\"eval.acuracy\" is no metric of masked_lm; expected eval.loss, eval.accuracy, "
                           "eval.perplexity; did you mean \"eval.accuracy\"?\n"));
    CHECK(kept("eval.accuracy", "[loss]\nprojection = true\n") ==
          place +
              "\"eval.accuracy\" is no metric of masked_lm with loss.projection; expected eval.loss, "
              "eval.perplexity\n");
    CHECK(
        kept("eval.entity_f1", "[task]\nkind = \"token_classification\"\nlabels = [\"noun\", \"verb\"]\n") ==
        place +
            "\"eval.entity_f1\" is no metric of token_classification; expected eval.loss, eval.accuracy, "
            "eval.macro_f1, eval.macro_precision, eval.macro_recall, eval.mcc, eval.f1/noun, eval.f1/verb, "
            "eval.precision/noun, eval.precision/verb, eval.recall/noun, eval.recall/verb\n");
    CHECK(kept("eval.loss", "[data]\neval_fraction = 0.0\n") ==
          place +
              "no text is held out for evaluation; expected files in data.eval, or data.eval_fraction "
              "above 0\n");
    CHECK(errors("[train]\nkeep_best = \"eval.loss\"\n") ==
          place +
              "only the end is evaluated, so that no checkpoint is better than another; expected "
              "train.eval_every above 0\n");
    CHECK(errors("[train]\npatience = 3\n") ==
          "run.toml:2:1: error: train.patience: there is no metric that could get better; expected "
          "train.keep_best, as in \"eval.loss\", or patience = 0\n");
    CHECK(kept("eval.loss", "min_delta = 0.1\n") ==
          "run.toml:4:1: error: train.min_delta: it is for train.patience, which is 0; expected "
          "train.patience above 0, or min_delta = 0\n");
}

TEST_CASE("the line in question is shown with a caret below it") {
    const auto result = load_text("[model]\n\tlayers = 0  # none\n");
    CHECK(switchyard::config::render(result.problems) ==
          "run.toml:2:11: error: model.layers: got the integer 0; expected an integer >= 1 and <= 1000\n"
          "    \tlayers = 0  # none\n"
          "    \t         ^\n");
}

TEST_CASE("the caret counts characters, not bytes") {
    const auto result = load_text("run.device = \"ünïcode\"\nrun = {sëed = 1}\n");
    REQUIRE_FALSE(result.problems.empty());
    CHECK(switchyard::config::render(result.problems.front()) ==
          "run.toml:1:14: error: run.device: got the string \"ünïcode\"; expected one of \"cpu\", \"cuda\"\n"
          "    run.device = \"ünïcode\"\n"
          "                 ^\n");
}

TEST_CASE("a value of the wrong type says what came") {
    CHECK(errors("run.seed = 1.5") ==
          "run.toml:1:12: error: run.seed: got the number 1.5; expected an integer >= 0\n");
    CHECK(errors("run.seed = true") ==
          "run.toml:1:12: error: run.seed: got true; expected an integer >= 0\n");
    CHECK(errors("run.deterministic = 1") ==
          "run.toml:1:21: error: run.deterministic: got the integer 1; expected true or false\n");
    CHECK(errors("run.seed = 1979-05-27") ==
          "run.toml:1:12: error: run.seed: got a date or time; expected an integer >= 0\n");
    CHECK(errors("optimizer.lr = inf") ==
          "run.toml:1:16: error: optimizer.lr: got the number inf; expected a number >= 0\n");
    CHECK(errors("optimizer.lr = nan") ==
          "run.toml:1:16: error: optimizer.lr: got the number nan; expected a number >= 0\n");
    CHECK(errors("plugins.paths = \"plugins\"") ==
          "run.toml:1:17: error: plugins.paths: got the string \"plugins\"; expected a list of strings\n");
    CHECK(errors("plugins.paths = [\"a\", 3]") ==
          "run.toml:1:23: error: plugins.paths[1]: got the integer 3; expected a string\n");
    CHECK(errors("plugins.require = \"singed\"") ==
          "run.toml:1:19: error: plugins.require: got the string \"singed\"; expected one or a list of "
          "\"signed\", "
          "\"conformant\", \"locked\"; did you mean \"signed\"?\n");
    CHECK(errors("plugins.require = [\"locked\", true]") ==
          "run.toml:1:30: error: plugins.require[1]: got true; expected one or a list of "
          "\"signed\", "
          "\"conformant\", \"locked\"\n");
    CHECK(errors("run.phases = []") ==
          "run.toml:1:14: error: run.phases: got an empty list; expected a list of some of \"train\", "
          "\"eval\", "
          "\"prefill\", \"decode\"\n");
    CHECK(errors("model.norm_eps = 0") ==
          "run.toml:1:18: error: model.norm_eps: got the integer 0; expected a number > 0\n");
}

TEST_CASE("more epochs than anybody waits for are told with the limit") {
    CHECK(
        errors("train.epochs = 1e300\n") ==
        "run.toml:1:16: error: train.epochs: got the number 1e+300; expected a number > 0 and <= 1000000\n");
    CHECK(errors("train.epochs = 1e6\n").empty());
}

TEST_CASE("a section where a value belongs, and the other way round") {
    CHECK(errors("[model.layers]\nx = 1") ==
          "run.toml:1:1: error: model.layers: got a table; expected an integer >= 1 and <= 1000\n");
    CHECK(errors("attention = \"naive\"") ==
          "run.toml:1:13: error: attention: got the string \"naive\"; expected a section with keys; did you "
          "mean "
          "attention.backend?\n");
    CHECK(errors("model = 3") ==
          "run.toml:1:9: error: model: got the integer 3; expected a section with keys\n");
}

TEST_CASE("unknown keys are errors, with what was probably meant") {
    CHECK(errors("[model]\nnum_attention_heads = 3") ==
          "run.toml:2:1: error: model.num_attention_heads: unknown key; did you mean model.heads?\n");
    CHECK(errors("[model]\nlr = 3") ==
          "run.toml:2:1: error: model.lr: unknown key; did you mean optimizer.lr?\n");
    CHECK(errors("[optim]\nlr = 3") ==
          "run.toml:1:2: error: optim: unknown section; did you mean optimizer?\n");
    CHECK(errors("sedd = 3") ==
          "run.toml:1:1: error: sedd: unknown key; `switchyard config schema` lists all keys\n");
    CHECK(errors("seed = 3") == "run.toml:1:1: error: seed: unknown key; did you mean run.seed?\n");
    CHECK(errors("[zzzzzz]\na = 1\nb = 2") ==
          "run.toml:1:2: error: zzzzzz: unknown section; `switchyard config schema` lists all keys\n");
    CHECK(errors("\"model.layers\" = 3") ==
          "run.toml:1:1: error: \"model.layers\": unknown key; did you mean model.layers?\n");
}

TEST_CASE("names of backends are checked for their form") {
    for (const char* fine :
         {"naive", "torch/sdpa", "flash@split_kv", "torch/sdpa@math", "auto", "my-plugin.v2/x"}) {
        CHECK(errors("attention.backend = \"" + std::string(fine) + '"').empty());
    }
    for (const char* wrong : {"", "a b", "/x", "x/", "a/b/c", "x@", "@x", "a@b@c", "ä"}) {
        CHECK_FALSE(errors("attention.backend = \"" + std::string(wrong) + '"').empty());
    }
    CHECK(errors("attention.backend = []") ==
          "run.toml:1:21: error: attention.backend: got an empty list; expected "
          "[plugin/]component[@variant], a "
          "list of them, or \"auto\"\n");
    CHECK(errors("attention.backend = [\"a\", \"auto\"]") ==
          "run.toml:1:27: error: attention.backend[1]: got the string \"auto\"; expected names, or \"auto\" "
          "alone\n");
    CHECK(errors("attention.backend = [\"a\", \"a\"]") ==
          "run.toml:1:27: error: attention.backend[1]: got the string \"a\"; expected each name once\n");
}

TEST_CASE("values that do not go together are told at the place of one of them") {
    CHECK(errors("[model]\nhidden_size = 100\nheads = 12") ==
          "run.toml:3:1: error: model.heads: 12 heads do not divide a hidden_size of 100; expected a divisor "
          "of "
          "hidden_size, or model.head_dim to be given\n");
    CHECK(errors("[model]\nhidden_size = 100\nheads = 12\nhead_dim = 64").empty());
    CHECK(errors("[model]\nkv_heads = 5") ==
          "run.toml:2:1: error: model.kv_heads: 5 kv_heads do not divide 12 heads; expected a divisor of "
          "model.heads\n");
    CHECK(errors("[model]\npositions = \"rotary\"\nhead_dim = 33") ==
          "run.toml:3:1: error: model.head_dim: rotary positions turn pairs of channels, head_dim is 33; "
          "expected "
          "an even head_dim\n");
    CHECK(
        errors("[batch]\nmin_length = 10\nmax_length = 9") ==
        "run.toml:2:1: error: batch.min_length: min_length 10 is above max_length 9; expected min_length <= "
        "max_length\n");
    CHECK(errors("[batch]\nmax_length = 513") ==
          "run.toml:2:1: error: batch.max_length: sequences of 513 tokens do not fit into 512 positions; "
          "expected "
          "max_length <= model.max_positions\n");
    CHECK(errors("model.decoder_layers = 3") ==
          "run.toml:1:7: error: model.decoder_layers: a bert has one stack, of model.layers layers; expected "
          "model.type = \"t5\", or this key left out\n");
    CHECK(errors("model = {type = \"t5\", decoder_layers = 0}") ==
          "run.toml:1:23: error: model.decoder_layers: a t5 has a decoder; expected at least 1\n");
    CHECK(errors("model.prefix = 8") ==
          "run.toml:1:7: error: model.prefix: only a causal decoder has a prefix, not a bert; expected "
          "model.type = "
          "\"gpt\", or prefix = 0\n");
    CHECK(errors("run.phases = [\"decode\"]") ==
          "run.toml:1:5: error: run.phases: a bert does not generate: it has no phase decode; expected "
          "train, eval "
          "or both\n");
}

TEST_CASE("decoding steps that cannot be captured into a graph are refused with the reason") {
    CHECK(errors("run.device = \"cuda\"\ncache.cuda_graph = true").empty());
    CHECK(errors("cache.cuda_graph = true") ==
          "run.toml:1:7: error: cache.cuda_graph: a CPU has no CUDA graphs; expected false, or run.device = "
          "\"cuda\"\n");
    CHECK(errors("run.device = \"cuda\"\ncache.cuda_graph = true\ncache.kind = \"paged\"") ==
          "run.toml:2:7: error: cache.cuda_graph: the pages of a paged cache are written to where the host "
          "says; expected cache.kind = \"contiguous\", or cache.cuda_graph = false\n");
}

TEST_CASE("steps that cannot be captured into a graph are refused with the reason") {
    const std::string good =
        "run.device = \"cuda\"\nmodel = {type = \"gpt\", dropout = 0.0, attention_dropout = 0.0}\ntask = "
        "{kind = \"causal_lm\", project_all = true}\n";
    CHECK(errors(good + "train.cuda_graph = true").empty());
    CHECK(errors("train.cuda_graph = true\nmodel = {dropout = 0.0, attention_dropout = 0.0}\ntask = {kind = "
                 "\"classification\"}") ==
          "run.toml:1:7: error: train.cuda_graph: a CPU has no CUDA graphs; expected false, or run.device = "
          "\"cuda\"\n");
    const auto refused = [&](const std::string& more) {
        return errors(good + "train.cuda_graph = true\n" + more);
    };
    CHECK(refused("batch.layout = \"packed\"") ==
          "run.toml:5:7: error: batch.layout: lengths of packed sequences are read on the host; expected "
          "batch.layout = \"padded\", or train.cuda_graph = false\n");
    CHECK(refused("precision.loss_scaling = true") ==
          "run.toml:5:11: error: precision.loss_scaling: the loss scale is kept on the host and follows what "
          "a step "
          "overflowed; expected precision.loss_scaling = false, or train.cuda_graph = false\n");
    CHECK_THAT(refused("train.recompute = \"layers\""),
               switchyard::test::contains("train.recompute: recomputation sets the random state"));
    CHECK_THAT(refused("optimizer.max_grad_norm = 0.0\ntrain.nonfinite = \"skip\""),
               switchyard::test::contains(
                   "train.nonfinite: a captured step looks at gradients before it changes anything only "
                   "where it clips"));
    const auto by_default = errors("run.device = \"cuda\"\ntrain.cuda_graph = true");
    CHECK_THAT(by_default,
               switchyard::test::contains("expected model.dropout = 0, or train.cuda_graph = false"));
    CHECK_THAT(by_default, switchyard::test::contains(
                               "expected model.attention_dropout = 0, or train.cuda_graph = false"));
    CHECK_THAT(by_default,
               switchyard::test::contains("expected task.project_all = true, or train.cuda_graph = false"));
}

TEST_CASE("a model is trained for tasks of its type") {
    CHECK(errors("model.type = \"gpt\"\ntask.kind = \"masked_lm\"") ==
          "run.toml:2:6: error: task.kind: a gpt is not trained for masked_lm; expected causal_lm, or "
          "model.type = \"bert\"\n");
    CHECK(errors("task.kind = \"seq2seq\"") ==
          "run.toml:1:6: error: task.kind: a bert is not trained for seq2seq; expected masked_lm, "
          "classification, token_classification, next_sentence, regression or multi_label, or "
          "model.type = \"t5\"\n");
    CHECK(errors("preset = \"t5-small\"", {"task.kind=causal_lm"}) ==
          "--set #1: error: task.kind: a t5 is not trained for causal_lm; expected seq2seq, or model.type = "
          "\"gpt\"\n");
    CHECK(errors("task = {kind = \"classification\", project_all = true}") ==
          "run.toml:1:34: error: task.project_all: only words are projected, classification has classes; "
          "expected false, or a task.kind that predicts words\n");
}

TEST_CASE("values from different places that do not go together") {
    CHECK(errors("preset = \"gpt2\"", {"model.heads=7"}) ==
          "--set #1: error: model.heads: 7 heads do not divide a hidden_size of 768; expected a divisor of "
          "hidden_size, or model.head_dim to be given\n");
    const auto result = load_text("preset = \"gpt2\"\nmodel.max_positions = 10\nbatch.max_length = 20\n");
    CHECK(switchyard::config::render(result.problems) ==
          "run.toml:3:7: error: batch.max_length: sequences of 20 tokens do not fit into 10 positions; "
          "expected "
          "max_length <= model.max_positions\n"
          "    batch.max_length = 20\n"
          "          ^\n");
}

TEST_CASE("nothing is concluded from a value that is in doubt") {
    CHECK(errors("model.type = \"gtp\"\nbatch.max_length = 1000\n[[layer]]\nmatch = \"decoder.0\"") ==
          "run.toml:1:14: error: model.type: got the string \"gtp\"; expected one of \"bert\", \"gpt\", "
          "\"t5\"; did you mean "
          "\"gpt\"?\n");
    CHECK(errors("[model]\nhidden_size = \"x\"\nheads = 7") ==
          "run.toml:2:15: error: model.hidden_size: got the string \"x\"; expected an integer >= 1 and <= "
          "1048576\n");
    CHECK(errors("[model]\nlayrs = 24\n[[layer]]\nmatch = \"encoder.23\"") ==
          "run.toml:2:1: error: model.layrs: unknown key; did you mean model.layers?\n");
}

TEST_CASE("after a syntax error the rest is still checked as far as that makes sense") {
    CHECK(errors("[model]\nlayers = = 3\nheads = 0\n[run\nseed = -1\n[runn]\nx = 1\n") ==
          "run.toml:2:10: error: cannot parse value: could not determine value type\n"
          "run.toml:3:9: error: model.heads: got the integer 0; expected an integer >= 1 and <= 1048576\n"
          "run.toml:4:5: error: cannot parse table header: expected ']', saw '\\n'\n");
}

TEST_CASE("a key that is given twice is an error at the second") {
    CHECK(errors("run.seed = 1\nrun.seed = 2\n") ==
          "run.toml:2:12: error: cannot parse key-value pair: cannot redefine existing integer 'run.seed'\n");
}

TEST_CASE("a key or a value of a user is quoted up to a limit") {
    const std::string many(100'000, 'x');
    for (const auto& text :
         {many + " = 1\n", "[" + many + "]\n", "[model]\ntype = \"" + many + "\"\n",
          many + " = 1\n" + many + " = 2\n", "[attention]\nbackend = \"" + many + "!\"\n"}) {
        const auto told = errors(text);
        INFO(told.substr(0, 2000));
        CHECK_FALSE(told.empty());
        CHECK(told.size() < 1000);
    }
}

TEST_CASE("a file full of mistakes is cut short") {
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += "zzzz" + std::to_string(i) + " = 1\n";
    const auto result = load_text(text);
    REQUIRE(result.problems.size() == 21);
    CHECK(result.problems.back().message == "and 49980 more problems");
    text = "";
    for (int i = 0; i < 20; ++i) text += "zzzz" + std::to_string(i) + " = 1\n";
    CHECK(load_text(text).problems.size() == 20);
}

TEST_CASE("labels of classes have names of their own") {
    CHECK(errors("[task]\nkind = \"classification\"\nlabels = [\"a\", \"b\", \"a\"]\n") ==
          "run.toml:3:1: error: task.labels: the label \"a\" appears twice; expected a name for each "
          "class\n");
    CHECK(errors("[task]\nkind = \"classification\"\nlabels = [\"a\", \"\"]\n") ==
          "run.toml:3:1: error: task.labels: a label is empty; expected a name for each class\n");
}
