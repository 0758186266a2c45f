// The library that reads Parquet with Arrow C++: column by column as they lie in the file, so that only the
// pages that are read from are in memory, whatever the size of a row group.
#include <array>
#include <charconv>
#include <cmath>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include <arrow/io/file.h>
#include <arrow/memory_pool.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include "core/kernel/base/limits.h"
#include "core/workbench/data/parquet/parquet_table.h"

namespace switchyard::data {
namespace {

constexpr std::int64_t values_at_once = 1024;
constexpr std::int64_t buffer_bytes = 1 << 18;  // of the file, read at once for a column

using State = ParquetValue::State;

void put(const parquet::ByteArray& bytes, bool, ParquetValue& value) {
    value.state = bytes.len > base::limits::line_bytes ? State::too_long : State::text;
    if (value.state == State::text) value.text.assign(reinterpret_cast<const char*>(bytes.ptr), bytes.len);
}

void put(bool truth, bool, ParquetValue& value) {
    value.state = State::text;
    value.text = truth ? "true" : "false";
}

template <class Number>
void put_number(Number number, ParquetValue& value) {
    std::array<char, 64> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    value.state = State::text;
    value.text.assign(digits.data(), end);
}

template <class Number>
requires std::is_arithmetic_v<Number>
void put(Number number, bool is_signed, ParquetValue& value) {
    if constexpr (std::is_integral_v<Number>) {
        if (is_signed) return put_number(number, value);
        return put_number(static_cast<std::make_unsigned_t<Number>>(number), value);
    } else {
        if (!std::isfinite(number)) {
            value.state = State::not_finite;
            return;
        }
        put_number(number, value);
        // As JSON and tables have them: 2.0 is not 2.
        if (value.text.find_first_not_of("-0123456789") == std::string::npos) value.text += ".0";
    }
}

// The values of one column of one row group, one after the other.
class Cursor {
public:
    virtual ~Cursor() = default;
    // False: there is none left.
    virtual bool next(ParquetValue& value) = 0;
};

template <class Type>
class CursorOf final : public Cursor {
public:
    CursorOf(std::shared_ptr<parquet::ColumnReader> reader, bool is_signed)
        : reader_(std::static_pointer_cast<parquet::TypedColumnReader<Type>>(std::move(reader))),
          defined_(reader_->descr()->max_definition_level()),
          is_signed_(is_signed) {}

    bool next(ParquetValue& value) override {
        if (row_ == rows_ && !read_more()) return false;
        value.text.clear();
        value.state = State::null;
        if (levels_[static_cast<std::size_t>(row_++)] == defined_) {
            if (used_ == read_) throw parquet::ParquetException("a page has fewer values than it says");
            put(values_[static_cast<std::size_t>(used_++)], is_signed_, value);
        }
        return true;
    }

private:
    // Texts lie in the reader's page, where they are valid until it reads on.
    bool read_more() {
        row_ = used_ = read_ = 0;
        rows_ = reader_->ReadBatch(values_at_once, levels_.data(), nullptr, values_.data(), &read_);
        return rows_ > 0;
    }

    std::shared_ptr<parquet::TypedColumnReader<Type>> reader_;
    std::array<std::int16_t, values_at_once> levels_{};
    std::array<typename Type::c_type, values_at_once> values_{};
    std::int64_t row_ = 0, rows_ = 0;   // of levels_
    std::int64_t used_ = 0, read_ = 0;  // of values_, which leave out what is null
    std::int16_t defined_;
    bool is_signed_;
};

// What of a leaf's type decides how its values are read.
bool is_unsigned(const parquet::ColumnDescriptor& leaf) {
    const auto& type = *leaf.logical_type();
    return type.is_int() && !static_cast<const parquet::IntLogicalType&>(type).is_signed();
}

bool is_taken(const parquet::ColumnDescriptor& leaf) {
    if (leaf.max_repetition_level() > 0 || leaf.max_definition_level() > 1) return false;
    const auto& type = *leaf.logical_type();
    switch (leaf.physical_type()) {
        case parquet::Type::BYTE_ARRAY:
            return type.is_none() || type.is_string() || type.is_enum() || type.is_JSON();
        case parquet::Type::INT32:
        case parquet::Type::INT64:
            return type.is_none() || type.is_int() || type.is_null();
        case parquet::Type::BOOLEAN:
        case parquet::Type::FLOAT:
        case parquet::Type::DOUBLE:
            return type.is_none() || type.is_null();
        default:
            return false;
    }
}

std::unique_ptr<Cursor> make_cursor(std::shared_ptr<parquet::ColumnReader> reader) {
    const bool is_signed = !is_unsigned(*reader->descr());
    switch (reader->type()) {
        case parquet::Type::BOOLEAN:
            return std::make_unique<CursorOf<parquet::BooleanType>>(std::move(reader), is_signed);
        case parquet::Type::INT32:
            return std::make_unique<CursorOf<parquet::Int32Type>>(std::move(reader), is_signed);
        case parquet::Type::INT64:
            return std::make_unique<CursorOf<parquet::Int64Type>>(std::move(reader), is_signed);
        case parquet::Type::FLOAT:
            return std::make_unique<CursorOf<parquet::FloatType>>(std::move(reader), is_signed);
        case parquet::Type::DOUBLE:
            return std::make_unique<CursorOf<parquet::DoubleType>>(std::move(reader), is_signed);
        case parquet::Type::BYTE_ARRAY:
            return std::make_unique<CursorOf<parquet::ByteArrayType>>(std::move(reader), is_signed);
        default:
            throw parquet::ParquetException("a column of this type is not read");
    }
}

// "Timestamp" of "Timestamp(isAdjustedToUTC=true, ...)".
std::string type_name(const parquet::schema::Node& node, const parquet::ColumnDescriptor& leaf) {
    const auto& type = *node.logical_type();
    auto name = !type.is_none()      ? type.ToString()
                : node.is_group()    ? std::string("group of columns")
                : node.is_repeated() ? std::string("List")
                                     : parquet::TypeToString(leaf.physical_type());
    return name.substr(0, name.find('('));
}

class ArrowTable final : public ParquetTable {
public:
    explicit ArrowTable(const char* path) {
        parquet::ReaderProperties properties(&pool_);
        properties.enable_buffered_stream();
        properties.set_buffer_size(buffer_bytes);
        properties.set_page_checksum_verification(true);
        std::shared_ptr<arrow::io::ReadableFile> file;
        PARQUET_ASSIGN_OR_THROW(file, arrow::io::ReadableFile::Open(path, &pool_));
        file_ = parquet::ParquetFileReader::Open(std::move(file), properties);
        find_columns();
    }

    const std::vector<ParquetColumn>& columns() const override { return columns_; }
    const std::string& fault() const override { return fault_; }

    bool next(const std::vector<std::size_t>& columns, std::vector<ParquetValue>& values) override {
        try {
            while (left_ == 0) {
                if (next_group_ == file_->metadata()->num_row_groups()) return false;
                open_group(columns);
            }
            --left_;
            values.resize(columns.size());
            for (std::size_t i = 0; i < columns.size(); ++i) {
                if (cursors_[i]->next(values[i])) continue;
                fault_ =
                    "column '" + columns_[columns[i]].name + "' has fewer values than its row group has rows";
                return false;
            }
            return true;
        } catch (const std::exception& error) {
            fault_ = error.what();
        } catch (...) {
            fault_ = "an unknown exception was thrown";
        }
        if (fault_.empty()) fault_ = "an exception without words was thrown";
        return false;
    }

private:
    void find_columns() {
        const auto& schema = *file_->metadata()->schema();
        const auto& root = *schema.group_node();
        for (int i = 0; i < root.field_count(); ++i)
            columns_.push_back({root.field(i)->name(), "group of no columns", false});
        leaves_.resize(columns_.size(), -1);
        for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
            const auto index = root.FieldIndex(*schema.GetColumnRoot(leaf));
            if (index < 0) throw parquet::ParquetException("a column is not among those of the schema");
            const auto& node = *root.field(index);
            auto& column = columns_[static_cast<std::size_t>(index)];
            leaves_[static_cast<std::size_t>(index)] = leaf;
            column.type = type_name(node, *schema.Column(leaf));
            column.taken = node.is_primitive() && is_taken(*schema.Column(leaf));
        }
    }

    void open_group(const std::vector<std::size_t>& columns) {
        cursors_.clear();
        group_ = file_->RowGroup(next_group_++);
        for (const auto column : columns) cursors_.push_back(make_cursor(group_->Column(leaves_[column])));
        left_ = group_->metadata()->num_rows();
        if (left_ < 0) throw parquet::ParquetException("a row group has fewer rows than none");
    }

    arrow::CappedMemoryPool pool_{arrow::system_memory_pool(), base::limits::parquet_bytes};
    std::unique_ptr<parquet::ParquetFileReader> file_;
    std::vector<ParquetColumn> columns_;
    std::vector<int> leaves_;  // of each column: where Parquet has its values
    std::shared_ptr<parquet::RowGroupReader> group_;
    std::vector<std::unique_ptr<Cursor>> cursors_;
    int next_group_ = 0;
    std::int64_t left_ = 0;  // rows of the group
    std::string fault_;
};

}  // namespace
}  // namespace switchyard::data

extern "C" __attribute__((visibility("default"))) switchyard::data::ParquetTable* switchyard_open_parquet_v1(
    const char* path, std::string& fault) {
    try {
        return new switchyard::data::ArrowTable(path);
    } catch (const std::exception& error) {
        fault = error.what();
    } catch (...) {
        fault = "an unknown exception was thrown";
    }
    return nullptr;
}
