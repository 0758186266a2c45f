#include "core/workbench/train/tensorboard.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include <unistd.h>

#include <boost/crc.hpp>

namespace switchyard::train {
namespace {

// Protocol-buffer wire format: a tag is (field << 3) | wire type, integers are base-128 with the low group
// first.
void put_varint(std::string& out, std::uint64_t value) {
    while (value >= 128) {
        out += static_cast<char>((value & 127U) | 128U);
        value >>= 7;
    }
    out += static_cast<char>(value);
}

template <class T>
void put_raw(std::string& out, T value) {
    std::array<char, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &value, sizeof(T));
    out.append(bytes.data(), bytes.size());
}

void put_bytes(std::string& out, char tag, std::string_view bytes) {
    out += tag;
    put_varint(out, bytes.size());
    out += bytes;
}

std::string event_head(double wall_time) {
    std::string event;
    event += '\x09';  // wall_time = 1, 64-bit
    put_raw(event, wall_time);
    return event;
}

std::string event_head(double wall_time, std::int64_t step) {
    std::string event = event_head(wall_time);
    event += '\x10';  // step = 2
    put_varint(event, static_cast<std::uint64_t>(step));
    return event;
}

// CRC-32C (Castagnoli), then TensorFlow's rotation, so that a CRC of data that holds CRCs stays useful.
std::uint32_t masked_crc(std::string_view bytes) {
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return std::rotr(static_cast<std::uint32_t>(crc.checksum()), 15) + 0xA282EAD8U;
}

std::string file_name(double wall_time) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return "events.out.tfevents." + std::to_string(static_cast<std::int64_t>(std::floor(wall_time))) + "." +
           host.data() + "." + std::to_string(::getpid());
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::string& folder, double wall_time)
    : path_(folder + "/" + file_name(wall_time)), file_(path_, std::ios::binary) {
    if (!file_) throw std::runtime_error("cannot write " + path_);
    std::string event = event_head(wall_time);
    put_bytes(event, '\x1a', "brain.Event:2");  // file_version = 3
    record(event);
}

void TensorBoardWriter::starts(double wall_time, std::int64_t step) {
    std::string event = event_head(wall_time, step);
    put_bytes(event, '\x3a', "\x08\x01");  // session_log = 7, in it status = 1: START = 1
    record(event);
}

void TensorBoardWriter::scalars(double wall_time, std::int64_t step,
                                const std::vector<std::pair<std::string, double>>& values) {
    std::string summary;
    for (const auto& [tag, value] : values) {
        std::string entry;
        put_bytes(entry, '\x0a', tag);  // tag = 1
        entry += '\x15';                // simple_value = 2, 32-bit
        put_raw(entry, static_cast<float>(value));
        put_bytes(summary, '\x0a', entry);  // value = 1
    }
    std::string event = event_head(wall_time, step);
    put_bytes(event, '\x2a', summary);  // summary = 5
    record(event);
}

void TensorBoardWriter::record(std::string_view event) {
    std::string length;
    put_raw(length, static_cast<std::uint64_t>(event.size()));
    std::string out = length;
    put_raw(out, masked_crc(length));
    out += event;
    put_raw(out, masked_crc(event));
    file_.write(out.data(), static_cast<std::streamsize>(out.size()));
}

}  // namespace switchyard::train
