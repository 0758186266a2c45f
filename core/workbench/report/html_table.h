// A table that becomes one card a row on a narrow page. With the page's script (page_script.h) it can be
// sorted, where rows say by what.
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
    // `cells`: HTML; empty ones are left out of cards. `order`: for each cell of a column of numbers the one
    // that it sorts by; NaN: none, and it comes last.
    void row(const std::vector<std::string>& cells, const std::vector<double>& order = {});
    std::string html() const;

private:
    std::vector<Column> columns_;
    std::string rows_;
    bool sortable_ = false;
};

}  // namespace switchyard::report
