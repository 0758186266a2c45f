// `switchyard embed` as a user calls it: the same numbers in every form of output, in the order of the texts.
#include "json_schema.h"
#include "language_job.h"

#include <cmath>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

using Vectors = std::vector<std::vector<float>>;

nlohmann::json told(const LanguageJob& job, const Words& more) {
    Words words{"embed", job.file("bert")};
    words.insert(words.end(), more.begin(), more.end());
    auto json = run_json(words, 0);
    CHECK(JsonSchema(source_dir() / "docs/schema/embed.json").faults(json) == Words{});
    return json;
}

Vectors vectors_of(const nlohmann::json& lines) {
    Vectors vectors;
    for (const auto& line : lines) vectors.push_back(line["embedding"].get<std::vector<float>>());
    return vectors;
}

// The float32 values behind a header.
Vectors values_at(const std::string& bytes, std::size_t at, std::size_t rows, std::size_t columns) {
    REQUIRE(bytes.size() == at + rows * columns * sizeof(float));
    Vectors vectors(rows, std::vector<float>(columns));
    for (std::size_t i = 0; i < rows; ++i)
        std::memcpy(vectors[i].data(), bytes.data() + at + i * columns * sizeof(float),
                    columns * sizeof(float));
    return vectors;
}

double largest_difference(const Vectors& a, const Vectors& b) {
    REQUIRE(a.size() == b.size());
    double most = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < a[i].size(); ++j)
            most = std::max(most, std::abs(static_cast<double>(a[i][j]) - static_cast<double>(b[i][j])));
    return most;
}

const std::string lines = "the film\na moving and funny film that is long\nfilm\nthe plot\na\nthe film\n";

}  // namespace

TEST_CASE("every form of output has the same embeddings, in the order of the texts") {
    const LanguageJob job;
    job.trained("bert", "bert", {"train.steps=1"});
    const auto file = job.files().write("texts.txt", lines);
    const auto json = told(job, {"--from", file});
    CHECK(json["pool"] == "mean");
    CHECK(json["normalized"] == false);
    CHECK(json["dimensions"] == 32);
    const auto expected = vectors_of(json["embeddings"]);
    REQUIRE(expected.size() == 6);
    CHECK(json["embeddings"][1]["text"] == "a moving and funny film that is long");
    CHECK(json["embeddings"][1]["line"] == 2);
    CHECK(largest_difference({expected[0]}, {expected[5]}) < 1e-6);
    CHECK(largest_difference({expected[0]}, {expected[2]}) > 1e-3);

    const auto npy = job.file("all.npy"), tensors = job.file("all.safetensors");
    REQUIRE(run({"embed", job.file("bert"), "--from", file, "--out", npy}).code == 0);
    const auto bytes = bytes_of(npy);
    const auto header = bytes.find('\n') + 1;
    CHECK(header % 64 == 0);
    CHECK(bytes.starts_with(std::string("\x93NUMPY\x01\x00", 8)));
    CHECK_THAT(bytes.substr(10, header - 10),
               contains("{'descr': '<f4', 'fortran_order': False, 'shape': (6, 32), }"));
    CHECK(static_cast<std::size_t>(static_cast<unsigned char>(bytes[8])) +
              256 * static_cast<std::size_t>(static_cast<unsigned char>(bytes[9])) ==
          header - 10);
    CHECK(values_at(bytes, header, 6, 32) == expected);
    REQUIRE(run({"embed", job.file("bert"), "--from", file, "--out", tensors}).code == 0);
    const auto stored = bytes_of(tensors);
    CHECK_THAT(stored.substr(8, 200), contains("\"embeddings\"") && contains("[6,32]"));
    CHECK(values_at(stored, stored.size() - 6 * 32 * sizeof(float), 6, 32) == expected);

    const auto printed = run({"embed", job.file("bert"), "--from", file});
    Vectors shown;
    std::istringstream text(printed.out);
    for (std::string line; std::getline(text, line);) {
        std::istringstream numbers(line);
        auto& row = shown.emplace_back();
        for (std::string number; std::getline(numbers, number, '\t');) row.push_back(std::stof(number));
    }
    CHECK(shown == expected);
    const auto arguments = told(job, {"the film", "film"});
    CHECK(largest_difference(vectors_of(arguments["embeddings"]), {expected[0], expected[2]}) < 1e-6);
}

TEST_CASE("batches change no embedding, normalizing scales it, and pooling is as asked") {
    const LanguageJob job;
    job.trained("bert", "bert", {"train.steps=1"});
    const auto file = job.files().write("texts.txt", lines);
    const auto of = [&](const Words& more) {
        Words words{"--from", file};
        words.insert(words.end(), more.begin(), more.end());
        return vectors_of(told(job, words)["embeddings"]);
    };
    const auto plain = of({});
    for (const std::string set : {"batch.size=1", "batch.size=3", "batch.layout=packed"})
        CHECK(largest_difference(of({"--set", set}), plain) < 1e-5);
    const auto normalized = of({"--normalize"});
    for (std::size_t i = 0; i < plain.size(); ++i) {
        double sum = 0.0, length = 0.0;
        for (const float value : plain[i]) length += static_cast<double>(value) * static_cast<double>(value);
        for (std::size_t j = 0; j < plain[i].size(); ++j) {
            const double value = normalized[i][j];
            sum += value * value;
            CHECK(value == Approx(static_cast<double>(plain[i][j]) / std::sqrt(length)).margin(1e-6));
        }
        CHECK(sum == Approx(1.0).epsilon(1e-5));
    }
    CHECK(largest_difference(of({"--pool", "first"}), plain) > 1e-3);
}

TEST_CASE("what cannot be embedded is refused, and long texts are told") {
    const LanguageJob job;
    job.trained("gpt", "gpt", {"train.steps=1"});
    job.trained("bert", "bert", {"train.steps=1"});
    check_refused(run({"embed", job.file("gpt"), "C"}),
                  {"a gpt does not embed texts; expected an encoder, bert"});
    check_refused(run({"embed", job.file("bert"), "a", "--out", job.file("all.txt")}),
                  {"--out: error: ", "expected a name that ends in .npy or .safetensors"});
    check_refused(run({"embed", job.file("bert"), "a", "--pool", "last"}), {"--pool"});
    check_refused(run({"embed", job.file("bert"), "a\xFF"}), {"text 1: error: the text "});
    CHECK_FALSE(fs::exists(job.file("all.txt")));
    std::string many;
    for (int i = 0; i < 60; ++i) many += "film ";
    const auto outcome = run({"embed", job.file("bert"), many, "film"});
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.err, contains("warning: 1 of 2 texts longer than 32 tokens"));
}

TEST_CASE("a signal ends embed while it waits for more rows, and nothing is written") {
    const LanguageJob job;
    job.trained("bert", "bert", {"train.steps=1"});
    const auto pipe = job.file("pipe.txt"), output = job.file("all.npy");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::string many;
    for (int i = 0; i < 200; ++i) many += "a film\n";
    Started started({"embed", job.file("bert"), "--from", pipe, "--out", output});
    const int writer = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);  // stays open: more could come
    REQUIRE(writer >= 0);
    REQUIRE(::write(writer, many.data(), many.size()) == static_cast<ssize_t>(many.size()));
    REQUIRE(
        wait_until([&] { return started.ended() || started.errors().find("embed ") != std::string::npos; }));
    started.send(SIGTERM);
    const auto outcome = started.wait();
    ::close(writer);
    CHECK(outcome.code == 143);
    CHECK_THAT(outcome.err, contains("stopped after ") && contains(output + " is as it was\n"));
    CHECK_FALSE(fs::exists(output));
}
