// Which parameters [[group]] trains, and how. To add a case: a text and what each parameter gets.
#include "core/workbench/train/parameter_groups.h"
#include "core/kernel/config/load.h"
#include "core/kernel/config/show.h"

#include <sstream>

#include <ATen/ops/ones.h>

#include <switchyard_test.h>

using namespace switchyard;
using test::contains;

namespace {

const std::vector<std::string> all_names{"embeddings.word", "encoder.0.attention.q.weight",
                                         "encoder.0.attention.q.bias", "encoder.1.attention.q.weight",
                                         "classifier.weight"};

config::LoadResult loaded(const std::string& text) {
    config::LoadRequest request;
    request.path = "job.toml";
    request.text = text;
    return config::load(request);
}

config::Config config_of(const std::string& text) {
    const auto result = loaded(text);
    INFO(config::render(result.problems));
    REQUIRE(result.config);
    return *result.config;
}

model::Parameters parameters() {
    model::Parameters all;
    for (const auto& name : all_names) all.add(name, at::ones({name.ends_with("bias") ? 1 : 2, 2}));
    return all;
}

}  // namespace

TEST_CASE("of several groups the last one that matches holds") {
    const auto config = config_of(R"(
[optimizer]
lr = 0.5
weight_decay = 0.25
[[group]]
match = ["encoder.*", "embeddings.*"]
lr_factor = 0.1
weight_decay_factor = 2.0
[[group]]
match = ["encoder.0.*"]
frozen = true
)");
    CHECK(train::group_of(config, "classifier.weight") == nullptr);
    CHECK(train::group_of(config, "encoder.1.attention.q.weight") == &config.groups[0]);
    CHECK(train::group_of(config, "encoder.0.attention.q.bias") == &config.groups[1]);
    auto all = parameters();
    train::freeze(config, all);
    const auto groups = train::optimizer_groups(config, all);
    std::map<std::string, const HyperParameters*> hyper;
    for (const auto& group : groups)
        for (const auto& parameter : group.parameters) hyper[parameter.name] = &group.hyper;
    REQUIRE(hyper.size() == 3);  // those of encoder.0 are frozen
    CHECK(hyper.at("classifier.weight")->lr == 0.5);
    CHECK(hyper.at("classifier.weight")->weight_decay == 0.25);
    CHECK(hyper.at("embeddings.word")->lr == Approx(0.05));
    CHECK(hyper.at("encoder.1.attention.q.weight")->weight_decay == 0.5);
    CHECK_FALSE(all.find("encoder.0.attention.q.bias")->value.requires_grad());
    CHECK(all.find("classifier.weight")->value.requires_grad());
}

TEST_CASE("a pattern without a parameter is told with the nearest one, and a model that is all frozen") {
    const auto problems = [](const std::string& text) {
        return train::group_problems(config_of(text), all_names);
    };
    CHECK(problems("[[group]]\nmatch = [\"encoder.*\", \"encodre.0.*\"]\n") ==
          std::vector<std::string>{
              "job.toml:1:1: error: group.match: \"encodre.0.*\" is the name of no parameter; did "
              "you mean \"encoder.0.*\"?"});
    CHECK_THAT(problems("[[group]]\nmatch = [\"zzzzzz\"]\n").at(0),
               contains("is the name of no parameter; expected one such as \"embeddings.word\""));
    CHECK_THAT(problems("[[group]]\nmatch = [\"*\"]\nfrozen = true\n").at(0),
               contains("all parameters are frozen"));
    CHECK(problems("").empty());
}

TEST_CASE("groups are read with every mistake, shown, and part of what a run is") {
    CHECK_THAT(config::render(loaded("[[group]]\nlr_factor = -1.0\nlr = 2\n").problems),
               contains("group.match: is missing") && contains("group.lr_factor") &&
                   contains("group.lr: unknown key"));
    CHECK_THAT(config::render(loaded("group = 3\n").problems),
               contains("[[group]] tables, each with `match`"));
    const auto config = config_of("[[group]]\nmatch = [\"*.bias\"]\nfrozen = true\n");
    std::ostringstream shown;
    config::show(shown, config, false);
    CHECK((config_of(shown.str()).groups == config.groups));
    CHECK(config::fingerprint(config) != config::fingerprint(config_of("")));
}
