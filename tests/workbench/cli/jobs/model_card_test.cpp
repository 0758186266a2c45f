// The model card of RUN/model: by what, on what and with what command the model was trained, and what it
// reached.
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

TEST_CASE("a model card says data, commit, command and scores") {
    const TinyJob job;
    const auto outcome = job.trained("run");
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const fs::path folder = job.run_folder("run");
    const auto card = bytes_of(folder / "model/README.md");
    const auto version = run_json({"version"});
    const auto record = json_of(folder / "record.json");
    CHECK(record["switchyard"]["version"] == version["version"]);
    CHECK(record["switchyard"]["commit"] == version["commit"]);
    CHECK_THAT(card, contains("\nBy Switchyard " + version["version"].get<std::string>()));
    CHECK_THAT(card, contains(version["commit"].get<std::string>()));
    CHECK_THAT(card, contains("The command: `" + record["command"].get<std::string>() + "`"));
    const auto file = record["facts"]["data"]["data.train"][0];
    CHECK(fs::path(file["path"].get<std::string>()).filename() == "rows.tsv");
    CHECK_THAT(card, contains("- `data.train`: `" + file["path"].get<std::string>() + "` " +
                              file["xxh128"].get<std::string>() + "\n"));
    const auto eval = json_of(folder / "summary.json")["eval"];
    for (const std::string score : {"accuracy", "loss"}) {
        const auto row = "| " + score + " | ";
        const auto at = card.find(row);
        REQUIRE(at != std::string::npos);
        CHECK(std::stod(card.substr(at + row.size())) == Approx(eval[score].get<double>()).epsilon(1e-3));
    }
    CHECK_FALSE(fs::exists(folder / "model/label_scale.json"));

    const auto next = job.trained("next", {"train.weights=\"" + (folder / "model").string() + "\""});
    REQUIRE(next.code == 0);
    CHECK_THAT(bytes_of(job.file("next/model/README.md")),
               contains("It began with the weights of `" + (folder / "model").string() + "`."));
}

TEST_CASE("the card of a regression says what its outputs mean") {
    const TinyJob job;
    const auto rows = job.write("prices.tsv", "text\tprice\na film\t100\na plot\t300\n");
    const auto outcome =
        job.trained("run", {"task.kind=regression", "task.labels=[]", "data.label_column=price",
                            "data.train=[\"" + rows + "\"]", "data.eval=[\"" + rows + "\"]"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const auto column = json_of(job.file("run/model/label_scale.json"))["columns"][0];
    CHECK(column["mean"] == 200.0);
    CHECK_THAT(bytes_of(job.file("run/model/README.md")),
               contains("A number in the units of the data is `output * deviation + mean`") &&
                   contains("| `price` | 200.000 | "));
}
