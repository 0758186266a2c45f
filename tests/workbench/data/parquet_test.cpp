// Rows of Parquet files, and what those get that are damaged or hold something else. To add a case: add its
// file to tests/fixtures/make_parquet.py.
#include "core/workbench/data/parquet/parquet_rows.h"

#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "core/kernel/base/limits.h"
#include "core/workbench/data/documents.h"
#include "core/workbench/data/splits.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

using Texts = std::vector<std::string>;

struct TableRead {
    Texts rows;         // "row:value|value"
    Texts problems;     // "row:column: message"
    std::string error;  // without the file's name
};

std::string fixture(const std::string& name) {
    return (test::source_dir() / "tests/fixtures/parquet" / name).string();
}

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string text_of(const data::Row& row) {
    std::string text = std::to_string(row.line) + ":";
    for (std::size_t i = 0; i < row.values.size(); ++i) {
        const auto& value = row.values[i];
        text += (i == 0 ? "" : "|") + (value.size() < 100 ? value : std::to_string(value.size()) + " bytes");
    }
    return text;
}

TableRead read_table(const std::string& path, Texts columns) {
    TableRead result;
    data::RowRequest request;
    request.path = path;
    request.columns = std::move(columns);
    request.on_row = [&](const data::Row& row) {
        result.rows.push_back(text_of(row));
        return true;
    };
    request.on_problem = [&](const data::RowProblem& problem) {
        result.problems.push_back(std::to_string(problem.line) + ":" + std::to_string(problem.column) + ": " +
                                  problem.message);
        return true;
    };
    auto done = data::read_formatted_rows(request);
    CHECK(done.rows == static_cast<std::int64_t>(result.rows.size()));
    result.error = std::move(done.error);
    if (result.error.starts_with(path)) result.error.erase(0, path.size());
    return result;
}

// The rows of one column of types.parquet, problems among them.
Texts read_type(const std::string& column) {
    auto result = read_table(fixture("types.parquet"), {column});
    CHECK(result.error.empty());
    result.rows.insert(result.rows.end(), result.problems.begin(), result.problems.end());
    return result.rows;
}

bool built_without() { return data::parquet_library().empty(); }
constexpr auto no_parquet = "built without Parquet";

}  // namespace

TEST_CASE("a build without Parquet says what to do") {
    data::RowRequest request;
    request.path = fixture("reviews_snappy.parquet");
    request.columns = {"text"};
    CHECK(data::read_parquet_rows(request, "").error ==
          request.path + ": this build reads no Parquet: run `./dev setup --parquet` and build again");
    CHECK(data::read_parquet_rows(request, "/nowhere/lib.so").error ==
          request.path +
              ": /nowhere/lib.so, which reads Parquet, cannot be loaded: the loader refuses it: cannot open "
              "shared object file: No such file or directory; run `./dev setup --parquet` and build again");
}

TEST_CASE("what is no Parquet file, or half of one, is told without the library") {
    CHECK(read_table(fixture("no_parquet.parquet"), {"text"}).error ==
          ": is no Parquet file, since it does not begin with PAR1; expected a name that tells what it is");
    CHECK(read_table(fixture("cut.parquet"), {"text"}).error ==
          ": is a Parquet file that is cut off: it does not end with PAR1");
    CHECK_THAT(read_table("/nowhere/a.parquet", {"text"}).error,
               test::contains(": cannot be opened: No such file"));
    const auto folder = test::temporary_dir("parquet");
    std::ofstream(folder / "a.parquet.gz") << "\x1f\x8b anything";
    CHECK_THAT(read_table((folder / "a.parquet.gz").string(), {"text"}).error,
               test::contains(": is packed as a whole; expected a Parquet file"));
    std::ofstream(folder / "encrypted.parquet") << "PARE anything PARE";
    CHECK_THAT(read_table((folder / "encrypted.parquet").string(), {"text"}).error,
               test::contains(": is an encrypted Parquet file"));
    REQUIRE(mkfifo((folder / "pipe.parquet").c_str(), 0600) == 0);
    CHECK_THAT(read_table((folder / "pipe.parquet").string(), {"text"}).error,
               test::contains(": is no regular file; expected one"));
}

TEST_CASE("Parquet is told by its first bytes, and a text that begins with its mark is a text") {
    CHECK(data::is_parquet_file(fixture("named_wrongly.csv")));
    const auto text = (test::temporary_dir("parquet") / "a.txt").string();
    std::ofstream(text) << "PAR1 is the first line\n";
    CHECK_FALSE(data::is_parquet_file(text));
    CHECK(read_table(text, {"text"}).rows == Texts{"1:PAR1 is the first line"});
}

TEST_CASE("a Parquet file is not taken for lines of text") {
    data::RowRequest request;
    request.path = fixture("reviews_snappy.parquet");
    request.columns = {"text"};
    const auto expected = request.path +
                          ": is a Parquet file; expected plain text, of which paragraphs, whole files and "
                          "pairs of lines are made";
    CHECK(data::read_documents(request, config::Documents::paragraphs).error == expected);
    CHECK(data::read_documents(request, config::Documents::files).error == expected);
    CHECK(data::read_line_pairs(request, request.path).error == expected);
}

TEST_CASE("rows of Parquet come in order, whatever they are packed with") {
    if (built_without()) return test::skip(no_parquet);
    Texts expected;
    for (int i = 0; i < 10; ++i) {
        const auto number = std::to_string(i);
        expected.push_back(std::to_string(i + 1) + ":" + (i % 2 == 0 ? "fresh" : "rotten") + "|a film, the " +
                           number + "th: \xC3\xA9t\xC3\xA9|" + number);
    }
    for (const auto* packed : {"none", "snappy", "zstd", "gzip", "pages2"}) {
        INFO(packed);
        const auto result =
            read_table(fixture("reviews_" + std::string(packed) + ".parquet"), {"label", "text", "#0"});
        CHECK(result.rows == expected);
        CHECK(result.problems.empty());
        CHECK(result.error.empty());
    }
    CHECK(read_table(fixture("named_wrongly.csv"), {"label", "text", "id"}).rows == expected);
}

TEST_CASE("reading of Parquet stops when it is told to") {
    if (built_without()) return test::skip(no_parquet);
    data::RowRequest request;
    request.path = fixture("nulls.parquet");
    request.columns = {"text"};
    std::int64_t problems = 0;
    request.on_row = [](const data::Row& row) { return row.line < 3; };
    request.on_problem = [&](const data::RowProblem&) { return ++problems < 2; };
    CHECK(data::read_formatted_rows(request).rows == 2);
    CHECK(problems == 1);
    request.on_row = [](const data::Row&) { return true; };
    problems = 0;
    CHECK(data::read_formatted_rows(request).rows == 3);
    CHECK(problems == 2);
}

TEST_CASE("texts, numbers and booleans of Parquet are taken as text") {
    if (built_without()) return test::skip(no_parquet);
    CHECK(read_type("large_string") == Texts{"1:b", "2:\xE4\xB8\xAD", "3:c"});
    CHECK(read_type("dictionary") == Texts{"1:x", "2:y", "3:x"});
    CHECK(read_type("binary") ==
          Texts{"1:plain", "2:\xC3\xA9", "3:3: has a text for 'binary' that is not valid UTF-8 at byte 5"});
    CHECK(read_type("bool") == Texts{"1:true", "2:false", "3:5: has no text, number or boolean for 'bool'"});
    CHECK(read_type("int8") == Texts{"1:-128", "2:127", "3:6: has no text, number or boolean for 'int8'"});
    CHECK(read_type("uint8") == Texts{"1:0", "2:255", "3:1"});
    CHECK(read_type("uint16") == Texts{"1:0", "2:65535", "3:1"});
    CHECK(read_type("uint32") == Texts{"1:0", "2:4294967295", "3:1"});
    CHECK(read_type("int64")[0] == "1:-9223372036854775808");
    CHECK(read_type("uint64") == Texts{"1:0", "2:18446744073709551615", "3:1"});
    CHECK(read_type("float") ==
          Texts{"1:0.1", "2:-2.0", "3:14: has a number for 'float' that is not finite"});
    CHECK(read_type("double") ==
          Texts{"1:0.1", "2:1e+300", "3:15: has a number for 'double' that is not finite"});
    CHECK(read_type("none").size() == 3);
    CHECK(read_type("none")[1] == "2:16: has no text, number or boolean for 'none'");
}

TEST_CASE("columns of Parquet that hold something else are refused with their type") {
    if (built_without()) return test::skip(no_parquet);
    const auto refusal = [](const std::string& column) {
        const auto result = read_table(fixture("types.parquet"), {"string", column});
        CHECK(result.rows.empty());
        return result.error;
    };
    CHECK(refusal("list") ==
          ":1:17: its column 'list' has values of the type List; expected a text, a number or a boolean in "
          "each row");
    CHECK_THAT(refusal("struct"), test::contains(":1:18: its column 'struct' has values of the type group"));
    CHECK_THAT(refusal("map"), test::contains("of the type Map;"));
    CHECK_THAT(refusal("date"), test::contains("of the type Date;"));
    CHECK_THAT(refusal("time"), test::contains("of the type Timestamp;"));
    CHECK_THAT(refusal("decimal"), test::contains("of the type Decimal;"));
    CHECK_THAT(refusal("half"), test::contains("of the type Float16;"));
}

TEST_CASE("a column that a Parquet file has not, or twice, is an error with those that it has") {
    if (built_without()) return test::skip(no_parquet);
    CHECK(read_table(fixture("reviews_none.parquet"), {"body"}).error ==
          ": has no column 'body'; its columns are 'id', 'text', 'label'");
    CHECK_THAT(read_table(fixture("same_names.parquet"), {"x"}).error, test::contains(": has 2 columns 'x'"));
    CHECK(read_table(fixture("same_names.parquet"), {"#2", "y", "#0"}).rows == Texts{"1:c|b|a"});
    const auto none = read_table(fixture("no_rows.parquet"), {"y"});
    CHECK(none.rows.empty());
    CHECK(none.error.empty());
}

TEST_CASE("what is null in Parquet is told with row and column over pages and row groups") {
    if (built_without()) return test::skip(no_parquet);
    const auto result = read_table(fixture("nulls.parquet"), {"id", "text"});
    CHECK(result.error.empty());
    REQUIRE(result.rows.size() == 3333);
    REQUIRE(result.problems.size() == 1667);
    CHECK(result.rows[1] == "3:2|text 2");
    CHECK(result.rows.back() == "4999:4998|text 4998");
    CHECK(result.problems.front() == "2:1: has no text, number or boolean for 'text'");
    CHECK(result.problems.back() == "5000:1: has no text, number or boolean for 'text'");
}

TEST_CASE("a value of Parquet is told by the numbers of its row and column") {
    if (built_without()) return test::skip(no_parquet);
    data::RowRequest request;
    request.path = fixture("reviews_none.parquet");
    request.columns = {"label", "text"};
    Texts places;
    request.on_row = [&](const data::Row& row) {
        places = {to_string(row.place(0, 0)), to_string(row.place(1, 5))};
        return true;
    };
    CHECK(data::read_formatted_rows(request).rows == 10);
    CHECK(places == Texts{"10:3", "10:2"});
}

TEST_CASE("Parquet is a source as other files are: by pattern, by weight, held out and skipped") {
    if (built_without()) return test::skip(no_parquet);
    config::DataConfig config;
    config.bad_row = config::BadRow::skip;
    config.sources.resize(2);
    config.sources[0].name = "reviews";
    config.sources[0].files = {fixture("reviews_[nsz]*.parquet")};
    config.sources[1].name = "nulls";
    config.sources[1].files = {fixture("nulls.parquet")};
    config.eval_fraction = 0.5;
    data::Splits splits;
    std::int64_t held_out = 0;
    data::read_splits(
        {config, {"text"}},
        [&](const data::RowWay& way, const data::Row&) {
            held_out += way.eval ? 1 : 0;
            return data::RowUse{};
        },
        splits);
    CHECK(splits.problems.empty());
    CHECK(splits.train_rows.used + splits.eval_rows.used == 30 + 3333);
    CHECK(splits.eval_rows.used == held_out);
    CHECK(splits.sources[0].rows.used % 3 == 0);
    REQUIRE(splits.skipped.size() == 1667);
    CHECK(splits.skipped[0].file == fixture("nulls.parquet"));
    CHECK(to_string(splits.skipped[0].place) == "2:1");
    config.bad_row = config::BadRow::error;
    splits = {};
    data::read_splits(
        {config, {"text"}}, [](const data::RowWay&, const data::Row&) { return data::RowUse{}; }, splits);
    CHECK(splits.problems.at(0) ==
          fixture("nulls.parquet") + ":2:1: the row has no text, number or boolean for 'text'");
}

TEST_CASE("a row of Parquet is as long as a line may be") {
    if (built_without()) return test::skip(no_parquet);
    const auto result = read_table(fixture("lengths.parquet"), {"text", "other"});
    CHECK(result.rows == Texts{"1:16777216 bytes|"});
    CHECK(result.problems ==
          Texts{"2:1: is longer than 16777216 bytes", "3:2: is longer than 16777216 bytes"});
    CHECK(read_table(fixture("lengths.parquet"), {"other"}).rows.size() == 3);
}

TEST_CASE("Parquet that unpacks to far more than texts do is refused") {
    if (built_without()) return test::skip(no_parquet);
    const auto result = read_table(fixture("much.parquet"), {"text"});
    CHECK(result.rows.size() == 64);
    CHECK(result.error ==
          ":65:1: its rows unpack to more than 67108864 bytes, which no text of the file's size does; write "
          "them as .jsonl if it is meant");
    // Larger by nothing, between the pages and what tells where they are: then its rows may be as large.
    const auto whole = bytes_of(fixture("much.parquet"));
    std::uint32_t tail = 0;
    std::memcpy(&tail, whole.data() + whole.size() - 8, sizeof tail);
    const auto unpacked = std::uintmax_t{66} << 20;
    const auto size = (unpacked + base::limits::unpacked_ratio - 1) / base::limits::unpacked_ratio;
    const auto path = (test::temporary_dir("parquet") / "larger.parquet").string();
    const auto read_larger = [&](std::uintmax_t bytes) {
        auto larger = whole;
        larger.insert(whole.size() - 8 - tail, bytes - whole.size(), '\0');
        std::ofstream(path, std::ios::binary) << larger;
        return read_table(path, {"text"});
    };
    CHECK(read_larger(size).error.empty());
    CHECK(read_larger(size).rows.size() == 66);
    CHECK_THAT(read_larger(size - 1).error, test::contains(":66:1: its rows unpack to more than "));
    // The memory that Arrow takes is bounded by its own pool: a page beyond it is refused by its number.
    const auto page = read_table(fixture("large_page.parquet"), {"text"});
    CHECK(page.rows.empty());
    CHECK_THAT(page.error, test::contains(":1:1: cannot be read on; its data may be damaged or cut off: "));
    CHECK_THAT(page.error, test::contains("limit=" + std::to_string(base::limits::parquet_bytes)));
}

TEST_CASE("damage in a Parquet file is told where reading got to") {
    if (built_without()) return test::skip(no_parquet);
    const auto page = read_table(fixture("page.parquet"), {"text"});
    CHECK(page.rows.size() == 5);
    CHECK_THAT(page.error, test::contains(":6:1: cannot be read on; its data may be damaged or cut off: "));
    CHECK_THAT(page.error, test::contains("CRC"));
    CHECK(read_table(fixture("page.parquet"), {"label"}).rows.size() == 10);
    CHECK_THAT(read_table(fixture("footer.parquet"), {"text"}).error,
               test::contains(": cannot be read; it may be damaged or cut off: "));
}

TEST_CASE("any byte of a Parquet file may be damaged") {
    if (built_without()) return test::skip(no_parquet);
    const auto whole = bytes_of(fixture("reviews_snappy.parquet"));
    const auto path = (test::temporary_dir("parquet") / "damaged.parquet").string();
    for (std::size_t at = 4; at + 4 < whole.size(); at += 2) {
        auto damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
        std::ofstream(path, std::ios::binary) << damaged;
        const auto result = read_table(path, {"label", "text", "id"});  // throws nothing, and ends
        CHECK(result.rows.size() + result.problems.size() <= 10'000);
    }
}
