// Token stores: the same samples as from the texts they were made of, resumed to the byte, and refused where
// they were altered or belong to something else.
#include <cstring>
#include <fstream>
#include <sstream>

#include <xxhash.h>

#include "core/kernel/base/input_error.h"
#include "core/workbench/data/language_data.h"
#include "core/workbench/data/store/prepare.h"
#include "core/workbench/data/store/token_folder.h"
#include "core/workbench/data/tokenizers/byte_tokenizer.h"
#include "core/workbench/data/tokenizers/wordpiece.h"

#include <switchyard_test.h>

using namespace switchyard;
using data::LanguageTask;
using data::TokenFileHeader;
namespace fs = std::filesystem;

namespace {

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

struct StoreJob {
    config::DataConfig data;
    std::shared_ptr<const data::Tokenizer> tokenizer = std::make_shared<data::ByteTokenizer>();
    std::string folder = test::temporary_dir("store").string();

    explicit StoreJob(int texts) {
        std::ofstream file(folder + "/train.txt");
        for (int i = 0; i < texts; ++i)
            file << "text " << i << ' '
                 << std::string(static_cast<std::size_t>(std::int64_t{i} * i % 211),
                                static_cast<char>('a' + i % 26))
                 << (i % 97 == 5 ? "\n\n" : "\n");
        data.train = {folder + "/train.txt"};
        data.tokenizer = config::TokenizerKind::bytes;
    }
    std::string path(const std::string& name) const { return folder + "/" + name; }
    data::PrepareResult prepare(const std::string& name, std::int64_t threads = 2,
                                std::function<bool()> stop = {}) const {
        data::PrepareRequest request{data, tokenizer, path(name), threads};
        request.save_bytes = 1 << 20;
        request.stop = std::move(stop);
        return data::prepare(request);
    }
    data::Splits read(LanguageTask task, const config::DataConfig& from) const {
        return data::read_language_data(from, {task, 64, 400, 7}, tokenizer);
    }
    config::DataConfig stored(const std::string& name) const {
        auto from = data;
        from.train = {path(name)};
        return from;
    }
};

void check_same(const SampleSource& a, const SampleSource& b) {
    REQUIRE(a.size() == b.size());
    bool same = true;
    for (std::int64_t i = 0; i < a.size(); ++i) {
        const auto x = a.get(i, 3), y = b.get(i, 3);
        same = same && x.ids == y.ids && x.labels == y.labels && x.documents == y.documents &&
               x.target_ids == y.target_ids && a.length(i) == b.length(i);
    }
    CHECK(same);
}

std::string refusal(const std::function<void()>& run) {
    try {
        run();
    } catch (const base::InputError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a store gives the samples of the texts that it was made of, whatever is made of them") {
    const StoreJob job(3000);
    const auto made = job.prepare("made");
    REQUIRE(made.counts.problems.empty());
    for (const auto blocks : {config::Blocks::none, config::Blocks::packed_lm, config::Blocks::fixed}) {
        for (const auto task : {LanguageTask::causal, LanguageTask::spans}) {
            for (const auto on_long : {config::LongText::truncate, config::LongText::split}) {
                auto texts = job.data, store = job.stored("made");
                texts.blocks = store.blocks = blocks;
                texts.on_long = store.on_long = on_long;
                const auto a = job.read(task, texts), b = job.read(task, store);
                REQUIRE(b.problems == std::vector<std::string>());
                check_same(*a.train, *b.train);
                CHECK(a.train_rows.used == b.train_rows.used);
                CHECK(a.train_rows.truncated == b.train_rows.truncated);
                CHECK(a.train_rows.split == b.train_rows.split);
                CHECK(a.eval_rows.used == b.eval_rows.used);
                CHECK(a.train_rows.empty == b.train_rows.empty);
                if (task == LanguageTask::causal) check_same(*a.eval, *b.eval);
            }
        }
    }
}

TEST_CASE("a store that was stopped anywhere is gone on with and comes out the same to the byte") {
    const StoreJob job(60'000);
    REQUIRE(job.prepare("whole", 1).counts.problems.empty());
    int calls = 0, runs = 0;
    bool resumed = false;
    for (bool stopped = true; stopped; ++runs) {
        REQUIRE(runs < 20);
        const auto limit = calls + 17'000;
        const auto result = job.prepare("parts", 3, [&] { return ++calls > limit; });
        stopped = result.stopped;
        resumed = resumed || result.resumed_rows > 0;
        CHECK(data::is_token_folder(job.path("parts")) == !stopped);
    }
    CHECK(resumed);
    CHECK(runs > 2);
    for (const char* name : {"/train.tokens", "/eval.tokens", "/store.json"})
        CHECK(content(job.path("parts") + name) == content(job.path("whole") + name));
    CHECK(job.prepare("parts").was_there);
    std::size_t files = 0;
    for (const auto& entry : fs::directory_iterator(job.path("parts"))) files += entry.exists() ? 1 : 0;
    CHECK(files == 3);
}

TEST_CASE("a store that was begun is stopped soon while it is read again, and loses nothing by it") {
    const StoreJob job(60'000);
    REQUIRE(job.prepare("whole", 1).counts.problems.empty());
    int calls = 0;
    REQUIRE(job.prepare("parts", 2, [&] { return ++calls > 50'000; }).stopped);
    const auto again = job.prepare("parts", 2, [] { return true; });
    CHECK(again.stopped);
    CHECK(again.resumed_rows > 10'000);
    CHECK(again.counts.train_rows.read + again.counts.eval_rows.read <= 1024);
    const auto last = job.prepare("parts");
    CHECK_FALSE(last.stopped);
    CHECK(last.resumed_rows == again.resumed_rows);
    for (const char* name : {"/train.tokens", "/eval.tokens", "/store.json"})
        CHECK(content(job.path("parts") + name) == content(job.path("whole") + name));
}

TEST_CASE("what a killed process left half written is not taken") {
    const StoreJob job(60'000);
    REQUIRE(job.prepare("whole", 1).counts.problems.empty());
    int calls = 0;
    REQUIRE(job.prepare("killed", 2, [&] { return ++calls > 50'000; }).stopped);
    // Bytes that no save knows of, as they stand there after a kill.
    std::ofstream(job.path("killed/.train.tokens.part"), std::ios::binary | std::ios::app) << "half a text";
    REQUIRE_FALSE(job.prepare("killed").stopped);
    CHECK(content(job.path("killed/train.tokens")) == content(job.path("whole/train.tokens")));
    // Bytes that were saved, altered since.
    calls = 0;
    REQUIRE(job.prepare("altered", 2, [&] { return ++calls > 50'000; }).stopped);
    std::fstream part(job.path("altered/.train.tokens.part"),
                      std::ios::binary | std::ios::in | std::ios::out);
    part.seekp(5000);
    part << '\xff';
    part.close();
    CHECK_THAT(refusal([&] { (void)job.prepare("altered"); }), test::contains("is not what was saved"));
}

TEST_CASE("a store that was altered or cut off is refused, with the block") {
    const StoreJob job(60'000);
    const auto header = job.prepare("store").train;
    REQUIRE(TokenFileHeader::blocks_of(header.token_bytes()) > 3);
    const auto file = job.path("store/train.tokens"), whole = content(file);
    CHECK(whole.size() == header.file_bytes());
    CHECK(header.width == 2);
    const auto with = [&](const std::string& bytes) {
        std::ofstream(file, std::ios::binary) << bytes;
        return refusal([&] {
            const auto folder = data::open_token_folder(job.path("store"));
            std::vector<std::int64_t> tokens;
            for (std::int64_t text = 0; text < folder.train->size(); ++text) (void)folder.train->end(text);
            folder.train->append(0, folder.train->tokens(), tokens);
        });
    };
    const auto altered = [&](std::uint64_t at) {
        auto bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 1);
        return with(bytes);
    };
    CHECK(with(whole).empty());
    const auto blocks = std::to_string(header.blocks());
    CHECK_THAT(altered(4096 + 2 * TokenFileHeader::block_bytes + 77),
               test::contains("train.tokens: block 2 of " + blocks +
                              " was altered: bytes 2101248 to 3149823 do not"));
    CHECK_THAT(altered(4096), test::contains(": block 0 of "));
    CHECK_THAT(altered(header.ends_at() + 3),
               test::contains(": block " + std::to_string(TokenFileHeader::blocks_of(header.token_bytes())) +
                              " of "));
    CHECK_THAT(altered(header.sums_at()), test::contains("its list of checksums was altered"));
    CHECK_THAT(altered(20), test::contains("its header was altered"));
    CHECK_THAT(altered(2), test::contains("is no file of a token store"));
    CHECK_THAT(with(whole.substr(0, 4096 + TokenFileHeader::block_bytes + 9)),
               test::contains(": is cut off from block 1 of " + blocks + " on: it has"));
    CHECK_THAT(with(whole.substr(0, whole.size() - 1)), test::contains(": is cut off: it has"));
    CHECK_THAT(with(whole + "x"), test::contains("has been added to"));
    CHECK_THAT(with(""), test::contains("is no file of a token store"));
    // A block that nobody asks for is not looked at.
    auto bytes = whole;
    bytes[4096 + 2 * TokenFileHeader::block_bytes] ^= 1;
    std::ofstream(file, std::ios::binary) << bytes;
    const data::TokenFile opened(file);
    std::vector<std::int64_t> tokens;
    opened.append(0, 1000, tokens);
    CHECK(tokens.size() == 1000);
    CHECK_THAT(refusal([&] { opened.append(1'000'000, 1'200'000, tokens); }), test::contains("block 2 of"));
}

TEST_CASE("a store whose checksums were put right is refused where it says what cannot be") {
    const StoreJob job(300);
    REQUIRE(job.prepare("store").counts.problems.empty());
    const auto file = job.path("store/train.tokens"), whole = content(file);
    // With other bytes at `at`, of a text's end or of the header, and the checksums of all.
    const auto refused = [&](std::uint64_t at, std::uint64_t value) {
        auto bytes = whole;
        TokenFileHeader header;
        std::memcpy(&header, bytes.data(), sizeof header);
        const auto ends = header.ends_at(), sums = header.sums_at(), blocks = header.blocks();
        REQUIRE(blocks == 2);  // one of tokens, one of ends
        std::memcpy(bytes.data() + at, &value, 8);
        std::memcpy(&header, bytes.data(), sizeof header);
        const auto last = XXH3_64bits(bytes.data() + ends, sums - ends);
        std::memcpy(bytes.data() + sums + 8, &last, 8);
        header.sums = XXH3_64bits(bytes.data() + sums, 16);
        header.checksum = header.own_checksum();
        std::memcpy(bytes.data(), &header, sizeof header);
        std::ofstream(file, std::ios::binary) << bytes;
        return refusal([&] {
            const data::TokenFile opened(file);
            std::vector<std::int64_t> tokens;
            for (std::int64_t text = 0; text < opened.size(); ++text)
                opened.append(opened.begin(text), opened.end(text), tokens);
        });
    };
    const TokenFileHeader header = data::TokenFile(file).header();
    CHECK(refused(offsetof(TokenFileHeader, width), 2) == "");
    const auto sizes = test::contains("its header has sizes that no token store has");
    CHECK_THAT(refused(offsetof(TokenFileHeader, width), 3), sizes);
    CHECK_THAT(refused(offsetof(TokenFileHeader, width), 0), sizes);
    CHECK_THAT(refused(offsetof(TokenFileHeader, tokens), header.tokens + (std::uint64_t{1} << 63)), sizes);
    CHECK_THAT(refused(offsetof(TokenFileHeader, texts), header.texts + (std::uint64_t{1} << 61)), sizes);
    CHECK_THAT(refused(offsetof(TokenFileHeader, longest), header.tokens + 1), sizes);
    const auto end = [&](std::uint64_t text, std::uint64_t value) {
        return refused(header.ends_at() + text * 8, value);
    };
    CHECK_THAT(end(0, 0), test::contains("train.tokens: text 1 is of tokens 0 to 0, but there are "));
    CHECK_THAT(end(1, 1), test::contains("text 2 is of tokens "));
    CHECK_THAT(end(7, ~std::uint64_t{0}), test::contains(" to 18446744073709551615, but there are "));
    CHECK_THAT(end(header.texts - 1, header.tokens + 1), test::contains("but there are "));
    CHECK_THAT(refused(offsetof(TokenFileHeader, longest), 8), test::contains("the longest text has 8"));
}

TEST_CASE("a store of another tokenizer or other keys is refused by their names") {
    const StoreJob job(300);
    REQUIRE(job.prepare("store").counts.problems.empty());
    auto other = job.stored("store");
    other.documents = config::Documents::paragraphs;
    other.eval_fraction = 0.2;
    const auto problems = job.read(LanguageTask::causal, other).problems;
    REQUIRE(problems.size() == 2);
    CHECK(problems[0] == "data.documents: expected rows, with which the token store " + job.path("store") +
                             " was made, got paragraphs; `switchyard data prepare` makes a store with that");
    CHECK_THAT(problems[1], test::contains("data.eval_fraction: expected 0.1, with which"));
    StoreJob pieces = job;
    pieces.tokenizer = data::WordPiece::from_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\ntext\n", "v").tokenizer;
    pieces.data.tokenizer = config::TokenizerKind::wordpiece;
    const auto told = pieces.read(LanguageTask::causal, pieces.stored("store")).problems;
    REQUIRE(told.size() == 1);
    CHECK_THAT(told[0], test::contains("data.vocabulary: expected 261 tokens, XXH3 "));
    CHECK_THAT(told[0], test::contains("was made, got 5 tokens, XXH3 "));
    CHECK_THAT(refusal([&] { (void)pieces.prepare("store"); }),
               test::contains("holds a token store of other texts or another tokenizer"));
    auto beside = job.stored("store");
    beside.train.push_back(job.data.train[0]);
    CHECK_THAT(job.read(LanguageTask::causal, beside).problems.front(),
               test::contains("stands beside other files"));
}

TEST_CASE("a store is found again whatever its tokenizer's files are called") {
    StoreJob job(300);
    data::WordPieceOptions options;
    options.files = {{"tokenizer.json", "{}"}, {"tokenizer_config.json", "{}"}};
    job.tokenizer = data::WordPiece::from_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\ntext\n", "v", options).tokenizer;
    job.data.tokenizer = config::TokenizerKind::wordpiece;
    CHECK_FALSE(job.prepare("store").was_there);
    REQUIRE(fs::exists(job.path("store/tokenizer_config.json")));
    CHECK(job.prepare("store").was_there);
    // Nor are they in the way where a process ended before it wrote store.json.
    fs::remove(job.path("store/store.json"));
    CHECK_FALSE(job.prepare("store").was_there);
    CHECK(data::is_token_folder(job.path("store")));
}

TEST_CASE("stores are sources as texts are") {
    const StoreJob job(500);
    REQUIRE(job.prepare("store").counts.problems.empty());
    auto mixed = job.data;
    mixed.train.clear();
    for (const auto& [name, file, weight] :
         {std::tuple("stored", job.path("store"), 1.0), std::tuple("plain", job.data.train[0], 3.0)}) {
        config::SourceConfig source;
        source.name = name;
        source.files = {file};
        source.weight = weight;
        mixed.sources.push_back(source);
    }
    const auto splits = job.read(LanguageTask::causal, mixed);
    REQUIRE(splits.problems.empty());
    REQUIRE(splits.sources.size() == 2);
    CHECK(splits.sources[0].rows.used == splits.sources[1].rows.used);
    CHECK(splits.sources[1].drawn == splits.sources[1].samples);
    CHECK(splits.sources[0].drawn == (splits.sources[1].drawn + 1) / 3);
    CHECK(splits.eval->size() == splits.eval_rows.used);
}

TEST_CASE("what is wrong with the texts makes no store") {
    const StoreJob job(10);
    StoreJob pieces = job;
    pieces.tokenizer = data::WordPiece::from_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\ntext\n", "v").tokenizer;
    std::ofstream(job.path("train.txt"), std::ios::app) << "bad \xff\n";
    const auto result = pieces.prepare("store");
    REQUIRE(result.counts.problems.size() == 1);
    CHECK_THAT(result.counts.problems[0], test::contains("train.txt:12:5: is not valid UTF-8 at byte 5"));
    CHECK_FALSE(data::is_token_folder(job.path("store")));
    std::ofstream(job.path("notes.md")) << "mine";
    CHECK_THAT(refusal([&] { (void)job.prepare("."); }), test::contains("which is no part of a token store"));
}
