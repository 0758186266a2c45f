// Commands that a command tells to run next are what a shell takes for that, whatever files are called.
#include "tiny_job.h"

#include <cstdio>

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// The words of a command between `sign` and the end of the line or of its quotation, as a shell reads them.
Words told(const std::string& text, const std::string& sign) {
    INFO(text);
    const auto at = text.find(sign);
    REQUIRE(at != std::string::npos);
    const auto from = at + sign.size();
    const auto line = text.substr(from, text.find_first_of("`\n", from) - from);
    std::FILE* const shell = ::popen(("printf '%s\\n' " + line).c_str(), "r");
    REQUIRE(shell != nullptr);
    Words words;
    std::string word;
    for (int c = std::fgetc(shell); c != EOF; c = std::fgetc(shell)) {
        if (c != '\n') {
            word += static_cast<char>(c);
            continue;
        }
        words.push_back(word);
        word.clear();
    }
    INFO(line);
    REQUIRE(::pclose(shell) == 0);
    return words;
}

const Words small{"--set", "model.layers=1", "--set", "model.hidden_size=16", "--set", "model.heads=2",
                  "--set", "train.steps=1",  "--set", "runtime.auto=priority"};

}  // namespace

TEST_CASE("a command that is told is one, whatever the files are called") {
    const TinyJob job;
    fs::create_directory(job.file("a & b"));
    const RunOptions there{{}, {}, job.file("a & b")};
    std::string reviews = "text,label\n";
    for (int i = 0; i < 40; ++i)
        reviews += "film " + std::to_string(i) + (i % 2 == 0 ? " is lovely,good\n" : " is dull,bad\n");
    job.write("a & b/it's $good.csv", reviews);
    const auto drafted = run({"init", "it's $good.csv"}, there);
    const auto next = told(drafted.out, "Next: switchyard ");
    CHECK(next == Words{"train", "it's $good.toml", "--run", "runs/it's $good"});
    const auto trained = run(with(next, small), there);
    INFO(trained.err);
    CHECK(trained.code == 0);
    CHECK(fs::exists(job.file("a & b/runs/it's $good/summary.json")));

    const auto planned = run({"plan", "it's $good.toml", "--set", "attention.backend=auto"}, there);
    CHECK(told(planned.out, "\n`switchyard ") == Words{"tune", "it's $good.toml"});
    const auto unfit = run({"plan", "it's $good.toml", "--set", "batch.size=fit"}, there);
    CHECK(told(unfit.err, "expected a number here: `switchyard ") == Words{"fit", "it's $good.toml"});

    // Bytes have no files, a tokenizer has some: both stand in the store's folder.
    std::string texts;
    for (int i = 0; i < 40; ++i) texts += "a film of " + std::to_string(i) + " lovely scenes\n";
    job.write("a & b/notes.txt", texts);
    REQUIRE(run({"init", "notes.txt"}, there).code == 0);
    const auto learnt =
        run({"data", "train-tokenizer", "notes.toml", "--vocab-size", "270", "--out", "its pieces"}, there);
    const auto pieces = told(learnt.out, "\ntrain with: ");
    for (const auto& [store, sets] : {std::pair{"bytes store", Words{}}, {"pieces' store", pieces}}) {
        INFO(store);
        const auto prepared = run(with({"data", "prepare", "notes.toml", "--out", store}, sets), there);
        INFO(prepared.err);
        const auto with_store = with(sets, told(prepared.out, "\ntrain with: "));
        const auto of_store =
            run(with(with({"train", "notes.toml", "--run", std::string("runs/") + store}, small), with_store),
                there);
        INFO(of_store.err);
        CHECK(of_store.code == 0);
    }
}
