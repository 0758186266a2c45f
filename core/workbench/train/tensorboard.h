// Scalars as a TensorBoard event file.
//
// Format: records of { u64 length, masked CRC-32C of it, bytes, masked CRC-32C of them }
// (tensorflow/core/lib/io/record_writer.h), each holding an Event message (tensorflow/core/util/event.proto)
// of which only wall_time, step, file_version, simple_value scalars and the start of a session are written
// here: few enough fields to encode by hand instead of bringing protobuf.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace switchyard::train {

class TensorBoardWriter {
public:
    // Makes `folder`/events.out.tfevents.<seconds>.<host>.<pid>. Throws std::runtime_error naming the file if
    // it cannot.
    TensorBoardWriter(const std::string& folder, double wall_time);

    // A run begins with that step, or goes on with it: TensorBoard forgets what this file and older ones of
    // the folder have of it and of later ones.
    void starts(double wall_time, std::int64_t step);
    void scalars(double wall_time, std::int64_t step,
                 const std::vector<std::pair<std::string, double>>& values);
    // False: what was written did not reach the file.
    bool flush() { return static_cast<bool>(file_.flush()); }
    const std::string& path() const { return path_; }

private:
    void record(std::string_view event);

    std::string path_;
    std::ofstream file_;
};

}  // namespace switchyard::train
