// A data file in every format: rows in the order of their lines, each with the columns that were asked for;
// and the same rows when it is packed.
#include <sstream>

#include <boost/iostreams/filter/bzip2.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_stream.hpp>

#include "core/workbench/data/byte_source.h"
#include "core/workbench/data/documents.h"
#include "core/workbench/data/rows.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace data = switchyard::data;
using data::RowFormat;

struct Taken {
    std::vector<data::Row> rows;
    std::string error;
    bool operator==(const Taken& other) const {
        if (error.empty() != other.error.empty() || rows.size() != other.rows.size()) return false;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (rows[i].line != other.rows[i].line || rows[i].values != other.rows[i].values) return false;
        }
        return true;
    }
};

Taken read(const std::string& path, RowFormat format, const std::vector<std::string>& columns) {
    Taken taken;
    data::RowRequest request;
    request.path = path;
    request.format = format;
    request.columns = columns;
    request.on_problem = [](const data::RowProblem& problem) {
        require(problem.line > 0, "a problem without a line", problem.message);
        require_message(problem.message);
        return true;
    };
    request.on_row = [&](data::Row& row) {
        const auto before = taken.rows.empty() ? 0 : taken.rows.back().line;
        require(row.line > before, "rows are not in the order of their lines");
        require(row.values.size() == columns.size(), "a row lacks columns");
        taken.rows.push_back(std::move(row));
        return true;
    };
    const auto result = data::read_rows(request);
    taken.error = result.error;
    if (result.error.empty())
        require(result.rows == static_cast<std::int64_t>(taken.rows.size()), "the count of rows is wrong");
    else
        require_message(result.error);
    return taken;
}

template <class Compressor>
std::string packed(std::string_view text) {
    std::ostringstream result;
    boost::iostreams::filtering_ostream stream;
    stream.push(Compressor());
    stream.push(result);
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    stream.reset();
    return result.str();
}

void require_same_packed(std::string_view text, RowFormat format, const std::vector<std::string>& columns,
                         const Taken& plain) {
    if (data::packing_of(text) != data::Packing::none) return;  // what is unpacked is not unpacked again
    const InputFile gzip(packed<boost::iostreams::gzip_compressor>(text));
    require(read(gzip.path(), format, columns) == plain, "a gzip file has other rows than its content");
    const InputFile bzip2(packed<boost::iostreams::bzip2_compressor>(text));
    require(read(bzip2.path(), format, columns) == plain, "a bzip2 file has other rows than its content");
    const InputFile zstd(packed<boost::iostreams::zstd_compressor>(text));
    require(read(zstd.path(), format, columns) == plain, "a zstd file has other rows than its content");
}

void read_as_documents(const std::string& path) {
    for (const auto kind :
         {switchyard::config::Documents::paragraphs, switchyard::config::Documents::files}) {
        data::RowRequest request;
        request.path = path;
        request.columns = {"text"};
        request.on_row = [](data::Row& row) {
            require(row.values.size() == 1, "a document is not one text");
            return true;
        };
        (void)data::read_documents(request, kind);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto text = text_of(bytes, size);
    const InputFile file(text);
    const std::vector<std::string> first{"#0"}, second{"#1", "#0"}, named{"text", "label"}, plain{"text"};
    for (const auto format : {RowFormat::tsv, RowFormat::csv, RowFormat::tab}) {
        (void)read(file.path(), format, first);
        (void)read(file.path(), format, second);
        (void)read(file.path(), format, named);
    }
    (void)read(file.path(), RowFormat::jsonl, named);
    (void)read(file.path(), RowFormat::jsonl, plain);
    const auto lines = read(file.path(), RowFormat::text, plain);
    require_same_packed(text, RowFormat::text, plain, lines);
    read_as_documents(file.path());
    return 0;
}
