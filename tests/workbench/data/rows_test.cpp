// Rows of text files in all formats and packings, and what damaged ones get. To add a case: write the file's
// text into `read`.
#include "core/workbench/data/rows.h"

#include <csignal>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include <boost/iostreams/filter/bzip2.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_stream.hpp>

#include <sys/stat.h>

#include "core/kernel/base/limits.h"

#include <switchyard_test.h>

using namespace switchyard;
using data::RowFormat;

namespace {

struct Read {
    std::vector<std::string> rows;      // "line:value|value"
    std::vector<std::string> problems;  // "line:message"
    std::string error;
};

std::string file_with(const std::string& bytes, const std::string& name) {
    const auto path = test::temporary_dir("rows").string() + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

Read read(const std::string& bytes, RowFormat format, std::vector<std::string> columns) {
    Read result;
    data::RowRequest request;
    request.path = file_with(bytes, "data");
    request.format = format;
    request.columns = std::move(columns);
    request.on_row = [&](data::Row& row) {
        std::string text = std::to_string(row.line) + ":";
        for (std::size_t i = 0; i < row.values.size(); ++i) text += (i == 0 ? "" : "|") + row.values[i];
        result.rows.push_back(text);
        return true;
    };
    request.on_problem = [&](const data::RowProblem& problem) {
        result.problems.push_back(std::to_string(problem.line) + ":" + std::to_string(problem.column) + ":" +
                                  problem.message);
        return true;
    };
    result.error = data::read_rows(request).error;
    const auto place = result.error.find(request.path);
    if (place == 0) result.error.erase(0, request.path.size());
    return result;
}

using Texts = std::vector<std::string>;

template <class Filter>
std::string packed(const std::string& text, const Filter& filter) {
    std::ostringstream out;
    boost::iostreams::filtering_ostream stream;
    stream.push(filter);
    stream.push(out);
    stream << text;
    boost::iostreams::close(stream);
    return out.str();
}

// Lines of a FIFO that somebody writes these bytes into.
struct ReadPipe {
    std::size_t bytes = 0;  // with the ends of lines
    std::string error;      // behind the path
};

ReadPipe read_pipe(const std::string& bytes) {
    const auto path = test::temporary_dir("rows").string() + "/pipe";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    auto* const before = std::signal(SIGPIPE, SIG_IGN);  // who reads may not read all
    std::thread writer([&] { std::ofstream(path, std::ios::binary) << bytes; });
    ReadPipe result;
    data::RowRequest request;
    request.path = path;
    request.format = RowFormat::text;
    request.columns = {"text"};
    request.on_row = [&](data::Row& row) {
        result.bytes += row.values[0].size() + 1;
        return true;
    };
    result.error = data::read_rows(request).error;
    writer.join();
    std::signal(SIGPIPE, before);
    if (result.error.starts_with(path)) result.error.erase(0, path.size());
    return result;
}

}  // namespace

TEST_CASE("text gives each line") {
    CHECK(read("a\r\n\nb", RowFormat::text, {"text"}).rows == Texts{"1:a", "2:", "3:b"});
}

TEST_CASE("tsv takes columns by name or number") {
    CHECK(read("x\ty\tz\n1\t2\t3\n4\t5\t6\n", RowFormat::tsv, {"z", "x"}).rows == Texts{"2:3|1", "3:6|4"});
    CHECK(read("1\t2\n3\t4\n", RowFormat::tsv, {"#1"}).rows == Texts{"1:2", "2:4"});
}

TEST_CASE("csv follows RFC 4180") {
    const auto result =
        read("a,b\n\"x, y\",\"say \"\"hi\"\"\"\n\"two\nlines\",z\n,\"\"\n", RowFormat::csv, {"a", "b"});
    CHECK(result.rows == Texts{"2:x, y|say \"hi\"", "3:two\nlines|z", "5:|"});
    CHECK(result.problems.empty());
}

TEST_CASE("Orange's tables have three header lines") {
    CHECK(read("Category\tText\nd\tstring\nclass\t\n\na.b\thi there\n", RowFormat::tab, {"Text"}).rows ==
          Texts{"5:hi there"});
    CHECK(data::format_of("a/20news.tab") == RowFormat::tab);
}

TEST_CASE("jsonl takes keys; numbers and booleans as text") {
    const auto result =
        read("{\"t\":\"a\",\"l\":1}\n\n{\"t\":true,\"l\":-2.5}\n", RowFormat::jsonl, {"l", "t"});
    CHECK(result.rows == Texts{"1:1|a", "3:-2.5|true"});
}

TEST_CASE("malformed rows are told with their line and the others are read") {
    CHECK(read("a,b\n1\n2,3\n4,5,6\n", RowFormat::csv, {"b"}).problems ==
          Texts{"2:2:has 1 column, expected 2", "4:5:has 3 columns, expected 2"});
    CHECK(read("a\tb\n1\n2\t3\n", RowFormat::tsv, {"b"}).rows == Texts{"3:3"});
    CHECK(read("a\n\"never closed\n", RowFormat::csv, {"a"}).problems ==
          Texts{"2:1:has a quoted field that is never closed; expected a quotation mark at its end"});
    CHECK(read("{\"x\":1}\n[1]\n{\"t\":{}}\n", RowFormat::jsonl, {"t"}).problems ==
          Texts{"1:1:has no key 't'", "2:1:is a list; expected a JSON object",
                "3:6:has no text, number or boolean for 't'"});
}

TEST_CASE("a column that is not there is an error with those that are") {
    CHECK(read("a,b\n1,2\n", RowFormat::csv, {"c"}).error ==
          ":1:1: has no column 'c'; its columns are 'a', 'b'");
    CHECK(read("a\n", RowFormat::text, {"body"}).error ==
          ": a text file has the one column 'text', not 'body'");
}

TEST_CASE("gzip and bzip2 are told by their bytes, and damage is an error") {
    const std::string text = "a\tb\n1\t2\n";
    CHECK(read(packed(text, boost::iostreams::gzip_compressor()), RowFormat::tsv, {"b"}).rows ==
          Texts{"2:2"});
    const auto bz2 = packed(text, boost::iostreams::bzip2_compressor());
    CHECK(read(bz2, RowFormat::tsv, {"b"}).rows == Texts{"2:2"});
    CHECK(read(bz2.substr(0, bz2.size() / 2), RowFormat::tsv, {"b"}).error ==
          ": its packed data is damaged or cut off");
}

TEST_CASE("a packed file is unpacked once, also where its text begins like a packed file") {
    for (const std::string start : {"\x1f\x8b", "BZh", "\x28\xb5\x2f\xfd"}) {
        const auto text = start + " is how it begins\n";
        const auto inside =
            read(packed(text, boost::iostreams::gzip_compressor()), RowFormat::text, {"text"});
        CHECK(inside.error == "");
        CHECK(read(packed("line\n" + text, boost::iostreams::zstd_compressor()), RowFormat::text, {"text"})
                  .rows.size() == inside.rows.size() + 1);
    }
}

TEST_CASE("zstd is told by its bytes, in one frame or several, and data that was cut off is an error") {
    std::string text = "n\n";
    for (int i = 0; i < 60'000; ++i) text += std::to_string(i * 7919LL % 100'003) + "\n";
    const auto frame = packed(text, boost::iostreams::zstd_compressor());
    REQUIRE(frame.size() > 30'000);
    const auto rows = [](const std::string& bytes) { return read(bytes, RowFormat::tsv, {"n"}); };
    CHECK(rows(frame).rows == rows(text).rows);
    CHECK(rows(frame + packed(text, boost::iostreams::zstd_compressor())).rows.size() == 120'001);
    const std::string skippable("\x50\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);
    CHECK(rows(frame + skippable).rows == rows(text).rows);
    for (const std::size_t cut : {std::size_t{1}, std::size_t{2}, frame.size() / 2, frame.size() - 5}) {
        INFO(cut);
        CHECK(rows(frame.substr(0, frame.size() - cut)).error == ": its packed data is damaged or cut off");
    }
    std::string large;
    while (large.size() < std::size_t{80} << 20) large += std::string(1023, 'x') + "\n";
    const auto bomb = packed(large, boost::iostreams::zstd_compressor());
    CHECK_THAT(read(bomb, RowFormat::text, {"text"}).error,
               test::contains("unpacks to more than 67108864 bytes"));
    CHECK(data::format_of("a/b.csv.zst") == RowFormat::csv);
}

TEST_CASE("the place of a value is found again in the row, whatever stands before it") {
    struct Case {
        std::string text;
        RowFormat format;
        std::vector<std::string> columns;
        std::string places;  // of the second byte of the last column, in each row
    };
    const auto c = GENERATE(values<Case>({
        {"a\tb\nxy\tz!\n", RowFormat::tsv, {"a", "b"}, "2:5 "},
        {"a,b\n\"x, y\",z!\n", RowFormat::csv, {"a", "b"}, "2:9 "},
        {"a,b\n\"two\nlines\",\"z!\"\n", RowFormat::csv, {"a", "b"}, "3:10 "},
        {"a,b\n\"say \"\"hi\"\"\",\"\"\"!\"\nq,r!\n", RowFormat::csv, {"a", "b"}, "2:17 3:4 "},
        {"{\"a\": {\"b\": 1}, \"b\" : \"z!\"}\n", RowFormat::jsonl, {"b"}, "1:23 "},
        {"some words\n", RowFormat::text, {"text"}, "1:2 "},
    }));
    data::RowRequest request;
    request.path = file_with(c.text, "places");
    request.format = c.format;
    request.columns = c.columns;
    std::string places;
    request.on_row = [&](data::Row& row) {
        places += to_string(row.place(row.values.size() - 1, 1)) + " ";
        return true;
    };
    CHECK(data::read_rows(request).error.empty());
    INFO(c.text);
    CHECK(places == c.places);
}

TEST_CASE("a quotation mark that is not closed is told where it opens") {
    CHECK(read("a,b\n1,2\n3,\"4\n5,6\n", RowFormat::csv, {"b"}).problems ==
          Texts{"3:3:has a quoted field that is never closed; expected a quotation mark at its end"});
}

TEST_CASE("files that cannot be read say why") {
    data::RowRequest request;
    request.path = "/nowhere/x.tsv";
    CHECK_THAT(data::read_rows(request).error, test::contains("/nowhere/x.tsv: cannot be opened"));
    request.path = test::source_dir().string();
    CHECK_THAT(data::read_rows(request).error, test::contains("is a folder; expected a file"));
}

TEST_CASE("a line is read up to its limit, and a longer one is told and passed over") {
    const std::string most(base::limits::line_bytes, 'x'), more = most + "x";
    const auto border = ":" + std::to_string(base::limits::line_bytes + 1) + ":";
    const auto too_long = "is longer than " + std::to_string(base::limits::line_bytes) + " bytes";
    const auto lengths = [](const Read& read) {
        Texts all = read.problems;
        for (const auto& row : read.rows) all.push_back(std::to_string(row.size()));
        return all;
    };
    const auto size = std::to_string(most.size() + 2);  // with "1:"
    CHECK(lengths(read(most + "\nb\n", RowFormat::text, {"text"})) == Texts{size, "3"});
    CHECK(lengths(read(more + "\nb\n", RowFormat::text, {"text"})) == Texts{"1" + border + too_long, "3"});
    CHECK(lengths(read("a\n" + more + "\nb\n", RowFormat::tsv, {"a"})) ==
          Texts{"2" + border + too_long, "3"});
    CHECK(lengths(read("a\n" + more + "\nb\n", RowFormat::csv, {"a"})) ==
          Texts{"2" + border + too_long, "3"});
    CHECK(read(more + "\n1\n", RowFormat::csv, {"a"}).error == ":1" + border + " " + too_long);
    CHECK(lengths(read("{\"a\":\"" + more + "\"}\n{\"a\":1}\n", RowFormat::jsonl, {"a"})) ==
          Texts{"1" + border + too_long, "3"});
}

TEST_CASE("a quoted field that runs over lines is read up to the limit of a line") {
    const std::string line(1023, 'x');
    std::string text = "a\n\"" + line + "\n";
    for (std::size_t bytes = 0; bytes < 2 * base::limits::line_bytes; bytes += line.size() + 1)
        text += line + "\n";
    const auto result = read(text, RowFormat::csv, {"a"});
    REQUIRE_FALSE(result.problems.empty());
    CHECK_THAT(result.problems.front(), test::contains("2:1:is longer than "));
    CHECK_THAT(result.problems.front(), test::contains("is a quotation mark not closed?"));
}

TEST_CASE("packed data that unpack to more than any text does are refused where they do") {
    const std::string line((1U << 20) - 1, 'x');
    const auto bomb = [&](std::size_t lines, const std::string& end, const std::string& rest) {
        std::string text;
        for (std::size_t i = 0; i < lines; ++i) text += line + end;
        return packed(text + rest, boost::iostreams::gzip_compressor());
    };
    const auto most = base::limits::unpacked_bytes >> 20;
    CHECK(read(bomb(most, "\n", ""), RowFormat::text, {"text"}).error.empty());
    const auto refused = ": unpacks to more than " + std::to_string(base::limits::unpacked_bytes) +
                         " bytes, which no text of its size does; unpack it first if it is meant";
    CHECK(read(bomb(most, "\n", "x"), RowFormat::text, {"text"}).error == refused);
    // One row that never ends takes no more memory than a row may.
    CHECK(read(bomb(most + 1, "", ""), RowFormat::tsv, {"a"}).error == refused);
}

TEST_CASE("packed data unpack to so many times the size of their file, and to not a byte more") {
    // A file that may unpack to more than what every file may.
    constexpr auto size = base::limits::unpacked_bytes / base::limits::unpacked_ratio + 1000,
                   most = size * base::limits::unpacked_ratio;
    const auto error_of = [&](std::size_t bytes) {
        std::string text(bytes, 'x');
        for (std::size_t end = std::size_t{1} << 20; end < text.size(); end += std::size_t{1} << 20)
            text[end] = '\n';
        auto file = packed(text, boost::iostreams::gzip_compressor());
        // Made as large by a comment behind the ten bytes of its head (RFC 1952).
        REQUIRE(file.size() < size);
        REQUIRE(file[3] == 0);
        file[3] = 0x10;
        file.insert(10, std::string(size - file.size() - 1, 'c') + '\0');
        return read(file, RowFormat::text, {"text"}).error;
    };
    CHECK(error_of(most) == "");
    CHECK(error_of(most + 1) == ": unpacks to more than " + std::to_string(most) +
                                    " bytes, which no text of its size does; unpack it first if it is meant");
}

TEST_CASE("packed data that come through a pipe may be as large as those of a file of what was read") {
    std::mt19937 random(7);
    std::string letters, text;
    for (int line = 0; line < 1024; ++line) {
        for (int i = 0; i < 1023; ++i) letters += static_cast<char>('a' + random() % 26);
        letters += '\n';
    }
    while (text.size() < base::limits::unpacked_bytes + (std::size_t{16} << 20)) text += letters;
    const boost::iostreams::gzip_compressor quick(boost::iostreams::gzip::best_speed);
    const auto ordinary = read_pipe(packed(text, quick));
    CHECK(ordinary.error == "");
    CHECK(ordinary.bytes == text.size());
    text.assign(text.size(), 'x');
    for (std::size_t end = std::size_t{1} << 20; end < text.size(); end += std::size_t{1} << 20)
        text[end] = '\n';
    const auto bomb = read_pipe(packed(text, boost::iostreams::gzip_compressor()));
    CHECK(bomb.error == ": unpacks to more than " + std::to_string(base::limits::unpacked_bytes) +
                            " bytes, which no text of its size does; unpack it first if it is meant");
}

TEST_CASE("a file that is something else than its name says is told as what it is") {
    CHECK(read("text;label\na;b\n", RowFormat::csv, {"text"}).error ==
          ":1:1: has no column 'text'; its columns are 'text;label'; it is separated by semicolons: expected "
          "commas "
          "between columns, or tabs in a file named .tsv");
    CHECK_THAT(read("text\tlabel\n", RowFormat::csv, {"text"}).error,
               test::contains("it is separated by tabs: name it .tsv"));
    CHECK_THAT(read("text,label\n", RowFormat::tsv, {"text"}).error,
               test::contains("it is separated by commas: name it .csv"));
    CHECK(read("\n [\n{\"t\": 1}]\n", RowFormat::jsonl, {"t"}).error ==
          ":2:2: is a JSON array; expected one JSON object a line (`jq -c '.[]'` makes them)");
}

TEST_CASE("a row that is not JSON says where in it and why") {
    CHECK_THAT(read("{\"t\": \"a\"}\n{\"t\": nan}\n", RowFormat::jsonl, {"t"}).problems.at(0),
               test::contains("2:8:is not valid JSON at column 8: "));
    CHECK_THAT(read(std::string(60'000, '{'), RowFormat::jsonl, {"t"}).problems.at(0),
               test::contains("1:2:is not valid JSON at column 2: "));
    CHECK_THAT(read("{\"t\":" + std::string(60'000, '['), RowFormat::jsonl, {"t"}).problems.at(0),
               test::contains("lists and objects inside each other"));
}

TEST_CASE("a header of many columns is quoted in part") {
    std::string header = "c0";
    for (int i = 1; i < 100; ++i) header += ",c" + std::to_string(i);
    const auto error = read(header + "\n", RowFormat::csv, {"text"}).error;
    CHECK_THAT(error, test::contains("'c19' and 80 more"));
    CHECK(read(std::string(100'000, 'x') + ",b\n", RowFormat::csv, {"text"}).error.size() < 400);
}

TEST_CASE("formats are told by name, packing left aside") {
    CHECK(data::format_of("a/b.csv.bz2") == RowFormat::csv);
    CHECK(data::format_of("b.tsv.gz") == RowFormat::tsv);
    CHECK(data::format_of("b.jsonl") == RowFormat::jsonl);
    CHECK(data::format_of("b.smi") == RowFormat::text);
    CHECK(data::format_of("b.parquet") == RowFormat::parquet);
    CHECK_FALSE(data::format_of("b.orc"));
}

TEST_CASE("a file whose reading fails is told with the system's reason, not as packed data") {
    // Nothing is mapped at address 0 of this process, and to read there is an error (proc(5)).
    data::RowRequest request;
    request.path = "/proc/self/mem";
    request.columns = {"text"};
    request.on_row = [](data::Row&) { return true; };
    CHECK(data::read_rows(request).error == "/proc/self/mem: cannot be read: Input/output error");
}
