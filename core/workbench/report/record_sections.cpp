// What the run was made of: plan, memory, host, configuration.
#include <algorithm>

#include "core/kernel/base/joined.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/report_sections.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::report {
namespace {

constexpr std::size_t shown_plan_rows = 150;
constexpr std::size_t shown_config_bytes = 60000;
constexpr std::size_t shown_data_files = 50;

bool serves(const PlanRow& row, const Executed& ran) {
    return row.slot == ran.slot && row.layers == ran.layers && row.phase == ran.phase;
}

// Names are short; what is not need not fill the page.
std::string brief(const std::string& text) { return escape(shortened(text, 120)); }

// "encoder.0-5" stays in one piece; a long list of layers does not.
std::string layers_text(const std::string& layers) {
    return layers.size() > 24 ? brief(layers) : "<span class=\"whole\">" + brief(layers) + "</span>";
}

std::string calls_text(const std::vector<const Executed*>& ran) {
    std::string text;
    for (const auto* entry : ran) {
        if (!text.empty()) text += "<br/>";
        text += page_number(static_cast<double>(entry->calls), 1);
        if (!entry->variant.empty()) text.append(" ").append(brief(entry->variant));
    }
    return text;
}

std::string why_text(const PlanRow& row) {
    std::string text = brief(row.how);
    if (!row.from.empty()) base::add_item(text, "<code>" + brief(row.from) + "</code>", " in ");
    const auto notes = base::joined(row.notes, "; ");
    if (!notes.empty()) text += " <span class=\"why\">" + escape(shortened(notes, 300)) + "</span>";
    if (!row.error.empty()) text += " <span class=\"bad\">" + escape(shortened(row.error, 300)) + "</span>";
    return text;
}

std::string facts_table(const std::vector<Fact>& facts, bool code = false) {
    std::string html = "<table class=\"facts\">\n";
    for (const auto& [name, value] : facts) {
        html += "<tr><th scope=\"row\">" + escape(name) + "</th><td>" + (code ? "<code>" : "") +
                escape(shortened(value, 2000)) + (code ? "</code>" : "") + "</td></tr>\n";
    }
    return html + "</table>\n";
}

std::string shares_table(const std::vector<Share>& shares, double sum) {
    std::string html = "<table class=\"facts\">\n";
    for (const auto& share : shares) {
        html +=
            "<tr><th scope=\"row\"><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect width=\"12\" "
            "height=\"12\" "
            "class=\"fill-" +
            std::string(1, static_cast<char>(share.hue)) + "\"/></svg> " + escape(share.name) + "</th><td>" +
            bytes_text(share.value) +
            (sum > 0.0 ? ", " + page_number(100.0 * share.value / sum, 2) + " %" : "") + "</td></tr>\n";
    }
    return html + "</table>\n";
}

// What held from some step on.
std::string changes_table(const RunRecord& run) {
    if (run.changes.empty()) return "";
    HtmlTable table({{"After step", true}, {"Changed"}, {"Was"}, {"Is"}});
    for (const auto& change : run.changes)
        table.row({brief(change.step), brief(change.key), brief(change.before), brief(change.now)});
    return "<p>The run was resumed with changes to the job that it started with:</p>\n" + table.html();
}

// Quietly: it is no fault.
std::string unverified_line(const RunRecord& run) {
    std::vector<std::string> names;
    for (const auto& row : run.plan) {
        if (row.unverified && std::find(names.begin(), names.end(), row.component) == names.end())
            names.push_back(row.component);
    }
    if (names.empty()) return "";
    std::string text;
    for (std::size_t i = 0; i < names.size() && i < shown_plan_rows; ++i) base::add_item(text, names[i]);
    return "<p class=\"muted\">Unverified, as no run of <code>switchyard plugins verify</code> had passed: " +
           brief(text) + "</p>\n";
}

}  // namespace

std::string plan_section(const RunRecord& run) {
    if (run.plan.empty()) return "";
    static const std::vector<Executed> none;
    const auto& executed = run.summary ? run.summary->executed : none;
    std::vector<bool> planned(executed.size(), false);
    HtmlTable table({{"Slot"}, {"Layers"}, {"Phase"}, {"Component"}, {"Why"}, {"Calls that ran", true}});
    for (std::size_t r = 0; r < run.plan.size(); ++r) {
        const auto& row = run.plan[r];
        std::vector<const Executed*> ran;
        for (std::size_t i = 0; i < executed.size(); ++i) {
            if (!serves(row, executed[i])) continue;
            planned[i] = true;
            ran.push_back(&executed[i]);
        }
        if (r >= shown_plan_rows) continue;
        table.row({brief(row.slot), layers_text(row.layers), brief(row.phase),
                   row.component.empty() ? "<span class=\"bad\">none</span>" : brief(row.component),
                   why_text(row),
                   executed.empty() ? ""
                   : ran.empty()    ? "0"
                                    : calls_text(ran)});
    }
    for (std::size_t i = 0; i < executed.size() && i < shown_plan_rows; ++i) {
        const auto& ran = executed[i];
        if (!planned[i])
            table.row({brief(ran.slot), layers_text(ran.layers), brief(ran.phase), brief(ran.component),
                       "<span class=\"bad\">ran, but stands in no row of the plan</span>",
                       calls_text({&ran})});
    }
    std::string html = "<section>\n<h2>Plan: who did what, and why</h2>\n" + table.html();
    if (run.plan.size() > shown_plan_rows)
        html += "<p class=\"muted\">" + std::to_string(run.plan.size() - shown_plan_rows) +
                " more rows are in plan.json.</p>\n";
    return html + unverified_line(run) + "</section>\n";
}

std::string memory_section(const RunRecord& run) {
    if (!run.summary || run.summary->memory.empty()) return "";
    constexpr Hue hues[] = {Hue::a, Hue::c, Hue::d, Hue::e, Hue::b};
    std::vector<Share> shares;
    std::string description;
    double sum = 0.0;
    for (const auto& [name, bytes] : run.summary->memory) {
        if (shares.size() == std::size(hues)) break;
        shares.push_back({name, bytes, hues[shares.size()]});
        sum += bytes;
        base::add_item(description, name + " " + bytes_text(bytes));
    }
    std::string html = "<section>\n<h2>Memory</h2>\n";
    if (run.summary->peak_bytes)
        html += "<p>Peak of all tensors: <strong>" + bytes_text(*run.summary->peak_bytes) +
                "</strong>. What it is above the rest, activations most of all, is <em>other</em>.</p>\n";
    return html + "<figure>\n" + share_bar("Memory at the peak", description, shares) + "</figure>\n" +
           shares_table(shares, sum) + "</section>\n";
}

std::string data_section(const RunRecord& run) {
    const auto& files = run.origin.data;
    if (files.empty()) return "";
    HtmlTable table({{"Key"}, {"File"}, {"XXH3, 128 bits"}});
    for (std::size_t i = 0; i < std::min(files.size(), shown_data_files); ++i) {
        const auto& [key, path, hash] = files[i];
        table.row({brief(key), "<code>" + escape(shortened(path, 400)) + "</code>",
                   hash.empty() ? "not known" : "<code>" + brief(hash) + "</code>"});
    }
    std::string html = "<section>\n<h2>Data</h2>\n" + table.html();
    if (files.size() > shown_data_files)
        html += "<p class=\"muted\">" + std::to_string(files.size() - shown_data_files) +
                " more files are in record.json.</p>\n";
    return html + "</section>\n";
}

std::string host_section(const RunRecord& run, const StackTimes* stacks) {
    std::vector<Fact> facts, commands;
    const auto& origin = run.origin;
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) facts.emplace_back(name, value);
    };
    add("Begun", origin.begun);
    add("Switchyard", origin.program);
    facts.insert(facts.end(), run.host.begin(), run.host.end());
    if (run.host.empty()) add("CPU", origin.cpu), add("LibTorch", origin.libtorch);
    add("Threads", origin.threads);
    if (run.summary && run.summary->ranks) add("Ranks", page_number(*run.summary->ranks, 1));
    if (!origin.command.empty()) commands.emplace_back("Training", origin.command);
    commands.emplace_back("Run folder", run.folder);
    if (stacks != nullptr) {
        for (const auto& fact : stacks->host) {
            const auto known = std::find_if(facts.begin(), facts.end(),
                                            [&](const Fact& f) { return f.first == fact.first; });
            if (known == facts.end())
                facts.push_back(fact);
            else if (known->second != fact.second)
                facts.emplace_back(fact.first + " of the timing", fact.second);
        }
        if (!stacks->command.empty()) commands.emplace_back("Timing", stacks->command);
        commands.emplace_back("Timing file", stacks->file);
    }
    return "<section>\n<h2>Host and commands</h2>\n" + (facts.empty() ? "" : facts_table(facts)) +
           facts_table(commands, true) + "</section>\n";
}

std::string config_section(const RunRecord& run) {
    if (run.config.empty()) return "";
    auto length = run.config.size();
    while (length > shown_config_bytes ||
           escape(run.config.substr(0, length)).size() > 2 * shown_config_bytes)
        length /= 2;
    const bool cut = length < run.config.size();
    return "<section>\n<h2>Configuration</h2>\n" + changes_table(run) +
           "<details>\n<summary>config.toml, every value that held" +
           (run.changes.empty() ? "" : " at the beginning") + "</summary>\n<pre>" +
           escape(run.config.substr(0, length)) +
           (cut ? "\n# ... the rest is in config.toml of the run" : "") + "</pre>\n</details>\n</section>\n";
}

}  // namespace switchyard::report
