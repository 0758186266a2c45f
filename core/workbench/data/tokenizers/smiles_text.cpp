#include "core/workbench/data/tokenizers/smiles_text.h"

#include <set>

namespace switchyard::data {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string_view first_smiles_token(std::string_view text) {
    constexpr std::string_view single = "BNOSPFIbcnosp().=#-+\\/:~@?>*$C0123456789";
    if (text.empty()) return {};
    if (text[0] == '[') {
        const auto end = text.find(']');
        return end == std::string_view::npos || end == 1 ? std::string_view() : text.substr(0, end + 1);
    }
    if (text[0] == '%') {
        const bool ring = text.size() >= 3 && is_digit(text[1]) && is_digit(text[2]);
        return ring ? text.substr(0, 3) : std::string_view();
    }
    if (text.starts_with("Br") || text.starts_with("Cl")) return text.substr(0, 2);
    return single.find(text[0]) == std::string_view::npos ? std::string_view() : text.substr(0, 1);
}

std::string bracket_fault(std::string_view text) {
    std::set<std::string_view> open_rings;
    std::size_t depth = 0;
    while (!text.empty()) {
        const auto token = first_smiles_token(text);
        if (token.empty()) return std::string{'\'', text[0], '\''}.append(" begins no token");
        text.remove_prefix(token.size());
        if (token == "(") ++depth;
        if (token == ")" && depth-- == 0) return "')' without '('";
        if (!is_digit(token[0]) && token[0] != '%') continue;
        // %05 is ring 5.
        const auto number = token[0] != '%' ? token : token.substr(token[1] == '0' ? 2 : 1);
        if (!open_rings.erase(number)) open_rings.insert(number);
    }
    if (depth > 0) return "'(' without ')'";
    if (!open_rings.empty()) return "ring " + std::string(*open_rings.begin()) + " is not closed";
    return "";
}

}  // namespace switchyard::data
