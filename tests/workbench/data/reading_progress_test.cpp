// How far reading has come, as an observer is told.
#include "core/workbench/data/reading_progress.h"

#include <fstream>
#include <vector>

#include "core/workbench/data/language_data.h"
#include "core/workbench/data/tokenizers/byte_tokenizer.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

std::vector<data::ReadingProgress> told_while_reading(const config::DataConfig& data) {
    std::vector<data::ReadingProgress> told;
    const data::ReadingObserver observer([&](const data::ReadingProgress& at) { told.push_back(at); });
    (void)data::read_language_data(data, {data::LanguageTask::causal, 16, 400, 7},
                                   std::make_shared<data::ByteTokenizer>());
    return told;
}

std::string numbered_lines(const std::string& path, int count) {
    std::ofstream file(path);
    for (int i = 0; i < count; ++i) file << "the line of number " << 1000 + i << "\n";
    return path;
}

}  // namespace

TEST_CASE("an observer is told which share of all files is read, and that they are") {
    const auto folder = test::temporary_dir("reading_progress").string();
    config::DataConfig data;
    data.tokenizer = config::TokenizerKind::bytes;
    data.train = {numbered_lines(folder + "/a.txt", 1024), numbered_lines(folder + "/b.txt", 2048)};
    data.eval = {numbered_lines(folder + "/c.txt", 1024)};
    const auto told = told_while_reading(data);
    REQUIRE(told.size() == 4096 / 256 + 1);
    for (std::size_t i = 0; i + 1 < told.size(); ++i) {
        CAPTURE(i);
        CHECK(told[i].rows == 256 * static_cast<std::int64_t>(i + 1));
        CHECK(told[i].share == test::Approx(static_cast<double>(i + 1) / 16.0));
        CHECK_FALSE(told[i].done);
    }
    CHECK(told.back().done);
    CHECK(told.back().rows == 4096);
}

TEST_CASE("the share is not known where files are packed or read in part") {
    const auto folder = test::temporary_dir("reading_progress").string();
    config::DataConfig data;
    data.tokenizer = config::TokenizerKind::bytes;
    data.train = {numbered_lines(folder + "/a.txt", 512)};
    data.max_rows = 300;
    const auto told = told_while_reading(data);
    REQUIRE(told.size() == 2);
    CHECK(told.front().share == -1.0);
    CHECK(data::plain_bytes(folder + "/a.txt", data::RowFormat::text) > 0.0);
    CHECK(data::plain_bytes(numbered_lines(folder + "/b.txt.gz", 1), data::RowFormat::text) == 0.0);
    CHECK(data::plain_bytes(folder + "/a.txt", data::RowFormat::parquet) == 0.0);
    CHECK(data::plain_bytes(folder + "/none.txt", data::RowFormat::text) == 0.0);
}

TEST_CASE("who observes no longer is told nothing") {
    int told = 0;
    {
        const data::ReadingObserver observer([&](const data::ReadingProgress&) { ++told; });
    }
    data::ReadingObserver::tell({1, 0.5, false});
    CHECK(told == 0);
}
