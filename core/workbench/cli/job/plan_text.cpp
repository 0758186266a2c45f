#include "core/workbench/cli/job/plan_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <switchyard/interfaces/reason_text.h>
#include "core/kernel/config/guard_text.h"
#include "core/kernel/config/problem.h"
#include "core/kernel/resolver/plan_json.h"
#include "core/kernel/resolver/request_fields.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

using resolver::CandidateOutcome;
using resolver::Chosen;
using resolver::PlanRow;
using Lines = std::vector<std::string>;

std::string chosen_text(const Chosen& chosen) { return full_name(chosen) + " " + chosen.version; }

bool is_chosen(const PlanRow& row, const CandidateOutcome& outcome) {
    return row.chosen && outcome.ok && outcome.why_not.empty() && outcome.plugin == row.chosen->plugin &&
           outcome.component == row.chosen->component && outcome.variant == row.chosen->variant;
}

// Those that would have served it, by why they were not taken.
void add_passed_over(const PlanRow& row, Lines& lines) {
    std::vector<std::pair<std::string, Lines>> groups;
    for (const auto& outcome : row.candidates) {
        if (!outcome.ok || is_chosen(row, outcome)) continue;
        const auto same = std::find_if(groups.begin(), groups.end(),
                                       [&](const auto& g) { return g.first == outcome.why_not; });
        auto& names =
            same == groups.end() ? groups.emplace_back(outcome.why_not, Lines{}).second : same->second;
        names.push_back(full_name(outcome));
    }
    for (const auto& [why, names] : groups) lines.push_back(why + ": " + joined(names));
}

void add_refused(const PlanRow& row, Lines& lines) {
    for (const auto& outcome : row.candidates) {
        if (outcome.ok) continue;
        Lines reasons;
        for (const auto& reason : outcome.reasons) reasons.push_back(to_text(reason));
        lines.push_back(full_name(outcome) + " does not serve it: " + joined(reasons, "; "));
        if (outcome.nearest) lines.push_back("    it would serve: " + *outcome.nearest);
    }
}

void add_details(const PlanRow& row, Lines& lines) {
    lines.push_back("request: " + resolver::in_words(row.use.kind, *row.use.request));
    if (!row.chosen) return;
    const auto& chosen = *row.chosen;
    if (!chosen.composed.empty())
        lines.push_back("served:  " + resolver::in_words(row.use.kind, *chosen.request));
    if (!chosen.options.values().empty())
        lines.push_back("options: " + resolver::to_json(chosen.options).dump());
    lines.push_back("library: " + chosen.library_path + " (" + chosen.content_hash + ")");
    lines.push_back("backend: " + joined(row.use.config.backend) + ", from " +
                    config::to_string(row.use.origin));
}

// "shadowed by naive/naive 1.0.0 every 100 steps (named, from job.toml:8:12)"
std::string shadow_text(const PlanRow& shadow) {
    const auto every = shadow.use.config.shadow.every;
    return "shadowed by " + (shadow.chosen ? chosen_text(*shadow.chosen) : "none") +
           (every == 1 ? " in every step" : " every " + std::to_string(every) + " steps") + " (" +
           shadow.how + ", from " + config::to_string(shadow.use.origin) + ")";
}

Lines notes_of(const PlanRow& row, PlanDetail detail) {
    Lines lines;
    for (const auto& warning : row.warnings) lines.push_back("warning: " + warning);
    lines.insert(lines.end(), row.notes.begin(), row.notes.end());
    if (detail == PlanDetail::all) add_details(row, lines);
    if (row.chosen && !row.chosen->composed.empty())
        lines.push_back("composed by the core: " + joined(row.chosen->composed));
    if (row.chosen && row.chosen->accuracy == Accuracy::reduced) {
        lines.push_back("reduced accuracy: relative error up to " +
                        resolver::to_text(row.chosen->accuracy_bound));
    }
    if (detail == PlanDetail::brief) return lines;
    add_passed_over(row, lines);
    add_refused(row, lines);
    return lines;
}

struct Entry {
    Lines cells;  // slot, layers, dtype, chosen, how
    Lines notes;
    Lines phases;
};

std::vector<Entry> entries_of(const resolver::Plan& plan, PlanDetail detail) {
    std::vector<Entry> entries;
    for (const auto& row : plan.rows) {
        Entry entry;
        entry.cells = {row.use.slot, row.use.layers, std::string(name(row.use.request->dtype)),
                       row.chosen ? chosen_text(*row.chosen) : "none", row.how};
        entry.notes = notes_of(row, detail);
        if (const auto* const shadow = plan.shadow_of(row); shadow != nullptr) {
            entry.notes.push_back(shadow_text(*shadow));
            if (detail == PlanDetail::all) add_details(*shadow, entry.notes);
        }
        const auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) {
            return e.cells == entry.cells && e.notes == entry.notes;
        });
        auto& target = same == entries.end() ? entries.emplace_back(std::move(entry)) : *same;
        target.phases.emplace_back(name(row.use.phase));
    }
    return entries;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string rest(const std::string& text) {
    const auto end = text.find('\n');
    return end == std::string::npos ? "" : text.substr(end + 1) + "\n";
}

// The request differs from phase to phase where the trouble does not.
std::string without_request(const std::string& error) {
    const auto begin = error.find("\n    asked for: ");
    if (begin == std::string::npos) return error;
    const auto end = error.find('\n', begin + 1);
    return error.substr(0, begin) + (end == std::string::npos ? "" : error.substr(end));
}

config::Problem problem_at(const config::Origin& origin, const std::string& key, const std::string& message) {
    config::Problem problem;
    const bool in_text =
        origin.source == config::Origin::Source::file || origin.source == config::Origin::Source::preset;
    if (origin.source != config::Origin::Source::standard) problem.file = origin.name;
    if (in_text) problem.line = origin.line, problem.column = origin.column;
    if (origin.source == config::Origin::Source::file) {
        problem.source = config::line_for_display(config::read_guarded(origin.name).text, origin.line);
    }
    problem.key = message.starts_with(key) ? "" : key;
    problem.message = message;
    return problem;
}

// "optimizer.algorithm" of a message that begins with `optimizer.algorithm = "..."`: it is of that key, and
// says where that was written. Empty: of the slot's.
std::string own_key(const std::string& message) {
    const auto end = message.find(" = ");
    const auto key = message.substr(0, end);
    const bool is_one = end != std::string::npos && key.find('.') != std::string::npos &&
                        key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string::npos;
    return is_one ? key : "";
}

// One thing that went wrong, in all the rows in which it did.
struct Trouble {
    const PlanRow* row;
    std::vector<std::pair<std::string, Lines>> places;  // layers, phases
};

void add_place(Trouble& trouble, const PlanRow& row) {
    const auto same = std::find_if(trouble.places.begin(), trouble.places.end(),
                                   [&](const auto& place) { return place.first == row.use.layers; });
    auto& phases = same == trouble.places.end() ? trouble.places.emplace_back(row.use.layers, Lines{}).second
                                                : same->second;
    phases.emplace_back(name(row.use.phase));
}

// "attention of encoder.0-5 in train and eval"
std::string places_text(const Trouble& trouble) {
    Lines texts;
    for (const auto& [layers, phases] : trouble.places)
        texts.push_back(layers + " in " + joined(phases, " and "));
    return trouble.row->use.slot + " of " + joined(texts);
}

}  // namespace

std::string host_line(const HostInfo& host) {
    std::string text = host.name + (host.described ? " (described): " : ": ") + host.cpu_model + ", " +
                       counted(static_cast<std::size_t>(host.cores), "core") + ", LibTorch " +
                       host.libtorch_version;
    for (const auto& device : host.devices) text += ", " + device.name;
    return text + (host.devices.empty() ? ", no accelerator" : "");
}

Text plan_text(const resolver::Plan& plan, PlanDetail detail) {
    Table table({"slot", "layers", "phase", "dtype", "chosen", "how"});
    for (const auto& entry : entries_of(plan, detail)) {
        const auto& cells = entry.cells;
        table.row({cells[0], cells[1], joined(entry.phases), cells[2],
                   paint(cells[3] == "none" ? Color::red : Color::green, cells[3]), cells[4]});
        for (const auto& note : entry.notes) table.note(note, Color::dim);
    }
    return table.render();
}

std::string plan_problems(const resolver::Plan& plan) {
    std::vector<Trouble> troubles;
    const auto add = [&](const PlanRow& row) {
        const auto same = std::find_if(troubles.begin(), troubles.end(), [&](const Trouble& t) {
            return config::to_string(t.row->use.origin) == config::to_string(row.use.origin) &&
                   t.row->use.slot == row.use.slot &&
                   without_request(t.row->error) == without_request(row.error);
        });
        auto& trouble = same == troubles.end() ? troubles.emplace_back(Trouble{&row, {}}) : *same;
        add_place(trouble, row);
    };
    plan.for_each_row([&](const PlanRow& row) {
        if (!row.chosen) add(row);
    });
    std::string text;
    for (const auto& trouble : troubles) {
        const auto& use = trouble.row->use;
        const auto message = first_line(trouble.row->error) + " (" + places_text(trouble) + ")";
        const auto own = own_key(message);
        const bool of_slot = own.empty() || own == use.key();
        text += config::render(of_slot ? problem_at(use.origin, use.key(), message)
                                       : problem_at({}, own, message)) +
                rest(trouble.row->error);
    }
    return text;
}

std::string unverified_text(const resolver::Plan& plan) {
    const auto names = plan.unverified();
    if (names.empty()) return "";
    return "unverified: " + joined(names) +
           "; `switchyard plugins verify` runs a plugin against the reference, with --config what a "
           "configuration uses of it\n";
}

std::string plan_warnings(const resolver::Plan& plan, std::set<std::string>& told) {
    std::string text;
    for (const auto& row : plan.rows) {
        for (const auto& warning : row.warnings)
            if (told.insert(warning).second) text += "warning: " + warning + "\n";
    }
    return text;
}

}  // namespace switchyard::cli
