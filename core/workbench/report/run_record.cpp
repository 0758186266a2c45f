#include "core/workbench/report/run_record.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "core/kernel/base/executed_text.h"
#include "core/kernel/base/joined.h"
#include "core/kernel/base/next_line.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/record_json.h"
#include "core/workbench/report/record_parts.h"

namespace switchyard::report {
namespace {

std::string component_text(const Json& object) {
    const auto plugin = text_of(object, "plugin"), variant = text_of(object, "variant");
    const auto name = text_of(object, "component");
    return (plugin.empty() ? "" : plugin + "/") + name + (variant.empty() ? "" : "@" + variant);
}

void add_fact(std::vector<Fact>& facts, const std::string& name, const std::string& value) {
    if (!value.empty()) facts.emplace_back(name, value);
}

std::string reason_text(const Json& reason) {
    const auto field = text_of(reason, "field"), expected = text_of(reason, "expected");
    const auto got = text_of(reason, "got"), hint = text_of(reason, "hint");
    std::string text = field.empty() ? text_of(reason, "code") : field;
    if (!expected.empty()) text += ": expected " + expected;
    if (!got.empty()) text += (expected.empty() ? ": " : ", got ") + got;
    return text + (hint.empty() ? "" : " (" + hint + ")");
}

std::vector<std::string> notes_of(const Json& slot) {
    std::vector<std::string> notes;
    const auto composed = shown(member(member(slot, "chosen"), "composed"));
    if (!composed.empty()) notes.push_back("composed by the core: " + composed);
    if (text_of(member(slot, "chosen"), "accuracy") == "reduced") notes.emplace_back("reduced accuracy");
    for (const auto& candidate : member(slot, "candidates")) {
        const auto why = text_of(candidate, "why_not");
        if (member(candidate, "ok") == true && !why.empty())
            notes.push_back(component_text(candidate) + ": " + why);
        if (member(candidate, "ok") != false) continue;
        std::string reasons;
        for (const auto& reason : member(candidate, "reasons"))
            base::add_item(reasons, reason_text(reason), "; ");
        notes.push_back(component_text(candidate) + " does not serve it" +
                        (reasons.empty() ? "" : ": " + reasons));
    }
    return notes;
}

std::vector<PlanRow> plan_rows(const Json& plan) {
    std::vector<PlanRow> rows;
    for (const auto& slot : member(plan, "slots")) {
        const Json& chosen = member(slot, "chosen");
        std::string component = chosen.is_object() ? component_text(chosen) : "";
        if (const auto version = text_of(chosen, "version"); !version.empty()) component += " " + version;
        rows.push_back({text_of(slot, "slot"), text_of(slot, "layers"), text_of(slot, "phase"), component,
                        text_of(slot, "how"), text_of(slot, "from"), notes_of(slot), text_of(slot, "error"),
                        text_of(chosen, "verification") == "unverified"});
    }
    return rows;
}

std::vector<Executed> executed_rows(const Json& executed) {
    std::vector<Executed> rows;
    if (!executed.is_object()) return rows;
    for (const auto& [slot, list] : executed.items()) {
        for (const auto& row : list) {
            rows.push_back(
                {slot, text_of(row, "layers"), text_of(row, "phase"), component_text(row),
                 text_of(row, "variant"),
                 static_cast<std::int64_t>(std::clamp(number_of(row, "calls").value_or(0.0), 0.0, 9e18))});
        }
    }
    return rows;
}

std::string rows_text(const Json& rows) {
    std::string text;
    for (const char* key : {"used", "read", "skipped", "truncated"}) {
        const auto count = number_of(rows, key);
        if (!count || (*count == 0.0 && std::string_view(key) != "used")) continue;
        base::add_item(text, page_number(*count, 1) + " " + key);
    }
    return text;
}

// "12 % padding, 514 tokens a batch, 0.4 s waited for, 3.8 ready when asked for"
std::string loader_text(const Json& loader) {
    std::string text;
    if (const auto share = number_of(loader, "padding_share"))
        base::add_item(text, page_number(100.0 * *share, 2) + " % padding");
    if (const auto tokens = number_of(loader, "tokens_per_batch"))
        base::add_item(text, page_number(*tokens, 1) + " tokens a batch");
    if (const auto seconds = number_of(loader, "wait_seconds"))
        base::add_item(text, "waited for " + page_number(*seconds, 2) + " s in all");
    if (const auto ready = number_of(loader, "ready_batches"))
        base::add_item(text, page_number(*ready, 2) + " ready when one was asked for");
    return text;
}

// Nothing where it is no square of counts, one row for each label, that a double tells apart.
std::optional<score::ConfusionMatrix> read_confusion(const Json& json) {
    constexpr std::int64_t most = std::int64_t{1} << 53;
    const Json &names = member(json, "labels"), &rows = member(json, "counts");
    if (!names.is_array() || names.empty() || !rows.is_array() || rows.size() != names.size())
        return std::nullopt;
    std::vector<std::string> labels;
    for (const auto& name : names) labels.push_back(shown(name));
    score::ConfusionMatrix matrix(labels);
    for (std::size_t right = 0; right < rows.size(); ++right) {
        if (!rows[right].is_array() || rows[right].size() != labels.size()) return std::nullopt;
        for (std::size_t told = 0; told < labels.size(); ++told) {
            const auto count = base::integer_of(rows[right][told]);
            if (!count || *count < 0 || *count > most - matrix.total()) return std::nullopt;
            matrix.add(right, told, *count);
        }
    }
    if (matrix.total() == 0) return std::nullopt;
    return matrix;
}

std::vector<WorstSample> read_worst(const Json& json) {
    constexpr std::size_t most = 100;
    std::vector<WorstSample> worst;
    if (!json.is_array()) return worst;
    for (const auto& one : json) {
        if (worst.size() == most) break;
        worst.push_back(
            {text_of(one, "label"), text_of(one, "predicted"), text_of(one, "text"), number_of(one, "loss")});
    }
    return worst;
}

// Nothing where it has no numbers that can be.
std::optional<Communication> read_communication(const Json& json) {
    constexpr std::size_t most = 10000;
    const auto measure = [](const Json& object, const char* key) -> std::optional<double> {
        const auto value = number_of(object, key);
        return value && *value >= 0.0 && *value < 1e12 ? value : std::nullopt;
    };
    const auto steps = measure(json, "steps"), all = measure(json, "ms_a_step");
    const auto backward = measure(json, "backward_ms_a_step"), hidden = measure(json, "hidden");
    const auto& typical = member(json, "typical_step");
    const auto length = measure(typical, "backward_ms");
    if (!steps || !all || !backward || !hidden || *hidden > 1.0 || !length) return std::nullopt;
    Communication communication{*steps, *all, *backward, *hidden, *length, {}};
    const auto& sums = member(typical, "sums");
    if (!sums.is_array() || sums.size() > most) return communication;
    for (const auto& sum : sums) {
        const auto bytes = number_of(sum, "bytes");
        const auto begin = measure(sum, "begin_ms"), end = measure(sum, "end_ms");
        if (!bytes || !begin || !end || *end < *begin) return std::nullopt;
        communication.sums.push_back({*bytes, *begin, *end});
    }
    return communication;
}

Summary read_summary(const Json& json) {
    Summary summary;
    summary.status = text_of(json, "status");
    summary.error = text_of(json, "error");
    summary.steps = number_of(json, "steps");
    summary.ranks = number_of(json, "ranks");
    summary.process_steps = number_of(json, "process_steps");
    summary.skipped_steps = number_of(json, "skipped_steps");
    summary.wall_seconds = number_of(json, "wall_seconds");
    summary.train_seconds = number_of(json, "train_seconds");
    summary.samples_per_second = number_of(json, "samples_per_second");
    summary.tokens_per_second = number_of(json, "tokens_per_second");
    summary.mfu = number_of(json, "mfu");
    const auto& peak = member(json, "matmul_peak");
    summary.peak_flops = number_of(peak, "flops_per_second");
    for (const char* key : {"dtype", "of"}) {
        if (const auto text = text_of(peak, key); !text.empty()) base::add_item(summary.peak_of, text);
    }
    summary.step_ms = interval_of(json, "step_ms");
    summary.train_loss = number_of(json, "train_loss");
    summary.eval_loss = number_of(member(json, "eval"), "loss");
    summary.eval_accuracy = number_of(member(json, "eval"), "accuracy");
    summary.eval_perplexity = number_of(member(json, "eval"), "perplexity");
    summary.eval_labels = number_of(member(json, "eval"), "labels");
    if (const auto& metrics = member(member(json, "eval"), "metrics"); metrics.is_object()) {
        for (const auto& [name, value] : metrics.items()) {
            if (value.is_number()) summary.eval_metrics.emplace_back(name, value.get<double>());
        }
    }
    summary.confusion = read_confusion(member(member(json, "eval"), "confusion"));
    summary.worst = read_worst(member(member(json, "eval"), "worst"));
    const auto& best = member(json, "best");
    summary.best_step = number_of(best, "step");
    summary.best_value = number_of(best, "value");
    summary.best_metric = text_of(best, "metric");
    summary.peak_bytes = number_of(json, "peak_memory_bytes");
    if (member(json, "memory").is_object()) {
        for (const auto& [name, bytes] : member(json, "memory").items()) {
            if (bytes.is_number()) summary.memory.emplace_back(name, bytes.get<double>());
        }
    }
    add_fact(summary.rows, "Training samples", rows_text(member(json, "rows")));
    add_fact(summary.rows, "Samples to evaluate on", rows_text(member(json, "eval_rows")));
    add_fact(summary.rows, "Batches", loader_text(member(json, "loader")));
    summary.executed = executed_rows(member(json, "executed"));
    summary.communication = read_communication(member(json, "communication"));
    summary.shadow = read_shadow(member(json, "shadow"));
    return summary;
}

void add_metrics(Metrics& metrics, const Json& line) {
    const auto step = number_of(line, "step");
    if (!step) return;
    for (const auto& [name, value] : line.items()) {
        if (name == "step") continue;
        const auto number = number_of(line, name.c_str());
        if (number && std::abs(*number) < 1e100) {
            metrics.curves[name].push_back({*step, *number});
        } else if (name == "loss") {
            if (metrics.bad_losses++ == 0)
                metrics.first_bad_loss = *step;  // JSON has no NaN: it is written as null
        }
    }
}

// Whether the line that was just read, the last that there is, has an end.
bool is_ended(std::streambuf& text) {
    text.pubseekoff(-1, std::ios::cur, std::ios::in);
    return text.sbumpc() == '\n';
}

// Calls `use` with each line's object. A last line without an end is one that is being written, unless the
// run is over: false.
template <class Use>
bool for_each_line(std::streambuf& text, const std::string& file, bool finished, const Use& use) {
    std::string line;
    for (std::size_t number = 1;; ++number) {
        const auto read = base::next_line(text, line);
        if (read == base::Line::none) return true;
        if (read == base::Line::too_long)
            throw InputError(file + ":" + std::to_string(number) + ": error: the line is longer than " +
                             std::to_string(base::limits::line_bytes) + " bytes, the most that is read");
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        const bool last = text.sgetc() == std::char_traits<char>::eof();
        if (last && !finished && !is_ended(text) && !base::parse_json(line).error.empty()) return false;
        use(parse_object(line, file, number));
    }
}

Metrics read_metrics(std::streambuf& text, const std::string& file, bool finished) {
    Metrics metrics;
    metrics.cut_off = !for_each_line(text, file, finished, [&](const Json& line) {
        add_metrics(metrics, line);
        ++metrics.lines;
    });
    return metrics;
}

// A run may have more lines than are read as a whole. What is no file is told as of any other.
std::optional<Metrics> metrics_of(const std::string& file, bool finished) {
    std::error_code ignored;
    std::filebuf lines;
    if (std::filesystem::is_regular_file(file, ignored) &&
        lines.open(file, std::ios::in | std::ios::binary) != nullptr)
        return read_metrics(lines, file, finished);
    const auto text = read_text(file);
    if (!text) return std::nullopt;
    std::stringbuf whole(*text, std::ios::in);
    return read_metrics(whole, file, finished);
}

std::vector<Change> read_changes(const std::string& text, const std::string& file) {
    std::vector<Change> changes;
    std::stringbuf lines(text, std::ios::in);
    for_each_line(lines, file, false, [&](const Json& line) {
        changes.push_back({shown(member(line, "step")), text_of(line, "key"), text_of(line, "before"),
                           text_of(line, "now")});
    });
    return changes;
}

constexpr const char* describing_keys[] = {"op", "pass", "dtype", "shape", "layout", "dropout"};

bool same_in_all(const Json& rows, const char* key) {
    return std::all_of(rows.begin(), rows.end(),
                       [&](const Json& row) { return member(row, key) == member(rows.front(), key); });
}

std::string described(const char* key, const Json& value) {
    const auto text = shown(value);
    const std::string_view name = key;
    return text.empty() || (name != "dropout" && name != "shape") ? text : std::string(key) + " " + text;
}

void describe(StackTimes& times, const Json& rows) {
    for (const char* key : describing_keys) {
        const bool same = same_in_all(rows, key);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto text = described(key, member(rows[i], key));
            auto& target = same ? times.what : times.rows[i].details;
            if (!text.empty() && (!same || i == 0)) base::add_item(target, text);
        }
    }
}

// As "base" names a row: of a sweep with the value.
std::string named_row(const Json& row) {
    auto text = text_of(row, "backend");
    const auto& options = member(row, "options");
    if (!options.is_object()) return text;
    for (const auto& [option, value] : options.items()) text += " " + option + "=" + shown(value);
    return text;
}

StackRow stack_row(const Json& row) {
    StackRow result;
    result.name = text_of(row, "backend");
    if (result.name.empty()) result.name = "(without a name)";
    result.ran = component_text(row);
    result.message = text_of(row, "message");
    result.verdict = in_words(text_of(row, "verdict"));
    const auto named = named_row(row);
    result.is_base = !named.empty() && text_of(row, "base") == named;
    result.ms = interval_of(row, "ms");
    if (result.ms && result.ms->median < 0.0) result.ms.reset();
    result.speedup = interval_of(row, "speedup_over_base");
    result.memory_bytes = number_of(row, "extra_memory_bytes");
    return result;
}

bool are_objects(const Json& list) {
    return list.is_array() &&
           std::all_of(list.begin(), list.end(), [](const Json& one) { return one.is_object(); });
}

// Of `switchyard bench`.
StackTimes times_of_rows(const Json& rows) {
    StackTimes times;
    for (const auto& row : rows) times.rows.push_back(stack_row(row));
    describe(times, rows);
    times.base = text_of(rows.front(), "base");
    return times;
}

// Of `switchyard compare`: its own arms as stacks of backends.
StackTimes times_of_arms(const Json& json) {
    const Json &arms = member(json, "arms"), &pairs = member(json, "pairs");
    StackTimes times;
    times.whole_runs = true;
    const auto operation = text_of(json, "operation");
    const auto called = operation == "generate"  ? base::Called::by_phase
                        : operation == "forward" ? base::Called::at_all
                                                 : base::Called::in_training;
    times.what = text_of(json, "title");
    times.base = pairs.empty() ? text_of(arms.front(), "name") : text_of(pairs.front(), "base");
    for (const auto& arm : arms) {
        StackRow row;
        row.name = text_of(arm, "name");
        row.details = text_of(arm, "dtype");
        row.ran = base::executed_text(member(arm, "executed"), called);
        if (row.ran.empty()) row.ran = text_of(arm, "description");
        row.message = text_of(arm, "reason");
        row.is_base = row.name == times.base;
        row.ms = interval_of(arm, "step_ms");
        row.memory_bytes = number_of(arm, "peak_memory_bytes");
        for (const auto& pair : pairs) {
            if (text_of(pair, "arm") != row.name) continue;
            row.verdict = in_words(text_of(pair, "verdict"));
            row.speedup = interval_of(pair, "speedup");
        }
        times.rows.push_back(std::move(row));
    }
    return times;
}

}  // namespace

std::vector<Fact> host_facts(const Json& host) {
    std::vector<Fact> facts;
    add_fact(facts, "Host", text_of(host, "name"));
    add_fact(facts, "CPU", text_of(host, "cpu_model"));
    add_fact(facts, "Cores", shown(member(host, "cores")));
    if (const auto memory = number_of(host, "memory_bytes")) add_fact(facts, "Memory", bytes_text(*memory));
    const auto libtorch = text_of(host, "libtorch");
    add_fact(facts, "LibTorch", libtorch.empty() ? text_of(host, "libtorch_version") : libtorch);
    for (const auto& device : member(host, "devices")) {
        auto text = text_of(device, "name");
        if (const auto memory = number_of(device, "memory_bytes")) text += ", " + bytes_text(*memory);
        add_fact(facts, "Device " + text_of(device, "device"), text);
    }
    return facts;
}

const Points& Metrics::curve(const std::string& name) const {
    static const Points none;
    const auto found = curves.find(name);
    return found == curves.end() ? none : found->second;
}

std::string RunRecord::configured(const std::string& table, const std::string& key) const {
    std::string_view rest = config;
    bool inside = false;
    while (!rest.empty()) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.starts_with('[')) inside = line == "[" + table + "]";
        if (!inside || !line.starts_with(key + " = ")) continue;
        const auto value = line.substr(key.size() + 3);
        const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
        return std::string(quoted ? value.substr(1, value.size() - 2) : value);
    }
    return "";
}

RunRecord read_run(const std::string& folder) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) {
        throw InputError(
            folder + ": error: " +
            (std::filesystem::exists(folder, ignored) ? "is not a folder" : "there is no such folder") +
            "; expected the folder of a run, as `switchyard train --run` writes it");
    }
    const auto path = [&](const char* name) { return (std::filesystem::path(folder) / name).string(); };
    RunRecord run;
    run.folder = folder;
    const auto summary = read_text(path("summary.json"));
    const auto plan = read_text(path("plan.json"));
    if (summary) run.summary = read_summary(parse_object(*summary, path("summary.json")));
    run.metrics = metrics_of(path("metrics.jsonl"), summary.has_value());
    if (!summary && !run.metrics && !plan) {
        throw InputError(folder +
                         ": error: holds no run: none of summary.json, metrics.jsonl and plan.json is there");
    }
    if (plan) {
        const auto json = parse_object(*plan, path("plan.json"));
        run.plan = plan_rows(json);
        run.host = host_facts(member(json, "host"));
    }
    if (const auto record = read_text(path("record.json")))
        run.origin = read_origin(parse_object(*record, path("record.json")));
    run.config = read_text(path("config.toml")).value_or("");
    run.changes = read_changes(read_text(path("changes.jsonl")).value_or(""), path("changes.jsonl"));
    return run;
}

StackTimes read_stack_times(const std::string& file) {
    const auto text = read_text(file);
    if (!text) throw InputError(file + ": error: there is no such file");
    const auto json = parse_object(*text, file);
    const Json &rows = member(json, "rows"), &arms = member(json, "arms");
    const bool compared = are_objects(arms) && !arms.empty() && are_objects(member(json, "pairs"));
    if (!compared && (!are_objects(rows) || rows.empty())) {
        throw InputError(file +
                         ": error: \"rows\" is not a list of timed stacks; expected what `switchyard compare "
                         "CONFIG --json FILE` or `switchyard bench KIND --json FILE` writes");
    }
    StackTimes times = compared ? times_of_arms(json) : times_of_rows(rows);
    times.file = file;
    times.host = host_facts(member(json, "host"));
    add_fact(times.host, "Threads", shown(member(json, "threads")));
    add_fact(times.host, "Allocator", text_of(json, "allocator"));
    times.command = text_of(json, "command");
    return times;
}

}  // namespace switchyard::report
