#include "core/workbench/report/html_table.h"

#include <cmath>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/workbench/report/html_text.h"

namespace switchyard::report {
namespace {

// "[95 %]" stays on one line.
std::string unbroken(std::string title) {
    constexpr std::string_view sign = " %]";
    if (const auto at = title.find(sign); at != std::string::npos) title.replace(at, 1, "\u00a0");
    return title;
}

}  // namespace

HtmlTable::HtmlTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void HtmlTable::row(const std::vector<std::string>& cells, const std::vector<double>& order) {
    sortable_ = sortable_ || !order.empty();
    rows_ += "<tr>";
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const std::string cell = i < cells.size() ? cells[i] : "";
        const std::string css =
            std::string(columns_[i].number ? "number" : "") + (cell.empty() ? " empty" : "");
        const bool sorts = i < order.size() && std::isfinite(order[i]);
        rows_ += "<td" + (css.empty() ? "" : " class=\"" + css + "\"") +
                 (sorts ? " data-sort=\"" + nlohmann::json(order[i]).dump() + "\"" : "") + " data-label=\"" +
                 escape(breakable(columns_[i].title)) + "\"><div>" + cell + "</div></td>";
    }
    rows_ += "</tr>\n";
}

std::string HtmlTable::html() const {
    std::string head;
    for (const auto& column : columns_) {
        head += "<th scope=\"col\"" + std::string(column.number ? " class=\"number\"" : "") + ">" +
                escape(unbroken(column.title)) + "</th>";
    }
    return "<table class=\"cards" + std::string(sortable_ ? " sortable" : "") + "\">\n<thead><tr>" + head +
           "</tr></thead>\n<tbody>\n" + rows_ + "</tbody>\n</table>\n";
}

}  // namespace switchyard::report
