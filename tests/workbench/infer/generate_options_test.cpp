// The options of `generate` as a user gives them: which go together, and what they do to what is written.
#include "json_schema.h"
#include "language_job.h"

#include <algorithm>
#include <csignal>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

Outcome generated(const LanguageJob& job, const std::string& run_name, const Words& more) {
    Words words{"generate", job.file(run_name)};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
}

nlohmann::json told(const LanguageJob& job, const std::string& run_name, const Words& more) {
    Words words{"generate", job.file(run_name)};
    words.insert(words.end(), more.begin(), more.end());
    auto json = run_json(words, 0);
    CHECK(JsonSchema(source_dir() / "docs/schema/generate.json").faults(json) == Words{});
    return json;
}

// Something is written aside, until all is.
bool has_written(const fs::path& folder) {
    return std::ranges::any_of(fs::directory_iterator(folder), [](const auto& entry) {
        return entry.path().filename().string().starts_with(".writing-") && entry.file_size() > 0;
    });
}

std::size_t count_lines(const std::string& file) {
    std::istringstream lines(bytes_of(file));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count)
        CHECK(nlohmann::json::parse(line).contains("text"));
    return count;
}

}  // namespace

TEST_CASE("options of generate that do not go together are refused, with what to do") {
    const LanguageJob job;
    job.trained("gpt", "gpt", {"train.steps=1"});
    job.trained("t5", "t5", {"train.steps=1"});
    job.files().write("few.smi", "CC(=O)O\nC\n");
    job.trained("gpt", "few",
                {"train.steps=1", "data.train=[\"" + job.file("few.smi") + "\"]",
                 "data.eval=[\"" + job.file("few.smi") + "\"]"});
    struct Case {
        Words words;
        std::string expected;
    };
    const std::vector<Case> cases{
        {{"--beam", "3", "--temperature", "0.7"},
         "--temperature: error: is for drawing tokens, and --beam draws none"},
        {{"--beam", "3", "--top-p", "0.9"}, "--top-p: error: is for drawing tokens"},
        {{"--beam", "2", "--num-return", "3"},
         "--num-return: error: asks for 3 texts, and --beam 2 keeps 2; expected at most that"},
        {{"--beam", "3"},
         "--beam: error: 3 beams are more rows than batch.size lets through the model together, 2; expected "
         "at "
         "most that, or --set batch.size=3"},
        {{"--beam", "2", "--stream"}, "--stream: error: with --beam no text is known before the search ends"},
        {{"--length-penalty", "2"}, "--length-penalty: error: says how beams are scored; expected --beam N"},
        {{"--early-stopping"}, "--early-stopping: error: says how beams are scored"},
        {{"--stream", "--json", "-"}, "--stream: error: writes texts to the standard output"},
        {{"--draft-tokens", "3"}, "--draft-tokens: error: there is no draft; expected --draft RUN"},
        {{"--draft", job.file("gpt"), "--beam", "2"}, "--draft: error: drafts speed up texts that grow one"},
        {{"--draft", job.file("few")}, "few has another tokenizer: it has 10 tokens, not 13"},
        {{"--draft", job.file("t5")}, "t5 was trained for seq2seq; expected a smaller model for causal_lm"},
        {{"--draft", job.file("none")}, "none: error: there is no such folder"},
        {{"--stop-token", "Si"},
         "--stop-token: error: 'Si' is no token of this model; expected the text of one"},
        {{"--stop-token", "CC"},
         "--stop-token: error: 'CC' is 2 tokens of this model; expected one, or --stop"},
        {{"--stop-token", "#13"},
         "'#13' is no token of this model; expected the text of one, or its number from #0 to #12"},
        {{"--stop", ""}, "--stop: expected a value"},
        {{"--prompts", job.file("few.smi"), "--format", "csv"}, "--format requires --from"},
        {{"--text-column", "text"}, "--text-column requires --from"},
        {{"--prompt", "@" + job.file("none.txt")}, "none.txt; for a text that begins with @, write @@"},
        {{"--min-p", "2"}, "--min-p: expected a number from 0 to 1"},
        {{"--repetition-penalty", "0"}, "--repetition-penalty: expected a number from 0.01 to 100"},
        {{"--beam", "0"}, "--beam: expected a whole number from 1 to 1000"},
    };
    for (const auto& [words, expected] : cases) {
        INFO(expected);
        const auto outcome = generated(job, "gpt", words);
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err, contains(expected));
    }
}

TEST_CASE("a draft changes nothing of greedy texts, and its share is told") {
    const LanguageJob job;
    job.trained("gpt", "large", {"train.steps=60"});
    job.trained("gpt", "small",
                {"train.steps=20", "model.layers=1", "model.hidden_size=16", "model.intermediate_size=16",
                 "model.heads=2"});
    job.files().write("prompts.smi", "C\nCC(\nc1cc\nC1\n");
    const Words asked{"--prompts", job.file("prompts.smi"), "--temperature", "0"};
    auto with = asked;
    with.insert(with.end(), {"--draft", job.file("small"), "--draft-tokens", "3"});
    const auto alone = told(job, "large", asked), drafted = told(job, "large", with);
    CHECK(drafted["samples"] == alone["samples"]);
    CHECK_FALSE(alone.contains("draft"));
    CHECK(drafted["draft"]["drafted"].get<int>() > 0);
    CHECK(drafted["draft"]["accepted"].get<int>() <= drafted["draft"]["drafted"].get<int>());
    CHECK_THAT(generated(job, "large", with).err, contains("drafted tokens accepted ("));
    // A model that drafts for itself is always right.
    auto own = asked;
    own.insert(own.end(), {"--draft", job.file("large")});
    CHECK(told(job, "large", own)["draft"]["acceptance"].get<double>() > 0.9);
}

TEST_CASE("what is streamed is what is written otherwise, and stop texts and tokens end it") {
    const LanguageJob job;
    job.trained("gpt", "run", {"train.steps=60"});
    const auto texts = [&](const Words& more) { return job.written("run", more); };
    const Words drawn{"--num-return", "4", "--seed", "5"};
    auto streamed = drawn;
    streamed.emplace_back("--stream");
    CHECK(texts(streamed) == texts(drawn));
    auto same = drawn;
    same[0] = "--samples";
    CHECK(texts(same) == texts(drawn));

    const Words greedy{"--prompt", "CC(", "--temperature", "0"};
    const auto whole = texts(greedy).at(0);
    const auto stop = whole.find('O');
    REQUIRE(stop != std::string::npos);
    for (const Words& end :
         {Words{"--stop", "O"}, Words{"--stop-token", "O"}, Words{"--stop", "xyz", "--stop", "O"}}) {
        for (const bool stream : {false, true}) {
            auto words = greedy;
            words.insert(words.end(), end.begin(), end.end());
            if (stream) words.emplace_back("--stream");
            CHECK(texts(words) == Words{whole.substr(0, stop)});
        }
    }
    auto json = greedy;
    json.insert(json.end(), {"--stop", "O"});
    CHECK(told(job, "run", json)["samples"][0]["end"] == "stop");
    CHECK(told(job, "run", json)["samples"][0]["ended"] == true);
}

TEST_CASE("a token that never comes otherwise ends a text where it is asked to") {
    const LanguageJob job;
    job.trained("gpt", "run", {"train.steps=1"});
    for (const std::string id : {"#0", "#1", "#3", "#4"}) {  // padding, beginning, unknown, mask
        INFO(id);
        const auto json =
            told(job, "run", {"--temperature", "1000", "--num-return", "40", "--stop-token", id});
        int stopped = 0;
        for (const auto& sample : json["samples"]) stopped += sample["end"] == "stop" ? 1 : 0;
        CHECK(stopped > 0);
    }
}

TEST_CASE("a draft may have been trained on texts of a least length") {
    const LanguageJob job;
    job.trained("t5", "large", {"train.steps=2"});
    job.trained("t5", "small", {"train.steps=1", "batch.min_length=4"});
    const Words asked{"--prompt", "dog", "--temperature", "0", "--max-tokens", "4"};
    auto with = asked;
    with.insert(with.end(), {"--draft", job.file("small")});
    CHECK(job.written("large", with) == job.written("large", asked));
}

TEST_CASE("a cache changes nothing but the time") {
    const LanguageJob job;
    for (const std::string name : {"gpt", "t5"}) {
        INFO(name);
        job.trained(name, name, {"train.steps=40"});
        job.files().write("gpt.txt", "C\nCC(\nc1cc\n");
        job.files().write("t5.txt", "dog\nbird\na\n");
        for (const Words& how :
             {Words{"--temperature", "0"}, Words{"--seed", "4", "--num-return", "2"}, Words{"--beam", "2"}}) {
            Words asked{"--prompts", job.file(name + ".txt"), "--max-tokens", "12"};
            asked.insert(asked.end(), how.begin(), how.end());
            auto whole = asked;
            whole.emplace_back("--no-cache");
            CHECK(job.written(name, asked) == job.written(name, whole));
            CHECK_THAT(generated(job, name, asked).err, !contains("without a cache"));
        }
    }
}

TEST_CASE("a prompt may be a file, and two signs stand for one") {
    const LanguageJob job;
    job.trained("t5", "run", {"train.steps=2"});
    const auto file = job.files().write("prompt.txt", "dog\n");
    const Words short_answer{"--temperature", "0", "--max-tokens", "3"};
    const auto answer = [&](const std::string& prompt) {
        auto words = short_answer;
        words.insert(words.end(), {"--prompt", prompt});
        return told(job, "run", words)["samples"];
    };
    CHECK(answer("@" + file) == answer("dog"));
    CHECK_NOTHROW(answer("@@dog"));
}

TEST_CASE("beams give the best texts in order, and speed is told apart") {
    const LanguageJob job;
    job.trained("t5", "run", {"train.steps=150"});
    const auto json = told(job, "run", {"--prompt", "dog", "--beam", "4", "--num-return", "3"});
    REQUIRE(json["samples"].size() == 3);
    CHECK(json["samples"][0]["text"] == "Hund");
    CHECK(json["samples"][0]["end"] == "eos");
    for (std::size_t i = 1; i < 3; ++i)
        CHECK(json["samples"][i]["score"].get<double>() <= json["samples"][i - 1]["score"].get<double>());
    CHECK(json["speed"]["prefill"]["tokens"] ==
          5);  // three letters, the end, and what the decoder begins with
    CHECK(json["speed"]["decode"]["tokens"].get<int>() >= 4);
    CHECK(json["speed"]["time_to_first_token_ms"].get<double>() > 0.0);
    // A file's prompts go through together, of unequal lengths, and come out in their order.
    job.files().write("many.txt", "cow\ndog\nbird\ncat\nbird\n");
    const Words many{"--prompts", job.file("many.txt")};
    const Words expected{"Kuh", "Hund", "Vogel", "Katze", "Vogel"};
    for (const Words& how : {Words{"--beam", "3"}, Words{"--temperature", "0"}}) {
        for (const std::string size : {"3", "8"}) {
            auto words = many;
            words.insert(words.end(), how.begin(), how.end());
            words.insert(words.end(), {"--set", "batch.size=" + size});
            CHECK(job.written("run", words) == expected);
        }
    }
    CHECK_THAT(generated(job, "run", many).err, contains("prefill: ") && contains("; decode: "));
}

TEST_CASE("weights that are no numbers end generate with the operation that shows it first") {
    const LanguageJob job;
    job.trained("gpt", "run", {"train.steps=1"});
    const auto file = job.file("run/model/model.safetensors");
    auto bytes = bytes_of(file);
    std::fill(bytes.end() - 64, bytes.end(), '\xFF');  // of the last tensor
    job.files().write("run/model/model.safetensors", bytes);
    job.files().write("out.jsonl", "old\n");
    for (const Words& how : {Words{}, Words{"--beam", "2"}, Words{"--draft", job.file("run")}}) {
        auto words = how;
        words.insert(words.end(), {"--prompt", "C", "--jsonl", job.file("out.jsonl")});
        const auto outcome = generated(job, "run", words);
        INFO(outcome.err);
        CHECK(outcome.code == 5);
        CHECK_THAT(outcome.err, contains("is NaN, after 2 tokens: no token can be chosen") &&
                                    contains("the first operation whose values are not finite is "));
        CHECK(bytes_of(job.file("out.jsonl")) == "old\n");
    }
}

TEST_CASE("Ctrl-C ends generate cleanly and keeps what was written") {
    const LanguageJob job;
    job.trained("gpt", "run", {"train.steps=1"});
    const auto output = job.file("out.jsonl");
    Started process({"generate", job.file("run"), "--num-return", "1000000", "--jsonl", output});
    REQUIRE(wait_until([&] { return process.ended() || has_written(job.file("")); }));
    process.send(SIGINT);
    const auto outcome = process.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 130);
    CHECK_THAT(outcome.err, contains("stopped: not all was generated") && contains("prefill: "));
    const auto count = count_lines(output);
    CHECK(count > 0);
    CHECK(count < 1000000);
}

TEST_CASE("a signal ends generate while it waits for more prompts, and what was written stays") {
    const LanguageJob job;
    job.trained("gpt", "run", {"train.steps=1"});
    const auto pipe = job.file("pipe.smi"), output = job.file("out.jsonl");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    for (const std::string& source : {pipe, std::string("-")}) {
        INFO(source);
        RunOptions options;
        if (source == "-") options.input = pipe;
        Started process({"generate", job.file("run"), "--prompts", source, "--jsonl", output}, options);
        const int writer = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);  // stays open: more could come
        REQUIRE(writer >= 0);
        const std::string prompts = "C\nCC\nCCC\n";  // more than fill one batch, and fewer than two
        REQUIRE(::write(writer, prompts.data(), prompts.size()) == static_cast<ssize_t>(prompts.size()));
        REQUIRE(wait_until([&] { return process.ended() || has_written(job.file("")); }));
        process.send(SIGTERM);
        const auto outcome = process.wait();
        ::close(writer);
        INFO(outcome.err);
        CHECK(outcome.code == 143);
        CHECK_THAT(outcome.err, contains("stopped after 2 prompts, whose texts are written\n"));
        CHECK(count_lines(output) == 2);
        fs::remove(output);
    }
}

TEST_CASE("a signal before the first prompt leaves the file of before, and nothing beside it") {
    const LanguageJob job;
    job.trained("gpt", "run", {"train.steps=1"});
    const auto pipe = job.file("pipe.smi"), output = job.file("out.jsonl");
    job.files().write("out.jsonl", "old\n");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    Started process({"generate", job.file("run"), "--prompts", pipe, "--jsonl", output});
    const auto aside = [&] {
        return std::ranges::any_of(fs::directory_iterator(job.file("")), [](const auto& entry) {
            return entry.path().filename().string().starts_with(".writing-");
        });
    };
    REQUIRE(wait_until([&] { return process.ended() || aside(); }));
    process.send(SIGTERM);
    const auto outcome = process.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 143);
    CHECK_FALSE(aside());
    CHECK(bytes_of(output) == "old\n");
}
