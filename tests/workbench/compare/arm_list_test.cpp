// Which arms a comparison has. To add a case: what a user wrote, the names and overrides that come of it.
#include <string>
#include <vector>

#include "core/kernel/config/load.h"
#include "core/workbench/compare/experiment/arm_keys.h"
#include "core/workbench/compare/experiment/arm_list.h"
#include "core/workbench/compare/experiment/arm_ranks.h"

#include <switchyard_test.h>

using namespace switchyard::compare;
namespace config = switchyard::config;
using Words = std::vector<std::string>;

namespace {

Words names_of(const ArmList& list) {
    Words names;
    for (const auto& arm : list.arms) names.push_back(arm.name);
    return names;
}

config::Config loaded(const Words& overrides) {
    config::LoadRequest request;
    request.overrides = overrides;
    auto result = config::load(request);
    REQUIRE(result.config.has_value());
    return *result.config;
}

}  // namespace

TEST_CASE("one arm for each value") {
    const auto list = list_arms({{"attention.backend=naive, torch"}, {}, {}}, {});
    CHECK(names_of(list) == Words{"attention=naive", "attention=torch"});
    CHECK(list.arms[1].overrides == Words{"attention.backend=torch"});
}

TEST_CASE("several --vary make all combinations, the last changing fastest") {
    const auto list = list_arms({{"attention.backend=a,b", "optimizer.lr=1e-3,1e-4"}, {}, {}}, {});
    CHECK(names_of(list) == Words{"attention=a optimizer.lr=1e-3", "attention=a optimizer.lr=1e-4",
                                  "attention=b optimizer.lr=1e-3", "attention=b optimizer.lr=1e-4"});
    CHECK(list.arms[2].overrides == Words{"attention.backend=b", "optimizer.lr=1e-3"});
}

TEST_CASE("a comma within brackets or quotes divides nothing") {
    const auto list = list_arms({{"attention.backend=[flash,torch],naive"}, {}, {}}, {});
    REQUIRE(list.arms.size() == 2);
    CHECK(list.arms[0].overrides == Words{"attention.backend=[flash,torch]"});
    CHECK(list_arms({{R"(x="a,b",c)"}, {}, {}}, {}).arms[0].overrides == Words{R"(x="a,b")"});
}

TEST_CASE("a value that stands twice is an arm against itself") {
    CHECK(names_of(list_arms({{"attention.backend=torch,torch"}, {}, {}}, {})) ==
          Words{"attention=torch", "attention=torch #2"});
}

TEST_CASE("a stack of backends is an arm") {
    const auto list =
        list_arms({{}, {"torch+precision=torch/bf16", "attention=flash", "attention=flash"}, {}}, {});
    CHECK(list.problems.empty());
    CHECK(names_of(list) == Words{"torch+precision=torch/bf16", "attention=flash", "attention=flash #2"});
    CHECK(list.arms[0].overrides == Words{"attention.backend=torch", "normalization.backend=torch",
                                          "activation.backend=torch", "loss.backend=torch",
                                          "optimizer.backend=torch", "precision.backend=torch/bf16",
                                          "linear.backend=torch"});
    CHECK(list.arms[1].overrides == Words{"attention.backend=flash"});
    CHECK(list_arms({{}, {"naive+linear=gemm", "linear=gemm"}, {}}, {}).arms[0].overrides.back() ==
          "linear.backend=gemm");
    CHECK(list_arms({{}, {"naive", "linear=gemm"}, {}}, {}).arms[1].overrides ==
          Words{"linear.backend=gemm"});
    const std::string expected =
        "expected attention=, normalization=, activation=, loss=, optimizer=, precision= or linear= with a "
        "backend";
    CHECK(list_arms({{}, {"torch+fp32", "attention=", "", "torch+data_loader=torch"}, {}}, {}).problems ==
          Words{"--stacks 'torch+fp32': 'fp32' is none of these: " + expected,
                "--stacks 'attention=': 'attention=' is none of these: " + expected,
                "--stacks '': a part is empty; " + expected,
                "--stacks 'torch+data_loader=torch': 'data_loader=torch' is none of these: " + expected});
}

TEST_CASE("written arms have a name and any number of values") {
    const auto list =
        list_arms({{}, {}, {"base:", "half: precision.backend=torch/bf16 optimizer.betas=[0.9, 0.95]"}}, {});
    CHECK(list.problems.empty());
    CHECK(names_of(list) == Words{"base", "half"});
    CHECK(list.arms[1].overrides == Words{"precision.backend=torch/bf16", "optimizer.betas=[0.9, 0.95]"});
}

TEST_CASE("tables of the configuration: values, or a program in its folder") {
    config::ArmConfig values, peer;
    values.set = {"attention.backend=naive"};
    peer.program = {"/usr/bin/python3", "peers/eager.py", "--compile"};
    peer.folder = "/somewhere";
    const auto list = list_arms({{}, {}, {}}, {values, peer});
    CHECK(names_of(list) == Words{"attention=naive", "python3 eager.py --compile"});
    CHECK(list.arms[1].external());
    CHECK(list.arms[1].folder == "/somewhere");
}

TEST_CASE("one arm is compared with the configuration as it stands") {
    config::ArmConfig peer;
    peer.program = {"peer"};
    CHECK(names_of(list_arms({{}, {}, {}}, {peer})) == Words{"as configured", "peer"});
    CHECK(names_of(list_arms({{"optimizer.lr=1"}, {}, {}}, {})) == Words{"as configured", "optimizer.lr=1"});
}

TEST_CASE("all that is wrong is told at once") {
    const auto list = list_arms({{"attention.backend", "x=a,,b"}, {}, {"no colon", "a: b"}}, {});
    CHECK(list.problems ==
          Words{"--vary 'attention.backend': expected KEY=VALUE,VALUE, such as attention.backend=naive,torch",
                "--vary 'x=a,,b': expected KEY=VALUE,VALUE, such as attention.backend=naive,torch",
                "--arm 'no colon': expected \"NAME: KEY=VALUE KEY=VALUE\", such as \"flash bf16: "
                "attention.backend=flash precision.backend=torch/bf16\"",
                "--arm 'a: b': 'b' is not KEY=VALUE"});
    CHECK(list_arms({{}, {}, {}}, {}).problems ==
          Words{"there is nothing to compare: say --stacks naive,torch or --vary "
                "attention.backend=naive,torch, or write [[arm]] "
                "tables into the "
                "configuration"});
    CHECK(list_arms({{}, {}, {"a:", "a:"}}, {}).problems == Words{"arm a: there are two of this name"});
    config::ArmConfig one, two;
    one.program = {"one"};
    two.program = {"two"};
    CHECK(list_arms({{}, {}, {}}, {one, two}).problems ==
          Words{"all arms are external programs: at least one must be a configuration: external "
                "programs load its weights and batches"});
}

TEST_CASE(
    "other data, seeds, models and tasks are no fair comparison; other backends, rates and layouts are") {
    const auto base = loaded({});
    CHECK(unfair_differences(base, loaded({"attention.backend=naive", "optimizer.lr=1", "train.steps=3",
                                           "batch.layout=packed", "runtime.threads=1"}))
              .empty());
    CHECK(unfair_differences(base, loaded({"model.layers=3", "run.seed=7"})) ==
          Words{"run.seed: 7, the base has 0", "model.layers: 3, the base has 12"});
    CHECK(unfair_differences(base, loaded({"batch.size=8"})) == Words{"batch.size: 8, the base has 32"});
    // Without training it does not matter how samples are put into batches, only what is cut off them.
    const auto in_batches = [&](const Words& words) {
        return unfair_differences(base, loaded(words), Operation::forward);
    };
    CHECK(in_batches({"batch.size=8", "batch.pad_multiple=8", "batch.layout=packed"}).empty());
    CHECK(in_batches({"batch.max_length=64"}) == Words{"batch.max_length: 64, the base has 512"});
    CHECK(in_batches({"run.seed=7"}) == Words{"run.seed: 7, the base has 0"});
    // A step takes as many samples more as it has batches.
    const auto accumulating = loaded({"train.grad_accumulation_steps=4"});
    CHECK(unfair_differences(base, accumulating) ==
          Words{"train.grad_accumulation_steps: 4, the base has 1"});
    CHECK(unfair_differences(base, accumulating, Operation::epoch).empty());
    CHECK(unfair_differences(base, accumulating, Operation::step, true).empty());
}

TEST_CASE("[[arm]] tables are read with their folder, and mistakes in them told") {
    config::LoadRequest request;
    request.path = "/jobs/a.toml";
    request.text =
        "[[arm]]\nname = \"half\"\nset = [\"precision.backend=torch/bf16\"]\n[[arm]]\nprogram = [\"p\", "
        "\"q\"]\n";
    CHECK(config::load(request).config.has_value());
    const auto arms = config::load_arms(request);
    REQUIRE(arms.size() == 2);
    CHECK(arms[0].set == Words{"precision.backend=torch/bf16"});
    CHECK(arms[1].program == Words{"p", "q"});
    CHECK(arms[1].folder == "/jobs");
    request.text =
        "[[arm]]\nprogramm = [\"p\"]\n[[arm]]\nset = [\"a=1\"]\nprogram = [\"p\"]\n[[arm]]\nprogram = "
        "[]\n[arms]\n";
    const auto problems = config::render(config::load(request).problems);
    CHECK_THAT(
        problems,
        switchyard::test::contains(
            "/jobs/a.toml:2:1: error: arm.programm: unknown key; expected name, set or program; did you mean "
            "program?"));
    CHECK_THAT(problems, switchyard::test::contains("arm: has both `set` and `program`"));
    CHECK_THAT(problems,
               switchyard::test::contains("arm.program: is empty; expected a program and its arguments"));
    CHECK_THAT(problems, switchyard::test::contains("arms: unknown section; did you mean arm?"));
}

TEST_CASE("ranks stand among the values of an arm, and are no key of the configuration") {
    const auto list = list_arms({{"ranks=1,2"}, {}, {"three: ranks=3 batch.size=2"}}, {});
    CHECK(list.problems.empty());
    CHECK(names_of(list) == Words{"ranks=1", "ranks=2", "three"});
    CHECK((list.arms[0].ranks == 1 && list.arms[1].ranks == 2 && list.arms[2].ranks == 3));
    CHECK(without_arm_keys(list.arms[2].overrides) == Words{"batch.size=2"});
    for (const std::string bad : {"0", "-1", "two", "2.5", "2000", "99999999999999999999"})
        CHECK(list_arms({{}, {}, {"a: ranks=" + bad}}, {}).problems ==
              Words{"arm a: ranks: expected a number of processes from 1 to 1024, got '" + bad + "'"});
}

TEST_CASE("an arm is slowed by a value of its own, which is no key of the configuration") {
    const auto list = list_arms({{}, {}, {"again: slowed=0", "slow: slowed=2.5 batch.size=2"}}, {});
    CHECK(list.problems.empty());
    CHECK((list.arms[0].slowed == 0.0 && list.arms[1].slowed == 0.025));
    CHECK(without_arm_keys(list.arms[1].overrides) == Words{"batch.size=2"});
    for (const std::string bad : {"-1", "three", "3%", "nan", "1001"})
        CHECK(list_arms({{}, {}, {"a: slowed=" + bad}}, {}).problems ==
              Words{"arm a: slowed: expected percent of a step from 0 to 1000, got '" + bad + "'"});
}

TEST_CASE("parallel efficiency is a ratio by the ranks, of arms that differ in nothing else") {
    Comparison comparison;
    const auto arm = [&](const Words& overrides, std::int64_t ranks, std::int64_t threads) {
        ArmResult result;
        result.spec.name = "arm " + std::to_string(comparison.arms.size());
        result.spec.overrides = overrides;
        result.spec.ranks = ranks;
        result.spec.threads = threads;
        comparison.arms.push_back(result);
    };
    arm({"ranks=1", "a=1"}, 1, 2);
    arm({"a=1", "ranks=4"}, 4, 2);
    arm({"a=1"}, 1, 2);
    arm({"a=2", "ranks=4"}, 4, 2);
    arm({"a=1", "ranks=4"}, 4, 1);
    const auto pair_of = [](std::size_t base, std::size_t other) {
        PairResult pair;
        pair.base = base;
        pair.arm = other;
        pair.speedup = {3.6, 3.2, 4.0};
        return pair;
    };
    const auto efficiency = parallel_efficiency(comparison, pair_of(0, 1));
    REQUIRE(efficiency);
    CHECK(efficiency->median == switchyard::test::Approx(0.9));
    CHECK(efficiency->low == switchyard::test::Approx(0.8));
    CHECK(efficiency->high == switchyard::test::Approx(1.0));
    CHECK(parallel_efficiency(comparison, pair_of(1, 0))->median == switchyard::test::Approx(14.4));
    CHECK(efficiency_text(comparison, pair_of(0, 1)) ==
          "arm 1: parallel efficiency of 4 ranks over 1 rank, 2 threads each: 90.0 [80.0, 100] %");
    for (const std::size_t other : {2, 3, 4}) {
        CHECK_FALSE(parallel_efficiency(comparison, pair_of(0, other)));
        CHECK(efficiency_text(comparison, pair_of(0, other)).empty());
    }
}

TEST_CASE("a recording names files without their folders, and all else as it is") {
    config::Config job;
    job.data.train = {"/here/a.tsv", "/there/z.tsv"};
    job.task.labels = {"yes", "n/a"};
    const auto values = shared_values(job, Operation::step);
    CHECK(values.at("data.train") == R"(["a.tsv", "z.tsv"])");
    CHECK(values.at("task.labels") == R"(["yes", "n/a"])");
    CHECK(values.contains("model.vocab_size"));
    CHECK_FALSE(values.contains("optimizer.lr"));
}
