// A table that becomes one card a row on a narrow page.
#pragma once

#include <string>
#include <vector>

namespace switchyard::report {

class HtmlTable {
public:
    struct Column {
        std::string title;  // plain text
        bool number = false;
    };
    explicit HtmlTable(std::vector<Column> columns);
    void row(const std::vector<std::string>& cells);  // HTML; empty cells are left out of cards
    std::string html() const;

private:
    std::vector<Column> columns_;
    std::string rows_;
};

}  // namespace switchyard::report
