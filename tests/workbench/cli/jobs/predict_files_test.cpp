// `switchyard predict RUN --from FILE`: what it says of each row must be what it says of the same text as an
// argument, in the order of the rows, whatever the file is and whatever stands between them.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;
using nlohmann::json;

namespace {

const Words some_texts{"the film is lovely", "a dull, \"flat\" plot", "this was a warm story", "but so cold"};

json lines_of(const std::string& text) {
    auto lines = json::array();
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
    return lines;
}

Words joined_words(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

// What --jsonl - writes, a value a line.
json told_of_files(const Words& words, int code = 0, const RunOptions& options = {}) {
    const auto outcome = run(joined_words(joined_words({"predict"}, words), {"--jsonl", "-"}), options);
    INFO(outcome.err);
    CHECK(outcome.code == code);
    return lines_of(outcome.out);
}

// Without where it stands.
json without_place(const json& lines) {
    auto told = lines;
    for (auto& line : told) {
        line.erase("file");
        line.erase("line");
    }
    return told;
}

json values_of(const json& lines, const std::string& key) {
    auto values = json::array();
    for (const auto& line : lines) values.push_back(line[key]);
    return values;
}

json as_arguments(const std::string& run_folder, const Words& given) {
    return run_json(joined_words({"predict", run_folder}, given))["predictions"];
}

std::string csv_field(const std::string& text) {
    std::string field = "\"";
    for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
    return field + "\"";
}

// Beside this file there is what killed processes left.
bool has_unfinished(const fs::path& folder) {
    for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().filename().string().starts_with(".writing-")) return true;
    return false;
}

}  // namespace

TEST_CASE("rows of files of any form are told what their texts are told as arguments") {
    const TinyJob job;
    job.trained("run");
    const auto run_folder = job.run_folder("run");
    const auto expected = as_arguments(run_folder, some_texts);
    std::string tsv = "number\ttext\n", csv = "text,number\n", jsonl, plain;
    for (const auto& text : some_texts) {
        tsv += "7\t" + text + "\n";
        csv += csv_field(text) + ",7\n";
        jsonl += json{{"number", 7}, {"text", text}}.dump() + "\n";
        plain += text + "\n";
    }
    job.write("a.tsv", tsv);
    job.write("a.csv", csv);
    job.write("a.jsonl", jsonl);
    job.write("a.txt", plain);
    REQUIRE(std::system(("gzip -k " + job.file("a.csv")).c_str()) == 0);
    for (const std::string name : {"a.tsv", "a.csv", "a.jsonl", "a.txt", "a.csv.gz"}) {
        INFO(name);
        const auto lines = told_of_files({run_folder, "--from", job.file(name)});
        CHECK(without_place(lines) == expected);
        CHECK(lines[0]["file"] == job.file(name));
        const int header = name == "a.jsonl" || name == "a.txt" ? 0 : 1;
        CHECK(values_of(lines, "line") == json{1 + header, 2 + header, 3 + header, 4 + header});
    }
    // Several files, one after the other; then one whose name tells nothing, and a column by another name.
    CHECK(without_place(told_of_files({run_folder, "--from", job.file("a.tsv"), job.file("a.txt")})).size() ==
          8);
    job.write("reviews", "words,number\n" + csv.substr(csv.find('\n') + 1));
    CHECK(without_place(told_of_files({run_folder, "--from", job.file("reviews"), "--format", "csv",
                                       "--text-column", "words"})) == expected);
    RunOptions options;
    for (const auto& [name, format] : std::map<std::string, Words>{
             {"a.txt", {}}, {"a.tsv", {"--format", "tsv"}}, {"a.csv.gz", {"--format", "csv"}}}) {
        options.input = job.file(name);
        const auto lines = told_of_files(joined_words({run_folder, "--from", "-"}, format), 0, options);
        CHECK(without_place(lines) == expected);
        CHECK(lines[0]["file"] == "-");
    }
    const auto whole = run_json({"predict", run_folder, "--from", job.file("a.tsv")});
    CHECK(without_place(whole["predictions"]) == expected);
    const auto shown = run({"predict", run_folder, "--from", job.file("a.tsv")});
    CHECK(shown.code == 0);
    CHECK_THAT(shown.out, contains("label\tprobability\ttext\n") && contains(" %\tthe film is lovely\n"));
    const auto argued = run(joined_words({"predict", run_folder, "--jsonl", "-"}, some_texts));
    CHECK(lines_of(argued.out) == expected);
}

TEST_CASE("results of many batches stand in the order of the rows") {
    const TinyJob job;
    job.trained("run");
    Words many;
    std::string rows = "text\n";
    for (int i = 0; i < 300; ++i) {
        std::string text = "the film";
        for (int word = 0; word < i * 7 % 11; ++word) text += i % 2 == 0 ? " lovely" : " dull";
        many.push_back(text + " " + std::to_string(i));
        rows += many.back() + "\n";
    }
    const auto file = job.write("many.tsv", rows);
    const auto lines = told_of_files({job.run_folder("run"), "--from", file});
    const auto expected = as_arguments(job.run_folder("run"), many);
    REQUIRE(lines.size() == 300);
    CHECK(values_of(lines, "text") == json(many));
    for (std::size_t i = 0; i < many.size(); ++i) {
        INFO(many[i]);
        CHECK(lines[i]["line"] == i + 2);
        CHECK(lines[i]["probabilities"]["good"].get<double>() ==
              Approx(expected[i]["probabilities"]["good"].get<double>()).epsilon(1e-4));
    }
}

TEST_CASE("a row that cannot be used is told with its place, and all others are predicted") {
    const TinyJob job;
    job.trained("run");
    const auto run_folder = job.run_folder("run");
    const auto file = job.write("bad.tsv", "text\tlabel\n" + some_texts[0] + "\tgood\n" + some_texts[1] +
                                               "\ntwo \xff bytes\tbad\n" + some_texts[2] + "\t\n" +
                                               some_texts[3] + "\tmaybe\n");
    const auto output = job.write("out.jsonl", "old\n");
    const auto outcome = run({"predict", run_folder, "--from", file, "--jsonl", output});
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err,
               contains(file + ":3:") && contains(": error: the row has 1 column, expected 2\n"));
    CHECK_THAT(outcome.err, contains(file + ":4:5: error: is not valid UTF-8 at byte 5\n"));
    CHECK_THAT(outcome.err, contains("error: 2 of 5 rows cannot be used and have no result"));
    CHECK(outcome.out.empty());
    const auto lines = lines_of(bytes_of(output));
    CHECK(without_place(lines) == as_arguments(run_folder, {some_texts[0], some_texts[2], some_texts[3]}));
    CHECK(values_of(lines, "line") == json{2, 5, 6});

    std::string rows = "{\"text\": \"a film\"}\n";
    for (int i = 0; i < 12; ++i) rows += "{\"words\": 1}\n";
    const auto objects = job.write("bad.jsonl", rows);
    const auto many = run({"predict", run_folder, "--from", objects, "--jsonl", "-"});
    CHECK(many.code == 1);
    CHECK(lines_of(many.out).size() == 1);
    CHECK_THAT(many.err, contains(objects + ":11:1: error: the row has no key 'text'\n"));
    CHECK(many.err.find(objects + ":12:") == std::string::npos);
    CHECK_THAT(many.err,
               contains("12 of 13 rows cannot be used") && contains("the first 10 are listed above"));
}

TEST_CASE("pairs come from two columns, or from a line with a tab between") {
    const TinyJob job;
    job.write("pairs.tsv", "text\tother\tlabel\na fresh film\ta plot\tgood\na dull plot\ta film\tbad\n");
    const auto list = "[\"" + job.file("pairs.tsv") + "\"]";
    job.trained("run",
                {"data.train=" + list, "data.eval=" + list, "data.pair_column=other", "train.steps=1"});
    const auto run_folder = job.run_folder("run");
    const auto expected = as_arguments(run_folder, {"a fresh film\ta plot", "a dull plot\ta film"});
    const auto plain = job.write("pairs.txt", "a fresh film\ta plot\na dull plot\ta film\n");
    for (const auto& file : {job.file("pairs.tsv"), plain}) {
        const auto lines = told_of_files({run_folder, "--from", file});
        CHECK(values_of(lines, "probabilities") == values_of(expected, "probabilities"));
        CHECK(values_of(lines, "text") == json{"a fresh film", "a dull plot"});
        CHECK(values_of(lines, "text_pair") == json{"a plot", "a film"});
    }
    const auto turned = told_of_files(
        {run_folder, "--from", job.file("pairs.tsv"), "--text-column", "other", "--pair-column", "text"});
    CHECK(values_of(turned, "text") == json{"a plot", "a film"});
    const auto lacking =
        job.write("lacking.tsv", "text\tother\na fresh film\ta plot\na film\t \na dull plot\ta film\n");
    const auto outcome = run({"predict", run_folder, "--from", lacking, "--jsonl", "-"});
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, contains(lacking + ":3:8: error: the pair has no second text\n"));
    CHECK(values_of(lines_of(outcome.out), "probabilities") == values_of(expected, "probabilities"));
    const auto alone = job.write("alone.txt", "a film\na\tb\n");
    const auto told = run({"predict", run_folder, "--from", alone});
    CHECK(told.code == 1);
    CHECK_THAT(told.err, contains(alone + ":1:1: error: expected the two texts of a pair with a tab between, "
                                          "got 0 tabs\n"));
}

TEST_CASE("words are labelled row by row") {
    const TinyJob job;
    std::string sentences;
    for (int i = 0; i < 20; ++i) sentences += "the O\nlovely GOOD\nfilm O\n\na O\ndull BAD\nplot O\n\n";
    const auto list = "[\"" + job.write("words.txt", sentences) + "\"]";
    const auto outcome =
        job.trained("run", {"task.kind=token_classification", "task.labels=[\"O\", \"GOOD\", \"BAD\"]",
                            "data.train=" + list, "data.eval=" + list, "train.steps=1"});
    INFO(outcome.err);
    const auto file = job.write("given.tsv", "id\tsentence\n1\tthe lovely film\n2\ta dull plot\n");
    const auto lines = told_of_files({job.run_folder("run"), "--from", file, "--text-column", "sentence"});
    CHECK(without_place(lines) == as_arguments(job.run_folder("run"), {"the lovely film", "a dull plot"}));
}

TEST_CASE("texts may be shorter than those that a run was trained on") {
    const TinyJob job;
    REQUIRE(job.trained("run", {"train.steps=1", "batch.min_length=8"}).code == 0);
    for (const std::string command : {"predict", "embed"}) {
        const auto outcome = run({command, job.run_folder("run"), "film", "a dull plot"});
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        CHECK(std::ranges::count(outcome.out, '\n') >= 2);
        check_refused(run({command, job.run_folder("run"), "film", "--set", "batch.min_length=8"}),
                      {"--set batch.min_length: error: is 8, and a text may be shorter"});
    }
}

TEST_CASE("what cannot be read is told before anything is predicted") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    const auto run_folder = job.run_folder("run");
    const auto good = job.write("good.tsv", "text\na film\n");
    const auto output = job.write("out.jsonl", "old\n");
    const auto refused = [&](const Words& words, const std::string& expected) {
        const auto outcome = run(joined_words({"predict", run_folder}, words));
        INFO(expected);
        CHECK(outcome.code == 2);
        CHECK_THAT(outcome.err, contains(expected));
        CHECK(outcome.out.empty());
        CHECK(bytes_of(output) == "old\n");
    };
    const auto other = job.write("other.tsv", "words\tlabel\na film\tgood\n");
    refused({"--from", good, other, "--jsonl", output},
            other + ":1:1: has no column 'text'; its columns are 'words', 'label'");
    refused({"--from", good, job.file("none.tsv"), "--jsonl", output}, job.file("none.tsv") + ": ");
    refused({"--from", job.write("rows.other", "text\n"), "--jsonl", output},
            "rows.other: cannot tell its format from its name");
    refused({"--from", job.write("empty.tsv", ""), "--jsonl", output}, "empty.tsv: is empty");
    refused({"--from", job.write("header.tsv", "text\n"), "--jsonl", "-"},
            "header.tsv: error: has no row; expected a text a row");
    refused({"a film", "--from", good}, "excludes");
    refused({"a film", "--format", "csv"}, "--format requires --from");
    refused({"a film", "--text-column", "text"}, "--text-column requires --from");
    refused({"a film", "--pair-column", "other"}, "--pair-column requires --from");
    refused({"--from", good, "--json", "-", "--jsonl", output}, "excludes");
    refused({"--from", good, "--format", "xml"}, "--format: xml not in {text,tsv,csv,jsonl,tab,parquet}");
    refused({"--from", "-", "--format", "parquet"}, "Parquet is not read from the standard input");
}

TEST_CASE("the output is replaced when all is written, and not before") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    const auto run_folder = job.run_folder("run");
    const auto output = job.write("out.jsonl", "old\n");
    // The rows of a file that breaks off are lost with it.
    std::string rows = "text\n";
    for (int i = 0; i < 20000; ++i) rows += "a film " + std::to_string(i * 7919 % 65537) + "\n";
    const auto plain = job.write("rows.tsv", rows);
    REQUIRE(std::system(("gzip -k " + plain).c_str()) == 0);
    const auto whole = bytes_of(plain + ".gz");
    const auto cut = job.write("cut.tsv.gz", whole.substr(0, whole.size() / 2));
    const auto broken = run({"predict", run_folder, "--from", cut, "--jsonl", output});
    CHECK(broken.code == 2);
    CHECK_THAT(broken.err, contains(cut + ": its packed data is damaged or cut off"));
    CHECK(bytes_of(output) == "old\n");
    CHECK_FALSE(has_unfinished(job.file("")));

    CHECK(run({"predict", run_folder, "--from", plain, "--jsonl", output}).code == 0);
    CHECK(lines_of(bytes_of(output)).size() == 20000);
}

TEST_CASE("a signal ends predict while it waits for more rows, and the output is as it was") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    const auto output = job.write("out.jsonl", "old\n");
    std::string rows = "text\n";
    for (int i = 0; i < 300; ++i) rows += "a film\n";
    const auto pipe = job.file("pipe.tsv");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const std::map<std::string, int> sources{{pipe, SIGINT}, {"-", SIGTERM}};
    for (const auto& [source, signal] : sources) {
        INFO(source);
        RunOptions options;
        if (source == "-") options.input = pipe;
        Started started({"predict", job.run_folder("run"), "--from", source, "--jsonl", output}, options);
        const int writer = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);  // stays open: more could come
        REQUIRE(writer >= 0);
        REQUIRE(::write(writer, rows.data(), rows.size() - 3) == static_cast<ssize_t>(rows.size() - 3));
        REQUIRE(wait_until(
            [&] { return started.ended() || started.errors().find("predict ") != std::string::npos; }));
        CHECK(has_unfinished(job.file("")));
        started.send(signal);
        const auto stopped = started.wait();
        ::close(writer);
        CHECK(stopped.code == 128 + signal);
        CHECK_THAT(stopped.err, contains("stopped after ") &&
                                    contains(" rows; " + output + " is as it was\n") && !contains("error: "));
        CHECK(bytes_of(output) == "old\n");
        CHECK_FALSE(has_unfinished(job.file("")));
    }
    // Nobody ever opens it for writing.
    Started started({"predict", job.run_folder("run"), "--from", pipe, "--jsonl", output});
    REQUIRE(wait_until([&] { return started.ended() || has_unfinished(job.file("")); }));
    started.send(SIGTERM);
    CHECK(started.wait().code == 143);
    CHECK(bytes_of(output) == "old\n");
}
