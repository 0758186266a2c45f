// The page of a small made-up run, and what bad input gets. To add a file or a key: write it in `make_run`,
// ask for it below.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/kernel/base/limits.h"
#include "core/workbench/report/run_report.h"

#include <switchyard_test.h>

#include "balanced.h"

using namespace switchyard::report;
using switchyard::test::contains;
using switchyard::test::unbalanced;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

const char* const summary =
    R"({"status": "finished", "steps": 4, "process_steps": 3, "ranks": 2, "wall_seconds": 83.4, "train_seconds": 71.8, "samples_per_second": 65.44, "tokens_per_second": 1825.4, "mfu": 0.3517, "matmul_peak": {"flops_per_second": 123456789012.0, "dtype": "float32", "of": "mm of 1024 x 1024"},
  "step_ms": {"median": 476.6, "low": 307.3, "high": 683.2}, "peak_memory_bytes": 703084444,
  "memory": {"parameters": 100000000, "gradients": 100000000, "optimizer": 200000000, "masters": 50000000, "other": 253084444},
  "train_loss": 0.6758, "eval": {"loss": 0.6859, "accuracy": 0.8134, "labels": 1235}, "skipped_steps": 0,
  "executed": {"attention": [{"component": "fast<1>", "plugin": "p", "variant": "flash", "layers": "encoder.0-5", "phase": "train", "calls": 1824},
                             {"component": "other", "plugin": "q", "variant": "", "layers": "encoder.9", "phase": "train", "calls": 7}]},
  "loader": {"batches": 4, "padding_share": 0.385, "tokens_per_batch": 514.25, "wait_seconds": 0.4, "ready_batches": 3.81},
  "rows": {"read": 12561, "used": 11573, "truncated": 0, "skipped": 988}})";

const char* const plan =
    R"({"ok": true, "host": {"name": "this host", "cpu_model": "Made & Up", "cores": 2, "libtorch": "2.11.0", "devices": []},
  "slots": [{"slot": "attention", "kind": "attention", "layers": "encoder.0-5", "phase": "train", "backend": ["fast"], "from": "a.toml:30:1",
    "how": "named", "chosen": {"component": "fast<1>", "plugin": "p", "variant": "", "version": "0.1.0", "composed": ["dropout"]}, "error": null,
    "candidates": [{"component": "fast<1>", "plugin": "p", "variant": "", "ok": true, "why_not": ""},
                   {"component": "plain", "plugin": "q", "variant": "", "ok": true, "why_not": "not asked for"},
                   {"component": "odd", "plugin": "q", "variant": "", "ok": false, "reasons": [{"code": "x", "field": "head_dim", "expected": "64", "got": "32", "hint": ""}]}]},
   {"slot": "loss", "layers": "model", "phase": "eval", "how": "", "chosen": null, "error": "nobody serves it", "candidates": []}]})";

const char* const metrics =
    R"({"step":1,"loss":0.75,"lr":1e-4,"step_ms":400.0,"samples_per_second":60.0,"grad_norm":1.5,"mfu":0.3,"peak_memory_bytes":600000000,"tokens_per_second":1700}
{"step":2,"loss":null,"lr":2e-4,"step_ms":400.0,"samples_per_second":61.0,"grad_norm":2.5}
{"step":4,"loss":0.5,"lr":5e-5,"step_ms":400.0,"samples_per_second":62.0,"grad_norm":0.5,"mfu":0.36,"peak_memory_bytes":703084444,"tokens_per_second":1800}
{"step":4,"eval_loss":0.6859,"eval_accuracy":0.8134}
)";

const char* const config =
    "[model]\ntype = \"bert\"\n\n[task]\nkind = \"classification\"\nlabels = [\"<bad>\", \"good\"]\n\n"
    "[optimizer]\nlr = 2e-04\n";

const char* const record =
    R"({"version": 1, "command": "switchyard train 'my job.toml' --run <r>", "begun": "2026-03-01T14:05:09Z", "switchyard": {"version": "0.1.0", "commit": "0abc"},
  "facts": {"threads": 2, "cpu": "Made & Up", "libtorch": "2.11.0",
            "data": {"data.train": [{"path": "a<b.tsv", "xxh128": "00ff00ff"}, {"path": "pipe", "xxh128": ""}], "data.eval": []}}})";

fs::path make_run() {
    const auto folder = switchyard::test::temporary_dir("run");
    write(folder / "summary.json", summary);
    write(folder / "metrics.jsonl", metrics);
    write(folder / "plan.json", plan);
    write(folder / "config.toml", config);
    write(folder / "record.json", record);
    return folder;
}

std::string report_of(const fs::path& folder) { return run_report(read_run(folder.string()), nullptr); }

std::string error_of(const fs::path& folder) {
    try {
        read_run(folder.string());
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

std::string stacks_error(const fs::path& file) {
    try {
        read_stack_times(file.string());
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("what changed when a run was gone on with stands above its configuration") {
    const auto folder = make_run();
    CHECK_THAT(report_of(folder), !contains("After step"));
    write(folder / "changes.jsonl", R"({"step":2,"key":"optimizer.lr","before":"1e-04","now":"<2e-04>"}
{"step":3,"key":"data.train","before":"a.tsv with XXH3 1","now":"a.tsv with XXH3 2"}
{"step":4,"ke)");
    const auto html = report_of(folder);
    CHECK_THAT(html, contains("every value that held at the beginning"));
    for (const char* text : {"After step", "optimizer.lr", "1e-04", "&lt;2e-04&gt;", "a.tsv with XXH3 2"})
        CHECK_THAT(html, contains(text));
    CHECK(unbalanced(html).empty());
}

TEST_CASE("a report tells the run's numbers") {
    const auto html = report_of(make_run());
    CHECK(unbalanced(html) == "");
    for (const char* text :
         {": bert, classification</h1>",
          ">finished</span> after 4 steps",
          ">0.813</div>",
          "on 1,235 held-out labels",
          ">0.686</div>",
          ">65.4</div>",
          "1,825 tokens per second",
          ">35.2 %</div>",
          "of the 123 GFLOP/s that were measured (float32, mm of 1024 x 1024)",
          "Model FLOPs utilization: from 0.300 at step 1 to 0.360 at step 4",
          "<code>switchyard train &#39;my job.toml&#39; --run &lt;r&gt;</code>",
          "2026-03-01T14:05:09Z",
          ">0.1.0 (commit 0abc)<",
          "a&lt;b.tsv",
          "<code>00ff00ff</code>",
          "not known",
          "Peak memory: from 600 at step 1 to 703 at step 4",
          "Tokens: from 1,700 at step 1 to 1,800 at step 4",
          ">477 ms</div>",
          "307 to 683 ms",
          ">703 MB</div>",
          ">Wall time</dt>",
          ">1 min 23 s</div>",
          "1 min 12 s of it in training steps; resumed after step 1<",
          "not finite in 1 logged steps, first in step 2",
          "Training loss: from 0.750 at step 1 to 0.500 at step 4",
          "evaluation, step 4: 0.6859",
          "Gradient norm",
          "2e-4</text>",  // the highest rate
          "p/fast&lt;1&gt; 0.1.0",
          "1,824 flash",
          "named in <code>a.toml:30:1</code>",
          "composed by the core: dropout",
          "q/plain: not asked for",
          "q/odd does not serve it: head_dim: expected 64, got 32",
          "nobody serves it",
          "ran, but stands in no row of the plan",
          "200 MB, 28 %",
          "253 MB, 36 %",
          "Made &amp; Up",
          "[&quot;&lt;bad&gt;&quot;",
          "11,573 used, 12,561 read, 988 skipped",
          "38 % padding, 514 tokens a batch, waited for 0.40 s in all, 3.8 ready when one was "
          "asked for"}) {
        CHECK_THAT(html, contains(text));
    }
    CHECK_THAT(html, !contains("<bad>"));
    CHECK_THAT(html, !contains("http"));  // nothing from outside
    CHECK_THAT(html, !contains("<script"));
    CHECK_THAT(html, !contains("nan"));
}

TEST_CASE("a language model's report tells its perplexity") {
    const auto folder = make_run();
    write(folder / "summary.json",
          R"({"status": "finished", "steps": 4, "eval": {"loss": 1.5, "perplexity": 4.4817, "labels": 7}})");
    write(folder / "metrics.jsonl",
          "{\"step\":2,\"eval_perplexity\":8.5}\n{\"step\":4,\"eval_perplexity\":4.4817}\n");
    const auto html = report_of(folder);
    CHECK_THAT(html, contains(">Perplexity</dt>"));
    CHECK_THAT(html, contains(">4.48</div>"));
    CHECK_THAT(html, contains("Perplexity: from 8.50 at step 2 to 4.48 at step 4"));
    CHECK_THAT(report_of(make_run()), !contains("Perplexity"));
}

TEST_CASE("a report of several ranks shows sums beside backward") {
    const auto folder = make_run();
    const std::string begin = R"({"status": "finished", "steps": 4, "communication": {"steps": 3, )"
                              R"("ms_a_step": 31.25, "backward_ms_a_step": 100.5, "hidden": 0.7127, )"
                              R"("typical_step": {"backward_ms": 101.5, "sums": [)";
    const auto sum = [](const std::string& span) { return R"({"bytes": 1250000, )" + span + "}"; };
    const std::string first = sum(R"("begin_ms": 20.25, "end_ms": 41.5)");
    write(folder / "summary.json",
          begin + first + ", " + sum(R"("begin_ms": 101.5, "end_ms": 113)") + "]}}}");
    const auto html = report_of(folder);
    CHECK(unbalanced(html).empty());
    for (const char* text :
         {"<strong>71.3 %</strong>", "for 31.2 ms of a step, backward for 100 ms",
          "aria-label=\"Sums over the ranks beside backward. backward takes 102 ms; sum 1 goes on from 20.2 "
          "to 41.5 ms; sum 2 goes on from 102 to 113 ms\"",
          "1.25 MB"})
        CHECK_THAT(html, contains(text));
    CHECK_THAT(report_of(make_run()), !contains("Communication"));

    for (const std::string bad : {R"("begin_ms": 9, "end_ms": 8)", R"("begin_ms": -1, "end_ms": 8)",
                                  R"("begin_ms": "1", "end_ms": 8)", R"("begin_ms": 1, "end_ms": 1e300)"}) {
        write(folder / "summary.json", begin + sum(bad) + "]}}}");
        CHECK_THAT(report_of(folder), !contains("Communication"));
    }
    std::string many = first;
    for (int i = 0; i < 39; ++i) many += ", " + first;
    write(folder / "summary.json", begin + many + "]}}}");
    CHECK_THAT(report_of(folder),
               contains("24 more sums") && contains(">sum 40</text>") && !contains(">sum 16<"));
}

TEST_CASE("a report shows what candidates did beside the components that trained") {
    const auto folder = make_run();
    const auto write_shadow = [&](const std::string& shadow) {
        write(folder / "summary.json", R"({"status": "finished", "steps": 4, "shadow": )" + shadow + "}");
    };
    write_shadow(
        R"([{"slot": "attention", "layers": "encoder.0-5", "trusted": "torch/torch", "candidate": "mine/mine",
             "dropout": "off", "steps": 3, "calls": 18,
             "faults": {"calls": 2, "first": {"step": 1, "layer": "encoder.0", "text": "<b>no</b> room"}},
             "outputs": {"calls": 16, "median": 1.5e-7, "largest": 3.25e-6, "step": 3, "layer": "encoder.5",
                         "tensor": "out"},
             "gradients": null, "time_ratio": {"median": 0.75, "low": 0.5, "high": 1.25}}])");
    const auto html = report_of(folder);
    CHECK(unbalanced(html).empty());
    for (const char* text : {"<h2>Shadows</h2>", "1.5e-7, at most 3.2e-6", "&lt;b&gt;no&lt;/b&gt; room",
                             "0.750 [0.500, 1.25]", "18 *", "without dropout"})
        CHECK_THAT(html, contains(text));
    CHECK_THAT(html, !contains("<b>no</b>"));
    for (const std::string nothing : {"[]", "null", "7", R"({"slot": 1})"}) {
        write_shadow(nothing);
        CHECK_THAT(report_of(folder), !contains("Shadows"));
    }
    write_shadow(R"([{}, 7, {"outputs": {"median": "x"}, "faults": []}])");  // of nothing that is known
    CHECK(unbalanced(report_of(folder)).empty());
}

TEST_CASE("a report tells what an evaluation has of its task, and not of each label") {
    const auto folder = make_run();
    write(folder / "summary.json",
          R"({"status": "finished", "steps": 4, "eval": {"loss": 0.5, "labels": 7,
              "metrics": {"mae": 12.25, "pearson": 0.9, "mae/height": 99.75}}})");
    const auto html = report_of(folder);
    CHECK_THAT(html, contains(">Mean absolute error</dt>"));
    CHECK_THAT(html, contains(">12.2</div>") || contains(">12.3</div>"));
    CHECK_THAT(html, contains("Pearson"));
    CHECK_THAT(html, !contains("99.7"));
}

TEST_CASE("a run that goes on is reported as far as it is") {
    const auto folder = make_run();
    fs::remove(folder / "summary.json");
    write(folder / "metrics.jsonl", std::string(metrics).append("{\"step\":5,\"lo"));
    const auto html = report_of(folder);
    CHECK(unbalanced(html) == "");
    CHECK_THAT(html, contains("has not finished</span>: no summary.json yet, 4 steps logged"));
    CHECK_THAT(html, contains("The last line of metrics.jsonl was still being written"));
    CHECK_THAT(html, contains("of the last logged step"));
    CHECK_THAT(html, contains("about: steps times their mean time"));
    CHECK_THAT(html, !contains("Wall time"));
    fs::remove(folder / "metrics.jsonl");
    CHECK(unbalanced(report_of(folder)) == "");
}

TEST_CASE("keys that are missing or of another type are not shown") {
    const auto folder = make_run();
    write(folder / "summary.json",
          R"({"status": 3, "steps": "x", "eval": [], "memory": 7, "executed": [1], "step_ms": null})");
    write(folder / "plan.json", R"({"slots": [1, null, {"chosen": 4, "candidates": {"a": 1}}], "host": []})");
    write(folder / "metrics.jsonl", "{\"step\": \"a\"}\n{\"loss\": 1}\n\n{\"step\": 1, \"loss\": 1e300}\n");
    const auto html = report_of(folder);
    CHECK(unbalanced(html) == "");
    CHECK_THAT(html, contains("unknown outcome"));
}

TEST_CASE("a failed run shows why") {
    const auto folder = make_run();
    write(folder / "summary.json",
          R"({"status": "failed", "steps": 2, "error": "the loss is <nan>", "skipped_steps": 2})");
    const auto html = report_of(folder);
    CHECK_THAT(html, contains("<p class=\"notice\">the loss is &lt;nan&gt;</p>"));
    CHECK_THAT(html, contains("2 steps were skipped"));
}

TEST_CASE("a page stays below 500 KB however long the run") {
    const auto folder = make_run();
    std::ostringstream lines, slots;
    for (int step = 1; step <= 60000; ++step) {
        const double value = step == 31415 ? 9.875 : 0.5 + 0.1 * ((step * 7919) % 101) / 101.0;
        lines << R"({"step":)" << step << R"(,"loss":)" << value << R"(,"grad_norm":)" << value
              << R"(,"lr":0.5,"samples_per_second":)" << value << "}\n";
        if (step % 50 == 0)
            lines << R"({"step":)" << step << R"(,"eval_loss":)" << value << R"(,"eval_accuracy":0.5})"
                  << '\n';
    }
    for (int slot = 0; slot < 2000; ++slot)
        slots << (slot == 0 ? "" : ",") << R"({"slot":"s","phase":"train","how":")" << std::string(900, '&')
              << "\"}";
    write(folder / "metrics.jsonl", lines.str());
    write(folder / "plan.json", "{\"slots\":[" + slots.str() + "]}");
    write(folder / "config.toml", std::string(400000, '<'));
    const auto html = report_of(folder);
    CHECK(html.size() < 500000);
    CHECK(unbalanced(html) == "");
    CHECK_THAT(html, contains("highest 9.88 at step 31,415"));
    CHECK_THAT(html, contains("1850 more rows are in plan.json"));
}

TEST_CASE("a comparison of stacks is shown with its intervals, and why a stack has none") {
    const auto folder = make_run();
    write(folder / "steps.json", R"({"rows": [
      {"backend": "plain", "op": "step", "dtype": "float32", "base": "plain", "ms": {"median": 200.0, "low": 190.0, "high": 212.0},
       "speedup_over_base": {"median": 1.0, "low": 1.0, "high": 1.0}, "extra_memory_bytes": 159000000, "plugin": "q", "component": "plain"},
      {"backend": "fast", "op": "step", "dtype": "bfloat16", "base": "plain", "ms": {"median": 50.0, "low": 49.0, "high": 51.5},
       "speedup_over_base": {"median": 4.0, "low": 3.75, "high": 4.25}, "extra_memory_bytes": null, "more": [1]},
      {"backend": "broken", "op": "step", "ms": null, "message": "needs a <GPU>"}],
      "host": {"cpu_model": "Another", "memory_bytes": 25000000000}, "threads": 2, "command": "switchyard bench step a.toml"})");
    const auto stacks = read_stack_times((folder / "steps.json").string());
    const auto html = run_report(read_run(folder.string()), &stacks);
    CHECK(unbalanced(html) == "");
    for (const char* text :
         {"Lowest median: <strong>fast</strong>, 50.0 ms, 4.00 [3.75, 4.25] times as fast as the base.",
          "200 [190, 212]", "50.0 [49.0, 51.5]", "4.00 [3.75, 4.25]×", "159 MB", "q/plain",
          "not timed: needs a &lt;GPU&gt;", "CPU of the timing", "Another", "25.0 GB",
          "switchyard bench step a.toml", "fast (bfloat16)", "Timed: step."}) {
        CHECK_THAT(html, contains(text));
    }
}

TEST_CASE("a base that was swept is its row with that value") {
    const auto folder = switchyard::test::temporary_dir("stacks");
    write(folder / "bench.json", R"({"rows": [
      {"backend": "chunked", "op": "attention", "options": {"chunk_size": 32}, "base": "chunked chunk_size=32"},
      {"backend": "chunked", "op": "attention", "options": {"chunk_size": 64}, "base": "chunked chunk_size=32"},
      {"backend": "torch", "op": "attention", "options": {}, "base": "chunked chunk_size=32"}]})");
    const auto stacks = read_stack_times((folder / "bench.json").string());
    REQUIRE(stacks.rows.size() == 3);
    CHECK(stacks.rows[0].is_base);
    CHECK_FALSE(stacks.rows[1].is_base);
    CHECK_FALSE(stacks.rows[2].is_base);
}

TEST_CASE("the page of a run takes a comparison of whole runs for its stacks") {
    const auto file = switchyard::test::temporary_dir("compared") / "compare.json";
    write(file, R"({"title": "bert", "arms": [
      {"name": "attention=naive", "dtype": "float32", "step_ms": {"median": 300.0, "low": 299.0, "high": 301.0},
       "executed": {"attention": [{"component": "naive", "plugin": "naive", "variant": "", "phase": "train"}]}},
      {"name": "peer", "description": "PyTorch <2>", "step_ms": null, "reason": "crashed"}],
      "pairs": [{"base": "attention=naive", "arm": "peer", "verdict": "CANNOT_TELL", "speedup": {"median": 3.0}}],
      "command": "switchyard compare a.toml"})");
    const auto times = read_stack_times(file.string());
    REQUIRE(times.rows.size() == 2);
    CHECK(times.base == "attention=naive");
    CHECK(times.rows[0].is_base);
    CHECK(times.rows[0].ran == "attention naive");
    CHECK(times.rows[1].ran == "PyTorch <2>");
    CHECK(times.rows[1].verdict == "CANNOT TELL");
    CHECK(times.rows[1].speedup->median == 3.0);
    CHECK(times.whole_runs);
}

TEST_CASE("what cannot be read is named with its place") {
    const auto folder = make_run();
    const auto path = [&](const char* name) { return (folder / name).string(); };
    write(folder / "metrics.jsonl", "{\"step\":1,\"loss\":1}\n{\"step\":2,\"lo\n{\"step\":3,\"loss\":1}\n");
    CHECK_THAT(error_of(folder), Catch::StartsWith(path("metrics.jsonl") + ":2:14: error: not valid JSON: "));
    write(folder / "metrics.jsonl", "{\"step\":1,\"loss\":1}\n[1]\n");
    CHECK(error_of(folder) == path("metrics.jsonl") + ":2: error: expected a JSON object, got a list");
    write(folder / "metrics.jsonl", "{\"step\":1,\"lo");  // cut off, though the run has ended
    CHECK_THAT(error_of(folder), Catch::StartsWith(path("metrics.jsonl") + ":1:14: error: not valid JSON: "));
    write(folder / "metrics.jsonl", metrics);
    write(folder / "summary.json", "{\n\"steps\": 3,\n}");
    CHECK_THAT(error_of(folder), Catch::StartsWith(path("summary.json") + ":3:1: error: not valid JSON: "));
    write(folder / "summary.json", "");
    CHECK_THAT(error_of(folder), Catch::StartsWith(path("summary.json") + ":1:1: error: not valid JSON: "));
}

TEST_CASE("a metrics.jsonl may be larger than any file that is read as a whole, and its lines may not") {
    namespace limits = switchyard::base::limits;
    const auto folder = make_run();
    const auto file = folder / "metrics.jsonl";
    const std::string first = "{\"step\":1,\"loss\":1}\n";
    write(file, first);
    // A hole: the disk holds nothing of it.
    fs::resize_file(file, first.size() + limits::line_bytes + 1);
    std::ofstream(file, std::ios::app) << '\n';
    fs::resize_file(file, limits::file_bytes + 1);
    CHECK(error_of(folder) ==
          file.string() + ":2: error: the line is longer than 16777216 bytes, the most that is read");
}

TEST_CASE("files of a run that nest without end are refused") {
    const auto deep = "{\"a\":" + std::string(60'000, '[') + std::string(60'000, ']') + "}";
    for (const char* name : {"metrics.jsonl", "plan.json", "summary.json"}) {
        const auto folder = make_run();
        write(folder / name, deep);
        CHECK_THAT(error_of(folder),
                   contains(std::string(name) + ":1:69: error: not valid JSON: more than 64 "));
    }
}

TEST_CASE("a folder that is no run is refused") {
    const auto folder = switchyard::test::temporary_dir("no_run");
    CHECK(error_of(folder) ==
          folder.string() +
              ": error: holds no run: none of summary.json, metrics.jsonl and plan.json is there");
    CHECK_THAT(error_of(folder / "nowhere"),
               contains("nowhere: error: there is no such folder; expected the folder of a run"));
    write(folder / "file", "");
    CHECK_THAT(error_of(folder / "file"), contains("file: error: is not a folder"));
}

TEST_CASE("a file that is no comparison of stacks is refused") {
    const auto folder = switchyard::test::temporary_dir("stacks");
    CHECK(stacks_error(folder / "none.json") ==
          (folder / "none.json").string() + ": error: there is no such file");
    for (const char* text : {"{}", "{\"rows\": []}", "{\"rows\": [1]}", "{\"rows\": {\"a\": {}}}"}) {
        write(folder / "a.json", text);
        CHECK_THAT(stacks_error(folder / "a.json"),
                   contains("a.json: error: \"rows\" is not a list of timed stacks; expected"));
    }
    write(folder / "a.json", "rows");
    CHECK_THAT(stacks_error(folder / "a.json"), contains("a.json:1:1: error: not valid JSON: "));
}
