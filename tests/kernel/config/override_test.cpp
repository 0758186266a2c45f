// `--set KEY=VALUE`. Add a case: the override, and the value or the exact error.
#include "core/kernel/config/override.h"

#include "config_test.h"

#include <switchyard_test.h>

using switchyard::test::errors;
using switchyard::test::good;
using Names = std::vector<std::string>;

TEST_CASE("overrides are applied after the file, in order, and say which one they are") {
    const auto config =
        good("optimizer.lr = 1e-3\nrun.seed = 4\n", {"optimizer.lr=3e-4", "run.seed=5", "run.seed = 6"});
    CHECK(config.optimizer.lr == 3e-4);
    CHECK(config.run.seed == 6);
    CHECK(config.where("optimizer.lr") == "--set #1");
    CHECK(config.where("run.seed") == "--set #3");
    CHECK(config.where("run.device") == "default");
}

TEST_CASE("a value is TOML; a word that is none is a string, also in a list") {
    CHECK(good("", {"attention.backend=naive"}).attention.backend == Names{"naive"});
    CHECK(good("", {"attention.backend=torch/sdpa@math"}).attention.backend == Names{"torch/sdpa@math"});
    CHECK(good("", {"attention.backend=\"naive\""}).attention.backend == Names{"naive"});
    CHECK(good("", {"attention.backend=[\"flash\", 'torch']"}).attention.backend == Names{"flash", "torch"});
    CHECK(good("", {"attention.backend=[flash,torch/sdpa]"}).attention.backend ==
          Names{"flash", "torch/sdpa"});
    CHECK(good("", {"data.train=[/tmp/a.txt,../b.txt, ./c,~d,1.txt,2nd,-,1979-05-27.txt,.5,_e]"})
              .data.train.size() == 10);
    CHECK(good("", {"data.train=[/tmp/a.txt,/tmp/b.txt]"}).data.train == Names{"/tmp/a.txt", "/tmp/b.txt"});
    CHECK(good("", {"data.train=[/tmp/*.tsv, /tmp/part-?.csv]"}).data.train ==
          Names{"/tmp/*.tsv", "/tmp/part-?.csv"});
    CHECK(good("", {"run.deterministic=true"}).run.deterministic);
    CHECK(good("", {"optimizer.betas=[0.8, 0.9]"}).optimizer.betas == std::vector<double>{0.8, 0.9});
    CHECK(good("", {"batch={size=3, max_length=4}"}).batch.max_length == 4);
    CHECK(good("", {"attention.options.chunked.chunk_size=64"})
              .attention.options.at("chunked")
              .integer("chunk_size") == 64);
    CHECK(good("", {"preset=gpt2"}).model.vocab_size == 50257);
}

TEST_CASE("a text is written as the value of an override that is read back as this text") {
    using switchyard::config::override_text;
    for (const std::string text : {"a/vocab.txt", "my tok/vocab.txt", "true", "3", "a,b", "ä \"b\"", "*.txt"})
        CHECK(good("", {"data.text_column=" + override_text(text)}).data.text_column == text);
    CHECK(override_text("a/vocab.txt") == "a/vocab.txt");
    CHECK(override_text("my tok") == "\"my tok\"");
}

TEST_CASE("a rule for layers can be given as an override") {
    const auto config = good("", {"layer=[{match=\"encoder.0\", attention.backend=\"naive\"}]"});
    REQUIRE(config.layers.size() == 1);
    CHECK(config.layer({switchyard::config::Stack::encoder, 0}).attention.backend == Names{"naive"});
    CHECK(config.layer({switchyard::config::Stack::encoder, 1}).attention.backend == Names{"auto"});
}

TEST_CASE("mistakes in overrides") {
    CHECK(errors("", {"run.seed=x"}) ==
          "--set #1: error: run.seed: got the string \"x\"; expected an integer >= 0\n");
    CHECK(errors("", {"data.train=[a,1,-2.5,1979-05-27,+inf,true,/b]"}) ==
          "--set #1: error: data.train[1]: got the integer 1; expected a string\n"
          "--set #1: error: data.train[2]: got the number -2.5; expected a string\n"
          "--set #1: error: data.train[3]: got a date or time; expected a string\n"
          "--set #1: error: data.train[4]: got the number inf; expected a string\n"
          "--set #1: error: data.train[5]: got true; expected a string\n");
    CHECK(errors("", {"run.seed=3", "run.sed=3"}) ==
          "--set #2: error: run.sed: unknown key; did you mean run.seed?\n");
    const std::string usage = "; expected KEY=VALUE, such as optimizer.lr=3e-4\n";
    CHECK(errors("", {"run.seed"}) == "--set #1: error: there is no `=`" + usage);
    CHECK(errors("", {""}) == "--set #1: error: there is no `=`" + usage);
    CHECK(errors("", {"=3"}) == "--set #1: error: there is no key before `=`" + usage);
    CHECK(errors("", {"[run]#="}) == "--set #1: error: there is no key before `=`" + usage);
    CHECK(errors("", {"run.seed="}) == "--set #1: error: there is no value after `=`" + usage);
    CHECK(errors("", {"run.seed=1\nrun.device=\"cuda\""}) ==
          "--set #1: error: there is a line break" + usage);
    CHECK(errors("", {"run..seed=1"}) ==
          "--set #1: error: run..seed: cannot parse key: expected bare key starting character or string "
          "delimiter, saw '.'\n");
    CHECK(errors("", {"run.seed=\"x"}) ==
          "--set #1: error: run.seed: cannot parse string: encountered end-of-file\n");
    CHECK(errors("", {"task.kind=a b"}) ==
          "--set #1: error: task.kind: cannot parse value: could not determine value type; expected a text "
          "within quotation marks, such as task.kind='...', or another value of TOML\n");
    CHECK_THAT(errors("", {"a=" + std::string(100, '[')}), switchyard::test::contains("nested too deeply"));
}

TEST_CASE("the override is shown with a caret") {
    CHECK(switchyard::config::render(switchyard::test::load_text("", {"run.seed=x"}).problems) ==
          "--set #1: error: run.seed: got the string \"x\"; expected an integer >= 0\n"
          "    run.seed=x\n"
          "             ^\n");
}

TEST_CASE("overrides work without a file") {
    switchyard::config::LoadRequest request;
    request.overrides = {"run.seed=9"};
    const auto result = switchyard::config::load(request);
    REQUIRE(result.config);
    CHECK(result.config->run.seed == 9);
    CHECK(result.files.empty());
}
