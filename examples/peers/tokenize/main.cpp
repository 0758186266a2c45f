// Switchyard's side of examples/peers/tokenizers_peer.py: tokenize TOKENIZER TEXT THREADS. Reads both files,
// says {}, and then for each line of its input numbers all lines of the text once and says how long it took.
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/terminal.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"

namespace data = switchyard::data;

namespace {

std::string bytes_of(const char* path) {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
}

}  // namespace

int main(int argc, char** argv) {
    switchyard::base::guard_terminal();
    if (argc != 4) {
        std::cerr << "usage: tokenize TOKENIZER TEXT THREADS\n";
        return 2;
    }
    std::shared_ptr<const data::Tokenizer> tokenizer;
    try {
        tokenizer = data::read_tokenizer_json(bytes_of(argv[1]), argv[1]);
    } catch (const switchyard::base::InputError& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    const auto text = bytes_of(argv[2]);
    std::vector<std::string_view> lines;
    for (std::string_view rest = text;; rest.remove_prefix(lines.back().size() + 1)) {
        lines.push_back(rest.substr(0, rest.find('\n')));
        if (lines.back().size() == rest.size()) break;
    }
    std::cout << "{}" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        const auto begun = std::chrono::steady_clock::now();
        const auto batch = tokenizer->encode_batch(lines, std::stoul(argv[3]));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        std::uint64_t tokens = 0, checksum = 0;
        for (const auto& ids : batch) {
            tokens += ids.size();
            for (std::size_t i = 0; i < ids.size(); ++i)
                checksum += (i + 1) * (static_cast<std::uint64_t>(ids[i]) + 1);
        }
        std::cout << "{\"seconds\": " << took.count() << ", \"tokens\": " << tokens
                  << ", \"checksum\": " << checksum << "}" << std::endl;
    }
    return 0;
}
