// safetensors files taken apart and put together by hand, wrong ones too: independent of the reader under
// test.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace switchyard::test {

struct SafetensorsText {
    nlohmann::json header;
    std::string data;

    static SafetensorsText of(const std::string& file) {
        std::uint64_t length = 0;
        std::memcpy(&length, file.data(), sizeof length);
        return {nlohmann::json::parse(file.substr(8, length)), file.substr(8 + length)};
    }
    std::string text() const {
        const auto head = header.dump();
        const std::uint64_t length = head.size();
        std::string file(reinterpret_cast<const char*>(&length), sizeof length);
        return file + head + data;
    }
    std::vector<float> values(const std::string& name) const {
        const auto& offsets = header.at(name).at("data_offsets");
        std::vector<float> all((offsets[1].get<std::size_t>() - offsets[0].get<std::size_t>()) /
                               sizeof(float));
        std::memcpy(all.data(), data.data() + offsets[0].get<std::size_t>(), all.size() * sizeof(float));
        return all;
    }
};

}  // namespace switchyard::test
