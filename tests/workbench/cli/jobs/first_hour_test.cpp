// docs/first-hour.md as its reader would do it: every command in it, in its order, in one folder; training is
// cut short.
#include "tiny_job.h"

#include <fstream>
#include <sstream>

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// A line of a shell, with quoted texts.
Words words_of(const std::string& line) {
    Words words;
    std::string word;
    bool quoted = false, any = false;
    for (const char c : line) {
        if (c == '"') {
            quoted = !quoted;
            any = true;
        } else if (c == ' ' && !quoted) {
            if (any || !word.empty()) words.push_back(word);
            word.clear();
            any = false;
        } else {
            word += c;
        }
    }
    if (any || !word.empty()) words.push_back(word);
    return words;
}

std::vector<Words> commands_of(const fs::path& file) {
    std::vector<Words> commands;
    std::ifstream in(file);
    REQUIRE(in);
    for (std::string line; std::getline(in, line);) {
        const std::string start = "    switchyard ";
        if (line.starts_with(start)) commands.push_back(words_of(line.substr(start.size())));
    }
    return commands;
}

void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

std::string lines(const std::string& a, const std::string& b, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += (i % 2 == 0 ? a : b) + " " + std::to_string(i) + "\n";
    return all;
}

}  // namespace

TEST_CASE("every command of the first hour works") {
    const TinyJob job;
    job.trained("base", {"train.steps=1"});
    const fs::path folder = job.file("hour");
    fs::create_directory(folder);
    fs::copy(job.run_folder("base") + "/model", folder / "all-MiniLM-L6-v2");
    std::string reviews = "text,label\n";
    for (int i = 0; i < 40; ++i)
        reviews += "\"a " + std::string(i % 2 == 0 ? "lovely" : "dull") + " film, " + std::to_string(i) +
                   "\"," + (i % 2 == 0 ? "fresh" : "rotten") + "\n";
    write(folder / "reviews.csv", reviews);
    write(folder / "test.csv", reviews);
    write(folder / "notes.txt", lines("The film is lovely.", "The plot is dull.", 200));
    for (const auto* const part : {"train", "test"}) {
        const std::string name = part;
        write(folder / (name + ".en"), lines("Two dogs are playing.", "A man sleeps.", 40));
        write(folder / (name + ".de"), lines("Zwei Hunde spielen.", "Ein Mann schläft.", 40));
    }
    const auto commands = commands_of(source_dir() / "docs/first-hour.md");
    CHECK(commands.size() >= 14);
    for (auto words : commands) {
        if (words[0] == "compare") continue;  // as in compare_command
        if (words[0] == "train")
            words.insert(words.end(), {"--set", "train.steps=4", "--set", "batch.size=4", "--set",
                                       "runtime.auto=priority"});
        if (words[0] == "diagnose")
            words.insert(words.end(), {"--set", "batch.size=4", "--set", "runtime.auto=priority"});
        std::ostringstream line;
        for (const auto& word : words) line << word << ' ';
        INFO("switchyard " << line.str());
        const auto outcome = run(words, {{}, {}, folder.string()});
        INFO(outcome.out << outcome.err);
        REQUIRE(outcome.code == 0);
    }
    // What its text says of pieces of words: the values that are printed are all that it takes.
    const RunOptions here{{}, {}, folder.string()};
    const auto learnt =
        run({"data", "train-tokenizer", "notes.toml", "--vocab-size", "280", "--out", "pieces"}, here);
    INFO(learnt.err);
    const std::string sign = "train with: ";
    REQUIRE_THAT(learnt.out, contains(sign));
    auto told = learnt.out.substr(learnt.out.find(sign) + sign.size());
    told.resize(told.find('\n'));
    const auto trained = run(with({"train", "notes.toml", "--run", "runs/pieces", "--set", "train.steps=2",
                                   "--set", "batch.size=4", "--set", "runtime.auto=priority"},
                                  words_of(told)),
                             here);
    INFO(trained.err);
    CHECK(trained.code == 0);
    CHECK(fs::exists(folder / "runs/pieces/tokenizer/merges.txt"));
    CHECK(fs::exists(folder / "runs/reviews/report.html"));
    CHECK(fs::exists(folder / "merged/model.safetensors"));
    CHECK_THAT(bytes_of(folder / "reviews.toml"), contains("labels = [\"fresh\", \"rotten\"]"));
}
