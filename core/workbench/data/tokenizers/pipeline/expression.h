// Regular expressions, compiled once and then asked from any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace switchyard::data {

struct TextMatch {
    std::size_t begin = 0, end = 0;
};

class Expression {
public:
    // `text` in Oniguruma's syntax. Throws InputError with what is wrong with it.
    explicit Expression(const std::string& text);
    ~Expression();
    Expression(const Expression&) = delete;
    Expression& operator=(const Expression&) = delete;

    // Finds one match after another in one text, which is valid UTF-8.
    class Search {
    public:
        Search(const Expression& expression, std::string_view text);
        ~Search();
        Search(const Search&) = delete;
        Search& operator=(const Search&) = delete;
        // The first match that begins at `from` or behind it; false: there is none. Throws InputError where
        // the expression takes too many steps.
        bool find(std::size_t from, TextMatch& match);

    private:
        const Expression& expression_;
        std::string_view text_;
        void* data_;
    };

private:
    std::string text_;
    struct Compiled;
    std::unique_ptr<Compiled> compiled_;
};

}  // namespace switchyard::data
