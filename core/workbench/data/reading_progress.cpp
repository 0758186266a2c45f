#include "core/workbench/data/reading_progress.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace switchyard::data {
namespace {

thread_local const ReadingObserver::See* observer = nullptr;

}  // namespace

ReadingObserver::ReadingObserver(See see) : see_(std::move(see)) { observer = &see_; }

ReadingObserver::~ReadingObserver() { observer = nullptr; }

void ReadingObserver::tell(const ReadingProgress& progress) {
    if (observer != nullptr) (*observer)(progress);
}

double plain_bytes(const std::string& path, RowFormat format) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    const bool packed = path.ends_with(".gz") || path.ends_with(".bz2") || path.ends_with(".zst");
    return error || packed || format == RowFormat::parquet ? 0.0 : static_cast<double>(size);
}

}  // namespace switchyard::data
