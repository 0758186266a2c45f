#include "core/workbench/data/tokenizers/pipeline/expression_syntax.h"

#include <array>
#include <utility>
#include <vector>

#include "core/kernel/base/printable.h"

namespace switchyard::data {
namespace {

// White_Space, inside of a class; PCRE2's own \s has U+180E too.
constexpr std::string_view white_space =
    R"(\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view no_white_space =
    R"(\x00-\x08\x0e-\x1f\x21-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027})"
    R"(\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
// Alphabetic, marks, decimal numbers, connectors; the last ranges are letters in circles and squares.
constexpr std::string_view word =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";

// \w by itself takes these numbers of Latin-1 too, and so do word boundaries; in a class it does not.
constexpr std::string_view latin_numbers = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

constexpr std::array<std::pair<std::string_view, std::string_view>, 38> long_categories{
    {{"other", "C"},
     {"control", "Cc"},
     {"format", "Cf"},
     {"unassigned", "Cn"},
     {"privateuse", "Co"},
     {"surrogate", "Cs"},
     {"letter", "L"},
     {"lowercaseletter", "Ll"},
     {"modifierletter", "Lm"},
     {"otherletter", "Lo"},
     {"titlecaseletter", "Lt"},
     {"uppercaseletter", "Lu"},
     {"mark", "M"},
     {"spacingmark", "Mc"},
     {"enclosingmark", "Me"},
     {"nonspacingmark", "Mn"},
     {"number", "N"},
     {"decimalnumber", "Nd"},
     {"letternumber", "Nl"},
     {"othernumber", "No"},
     {"punctuation", "P"},
     {"connectorpunctuation", "Pc"},
     {"dashpunctuation", "Pd"},
     {"closepunctuation", "Pe"},
     {"finalpunctuation", "Pf"},
     {"initialpunctuation", "Pi"},
     {"otherpunctuation", "Po"},
     {"openpunctuation", "Ps"},
     {"symbol", "S"},
     {"currencysymbol", "Sc"},
     {"modifiersymbol", "Sk"},
     {"mathsymbol", "Sm"},
     {"othersymbol", "So"},
     {"separator", "Z"},
     {"lineseparator", "Zl"},
     {"paragraphseparator", "Zp"},
     {"spaceseparator", "Zs"},
     {"digit", "Nd"}}};

// Properties that Oniguruma makes of several categories, and PCRE2 does not know by that name or otherwise.
constexpr std::array<std::string_view, 13> composed_properties{"alnum",  "alpha", "blank", "cntrl", "graph",
                                                               "lower",  "print", "punct", "space", "upper",
                                                               "xdigit", "word",  "ascii"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> brackets{
    {{"punct", R"(\p{P}\p{S})"}, {"space", white_space}, {"digit", R"(\p{Nd})"}, {"word", word}}};

std::string simple_name(std::string_view name) {
    std::string simple;
    for (const char c : name) {
        if (c == ' ' || c == '-' || c == '_') continue;
        simple += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
    return simple;
}

class ExpressionTranslator {
public:
    explicit ExpressionTranslator(std::string_view text) : text_(text) {}

    TranslatedExpression translate() {
        while (error_.empty() && at_ < text_.size()) step();
        if (error_.empty()) return {std::move(out_), ""};
        return {"", error_ + " at byte " + std::to_string(at_ + 1)};
    }

private:
    bool ahead(std::string_view what) const { return text_.substr(at_).starts_with(what); }

    void refuse(const std::string& what) {
        if (error_.empty()) error_ = what + " is not taken";
    }

    void copy(std::size_t bytes) {
        out_ += text_.substr(at_, bytes);
        at_ += bytes;
    }

    void begin_atom() { atom_ = out_.size(); }

    void step() {
        const char c = text_[at_];
        if (c == '\\') {
            begin_atom();
            escape(false);
        } else if (c == '[') {
            begin_atom();
            set();
        } else if (c == '(') {
            open();
        } else if (c == ')') {
            if (groups_.empty()) return refuse("')' without '('");
            atom_ = groups_.back();
            groups_.pop_back();
            copy(1);
        } else if (c == '|') {
            copy(1);
            begin_atom();
        } else if (c == '*' || c == '+' || c == '?' || c == '{') {
            quantifier();
        } else {
            begin_atom();
            copy(1);
            while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xC0U) == 0x80U) copy(1);
        }
    }

    // "(?...": which groups mean the same in both, and with which options. (?m) is PCRE2's (?s).
    void open() {
        groups_.push_back(out_.size());
        if (!ahead("(?")) return copy(1);
        for (const std::string_view same : {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"}) {
            if (ahead(same)) return copy(same.size());
        }
        const auto begin = at_;
        at_ += 2;
        std::string options;
        while (at_ < text_.size() && std::string_view("im-").find(text_[at_]) != std::string_view::npos) {
            options += text_[at_] == 'm' ? 's' : text_[at_];
            ++at_;
        }
        const bool whole = at_ < text_.size() && text_[at_] == ')' && begin == 0;  // "(?i)" before all else
        if (options.empty() || !(ahead(":") || whole)) {
            at_ = begin;
            return refuse("the group '" + base::quoted(text_.substr(begin, 4)) + "'");
        }
        out_ += "(?" + options;
        if (!whole) return copy(1);
        groups_.pop_back();
        copy(1);
    }

    // {n,m} followed by + repeats again in Oniguruma, and is possessive in PCRE2.
    void quantifier() {
        const auto begin = at_;
        bool interval = false;
        if (text_[at_] == '{') {
            auto end = at_ + 1;
            const auto digits = [&] {
                const auto from = end;
                while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
                return end - from;
            };
            const auto low = digits();
            const bool comma = end < text_.size() && text_[end] == ',';
            if (comma) ++end;
            const auto high = comma ? digits() : 0;
            interval = low + high > 0 && end < text_.size() && text_[end] == '}';
            if (!interval) {
                begin_atom();
                out_ += "\\{";
                ++at_;
                return;
            }
            out_ += low == 0 ? "{0" + std::string(text_.substr(at_ + 1, end - at_))
                             : std::string(text_.substr(at_, end + 1 - at_));
            at_ = end + 1;
            if (!comma && ahead("?"))
                return refuse("'?' behind '" + base::quoted(text_.substr(begin, end + 1 - begin)) + "'");
        } else {
            copy(1);
        }
        bool lazy = ahead("?");
        if (lazy) copy(1);
        while (at_ < text_.size() && std::string_view("*+?").find(text_[at_]) != std::string_view::npos) {
            if (!interval && !lazy && text_[at_] == '+') {
                copy(1);
                interval = true;  // what comes behind "*+" repeats again
                continue;
            }
            out_.insert(atom_, "(?:");
            out_ += ')';
            interval = lazy = false;
            copy(1);
        }
    }

    // Of a class, `inside`, or on its own.
    void escape(bool inside) {
        if (at_ + 1 >= text_.size()) return refuse("'\\' at the end");
        const char c = text_[at_ + 1];
        const auto put = [&](std::string_view in_class, bool negative = false) {
            if (inside && negative) return refuse("'\\" + std::string(1, c) + "' in a class");
            if (inside)
                out_ += in_class;
            else
                out_.append(negative ? "[^" : "[").append(in_class).append("]");
            at_ += 2;
        };
        const auto literal = [&](std::string_view as) {
            out_ += as;
            at_ += 2;
        };
        switch (c) {
            case 's':
                return put(white_space);
            case 'S':
                return inside ? put(no_white_space) : put(white_space, true);
            case 'w':
                return put(inside ? std::string(word) : std::string(word).append(latin_numbers));
            case 'W':
                return put(std::string(word).append(latin_numbers), true);
            case 'd':
                return literal("\\p{Nd}");
            case 'D':
                return literal("\\P{Nd}");
            case 'h':
                return put("0-9a-fA-F");
            case 'H':
                return put("0-9a-fA-F", true);
            case 'p':
            case 'P':
                return property();
            case 't':
                return literal("\\x09");
            case 'n':
                return literal("\\x0a");
            case 'v':
                return literal("\\x0b");
            case 'f':
                return literal("\\x0c");
            case 'r':
                return literal("\\x0d");
            case 'a':
                return literal("\\x07");
            case 'e':
                return literal("\\x1b");
            case 'x':
            case 'u':
                return number();
            case 'A':
            case 'z':
            case 'Z':
                if (!inside) return literal({text_.data() + at_, 2});
                return refuse("'\\" + std::string(1, c) + "' in a class");
            case 'b':
                if (inside) return literal("\\x08");
                return boundary("(?:(?<=@)(?!@)|(?<!@)(?=@))");
            case 'B':
                if (inside) return refuse("'\\B' in a class");
                return boundary("(?:(?<=@)(?=@)|(?<!@)(?!@))");
            default:
                break;
        }
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (letter) return refuse("'\\" + std::string(1, c) + "'");
        const bool sign = c > ' ' && c < 0x7F;
        if (sign) return literal({text_.data() + at_, 2});
        ++at_;  // a backslash before anything else says nothing
        copy(1);
    }

    void boundary(std::string_view form) {
        for (const char c : form) {
            if (c == '@')
                out_.append("[").append(word).append(latin_numbers).append("]");
            else
                out_ += c;
        }
        at_ += 2;
    }

    void number() {
        const auto begin = at_;
        const bool braces = text_.substr(at_ + 2).starts_with("{");
        at_ += braces ? 3 : 2;
        const std::size_t most = braces ? 8 : text_[begin + 1] == 'u' ? 4 : 2;
        std::string digits;
        while (at_ < text_.size() && digits.size() < most &&
               std::string_view("0123456789abcdefABCDEF").find(text_[at_]) != std::string_view::npos)
            digits += text_[at_++];
        const bool closed = !braces || ahead("}");
        const auto value = digits.empty() ? 0 : std::stoul(digits, nullptr, 16);
        const bool byte = !braces && most == 2;
        if (!closed || digits.empty() || (most == 4 && digits.size() != 4) || (byte && value > 0x7F)) {
            const auto told = base::quoted(text_.substr(begin, at_ - begin));
            at_ = begin;
            return refuse("'" + told + "'");
        }
        if (braces) ++at_;
        out_ += "\\x{" + digits + "}";
    }

    // \p{Lu}, \p{^Lu}, \pL: categories and scripts.
    void property() {
        const auto begin = at_;
        bool negative = text_[at_ + 1] == 'P';
        at_ += 2;
        std::string name;
        if (ahead("{")) {
            const auto end = text_.find('}', at_);
            if (end == std::string_view::npos) return refuse("'\\p{' without '}'");
            name = text_.substr(at_ + 1, end - at_ - 1);
            at_ = end + 1;
        } else if (at_ < text_.size()) {
            name = text_[at_++];
        }
        if (name.starts_with("^")) {
            negative = !negative;
            name.erase(0, 1);
        }
        const auto simple = simple_name(name);
        for (const auto taken : composed_properties) {
            if (simple != taken) continue;
            at_ = begin;
            return refuse("the property '" + name + "'");
        }
        for (const auto& [known, category] : long_categories) {
            if (simple == known) name = category;
        }
        out_ += (negative ? "\\P{" : "\\p{") + name + "}";
    }

    void set() {
        copy(1);
        if (ahead("^")) copy(1);
        if (ahead("]")) return refuse("']' at the beginning of a class");
        while (error_.empty() && at_ < text_.size() && text_[at_] != ']') {
            if (text_[at_] == '\\') {
                escape(true);
            } else if (ahead("[:")) {
                bracket();
            } else if (text_[at_] == '[') {
                refuse("a class in a class");
            } else if (ahead("&&")) {
                refuse("'&&' in a class");
            } else {
                copy(1);
            }
        }
        if (!error_.empty()) return;
        if (at_ >= text_.size()) return refuse("'[' without ']'");
        copy(1);
    }

    void bracket() {
        const auto end = text_.find(":]", at_ + 2);
        const auto name = end == std::string_view::npos ? "" : text_.substr(at_ + 2, end - at_ - 2);
        for (const auto& [known, members] : brackets) {
            if (name != known) continue;
            out_ += members;
            at_ = end + 2;
            return;
        }
        refuse("'[:" + base::quoted(name) + ":]'");
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string out_, error_;
    std::size_t atom_ = 0;             // where in `out_` that begins which a quantifier would repeat
    std::vector<std::size_t> groups_;  // where in `out_` open groups begin
};

}  // namespace

TranslatedExpression translate_expression(std::string_view expression) {
    return ExpressionTranslator(expression).translate();
}

}  // namespace switchyard::data
