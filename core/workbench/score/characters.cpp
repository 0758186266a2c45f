#include "core/workbench/score/characters.h"

#include <utf8proc.h>

namespace switchyard::score {
namespace {

struct Character {
    utf8proc_int32_t value = -1;  // -1: the byte is no UTF-8
    std::size_t size = 1;
};

Character character_at(std::string_view text, std::size_t at) {
    Character character;
    const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                                        static_cast<utf8proc_ssize_t>(text.size() - at), &character.value);
    if (bytes <= 0) return {};
    character.size = static_cast<std::size_t>(bytes);
    return character;
}

bool is_space(utf8proc_int32_t c) {
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

}  // namespace

std::vector<std::string_view> characters(std::string_view text) {
    std::vector<std::string_view> list;
    for (std::size_t at = 0; at < text.size(); at += list.back().size())
        list.push_back(text.substr(at, character_at(text, at).size));
    return list;
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> list;
    std::size_t begin = 0, at = 0;
    const auto end_word = [&] {
        if (at > begin) list.push_back(text.substr(begin, at - begin));
    };
    while (at < text.size()) {
        const auto character = character_at(text, at);
        if (is_space(character.value)) {
            end_word();
            begin = at + character.size;
        }
        at += character.size;
    }
    end_word();
    return list;
}

std::string_view without_space_at_end(std::string_view text) {
    const auto list = words(text);
    if (list.empty()) return {};
    return text.substr(0, static_cast<std::size_t>(list.back().data() + list.back().size() - text.data()));
}

}  // namespace switchyard::score
