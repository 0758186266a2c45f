// How far reading the files of a job has come, for whoever wants to show it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/workbench/data/row_place.h"

namespace switchyard::data {

struct ReadingProgress {
    std::int64_t rows = 0;  // read and tokenized
    double share = -1.0;    // of the bytes of all files; negative: not known
    bool done = false;
};

// While it lives, read_splits (splits.h) on this thread tells it how far it is: now and then, and when it is
// done. One at a time on a thread.
class ReadingObserver {
public:
    using See = std::function<void(const ReadingProgress&)>;
    explicit ReadingObserver(See see);
    ~ReadingObserver();
    ReadingObserver(const ReadingObserver&) = delete;
    ReadingObserver& operator=(const ReadingObserver&) = delete;

    // Nothing happens where nobody observes this thread.
    static void tell(const ReadingProgress& progress);

private:
    See see_;
};

// Bytes of a file whose rows take up just these; 0: not known, for it is packed, or Parquet, or not there.
double plain_bytes(const std::string& path, RowFormat format);

}  // namespace switchyard::data
