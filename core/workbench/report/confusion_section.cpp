// Which labels are taken for which, and how well each is told.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/report_sections.h"

namespace switchyard::report {
namespace {

using score::ConfusionMatrix;

constexpr std::size_t listed_confusions = 30;
constexpr std::size_t listed_labels = 100;
constexpr std::size_t shortest_turned = 8;  // bytes of a name

std::string name_of_label(const ConfusionMatrix& matrix, std::size_t label) {
    return escape(shortened(matrix.labels()[label], 60));
}

std::string whole_number(std::int64_t count) { return page_number(static_cast<double>(count), 1); }

// Like those of F1: 0 is told apart from what is nearly 0.
std::string share_text(double share) { return page_number(share, share < 0.1 ? 2 : 3); }

// A cell, shaded by its share of the row in steps of a tenth.
std::string cell(const ConfusionMatrix& matrix, std::size_t right, std::size_t told) {
    const auto count = matrix.count(right, told);
    const double share = score::share(count, matrix.of_class(right).right);
    const auto step = std::lround(std::ceil(10.0 * share));
    std::string css = right == told ? "hit" : "";
    if (step > 0) css += (css.empty() ? "share-" : " share-") + std::to_string(step);
    if (count == 0) css += css.empty() ? "none" : " none";
    return "<td class=\"" + css + "\">" + whole_number(count) + "</td>";
}

std::string matrix_table(const ConfusionMatrix& matrix) {
    const auto classes = matrix.labels().size();
    // Short names are read as they are; long ones stand upright, so that columns stay narrow.
    const bool short_names = std::ranges::all_of(
        matrix.labels(), [](const std::string& label) { return label.size() <= shortest_turned; });
    const std::string turned = short_names ? " class=\"level\"" : "";
    std::string head, rows;
    for (std::size_t i = 0; i < classes; ++i)
        head += "<th scope=\"col\"><div" + turned + ">" + name_of_label(matrix, i) + "</div></th>";
    for (std::size_t right = 0; right < classes; ++right) {
        rows += "<tr><th scope=\"row\">" + name_of_label(matrix, right) + "</th>";
        for (std::size_t told = 0; told < classes; ++told) rows += cell(matrix, right, told);
        rows += "</tr>\n";
    }
    return "<p class=\"muted\">A row for each right label, a column for each predicted one; shaded by the "
           "share of its row.</p>\n"
           "<div class=\"scroll\" role=\"region\" aria-label=\"Confusion matrix\" tabindex=\"0\">\n"
           "<table class=\"matrix\">\n<thead><tr><td>right ↓ predicted →</td>" +
           head + "</tr></thead>\n<tbody>\n" + rows + "</tbody>\n</table>\n</div>\n";
}

// Where a matrix would be too large to read.
std::string confusions_table(const ConfusionMatrix& matrix) {
    const auto wrong = matrix.confusions();
    if (wrong.empty()) return "<p>No label was taken for another.</p>\n";
    HtmlTable table({{"Right"}, {"Predicted"}, {"Times", true}, {"Of the right label", true}});
    for (std::size_t i = 0; i < std::min(wrong.size(), listed_confusions); ++i) {
        const auto& [right, told, count] = wrong[i];
        const double percent = 100.0 * score::share(count, matrix.of_class(right).right);
        table.row({name_of_label(matrix, right), name_of_label(matrix, told), whole_number(count),
                   page_number(percent, 2) + " %"});
    }
    std::string html =
        "<p class=\"muted\">What was taken for what, the most frequent first.</p>\n" + table.html();
    if (wrong.size() > listed_confusions)
        html += "<p class=\"muted\">" +
                whole_number(static_cast<std::int64_t>(wrong.size() - listed_confusions)) +
                " more are in summary.json.</p>\n";
    return html;
}

// Of many labels those that are told worst.
std::vector<std::size_t> labels_to_list(const ConfusionMatrix& matrix) {
    std::vector<std::size_t> labels;
    for (std::size_t i = 0; i < matrix.labels().size(); ++i) {
        if (matrix.occurs(i)) labels.push_back(i);
    }
    if (matrix.labels().size() <= ConfusionMatrix::listed_classes) return labels;
    std::ranges::stable_sort(labels, {}, [&](std::size_t i) { return matrix.of_class(i).f1(); });
    labels.resize(std::min(labels.size(), listed_labels));
    return labels;
}

std::string labels_table(const ConfusionMatrix& matrix) {
    HtmlTable table({{"Label"}, {"Precision", true}, {"Recall", true}, {"F1", true}, {"Support", true}});
    const auto labels = labels_to_list(matrix);
    for (const auto label : labels) {
        const auto& counts = matrix.of_class(label);
        table.row({name_of_label(matrix, label), share_text(counts.precision()), share_text(counts.recall()),
                   share_text(counts.f1()), whole_number(counts.right)});
    }
    const auto total = whole_number(matrix.total());
    const auto add_means = [&](const char* name, const score::ClassMeans& means) {
        table.row({name, share_text(means.precision), share_text(means.recall), share_text(means.f1), total});
    };
    add_means("<em>mean</em>", matrix.macro());
    add_means("<em>mean, weighted by support</em>", matrix.weighted());
    const bool all = matrix.labels().size() <= ConfusionMatrix::listed_classes;
    return "<h3 class=\"next\">Each label</h3>\n<p class=\"muted\">"
           "Support: how often it was the right one. Labels that were neither right nor predicted are left "
           "out." +
           std::string(all ? "" : " The lowest F1 first, at most 100 labels.") + "</p>\n" + table.html();
}

}  // namespace

std::string confusion_section(const RunRecord& run) {
    if (!run.summary || !run.summary->confusion) return "";
    const auto& matrix = *run.summary->confusion;
    const bool small = matrix.labels().size() <= ConfusionMatrix::listed_classes;
    return "<section>\n<h2>Which labels are taken for which</h2>\n" +
           (small ? matrix_table(matrix) : confusions_table(matrix)) + labels_table(matrix) + "</section>\n";
}

}  // namespace switchyard::report
