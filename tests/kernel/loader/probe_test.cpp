// The probe: each way for a plugin to misbehave while it is loaded or called ends in a message with phase and
// reason, and the others still work. To add one: a plugin in tests/support/plugins and a row.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>

#include "core/kernel/loader/probe/probe_runner.h"

#include "fixture.h"
#include "nested_json.h"
#include "sanitized.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::loader;
using namespace switchyard::machine;
using namespace switchyard::test;

namespace {

// What hangs does so until its deadline: twice what all the others need to end, whatever else the machine
// does.
std::chrono::milliseconds hang_deadline{6000};

// The bad ones and the good one, probed once for all test cases.
const std::map<std::string, PluginRecord>& all() {
    static const auto records = [] {
        std::map<std::string, PluginRecord> by_name;
        const auto probe = [&](const std::vector<std::string>& plugins, std::chrono::milliseconds deadline) {
            DiscoveryOptions options = only(plugins);
            options.probe_deadline = deadline;
            for (PluginRecord& record : discover(options, this_host(Look::cpu_only)))
                by_name[record.display_name()] = record;
        };
        const auto begun = std::chrono::steady_clock::now();
        probe({good_plugin(), bad_plugin("crashes_at_load"), bad_plugin("exits_at_load"),
               bad_plugin("throws_at_load"), bad_plugin("lacks_symbol"), bad_plugin("refuses_init"),
               bad_plugin("crashes_in_create"), bad_plugin("aborts_at_exit"), bad_plugin("prints"),
               bad_plugin("throws")},
              std::chrono::minutes(5));
        const auto took = std::chrono::steady_clock::now() - begun;
        hang_deadline =
            std::max(hang_deadline, std::chrono::duration_cast<std::chrono::milliseconds>(2 * took));
        probe({bad_plugin("hangs_at_load")}, hang_deadline);
        return by_name;
    }();
    return records;
}

ProbeTranscript transcript(const std::string& lines, int wait_status) {
    ProbeTranscript result;
    result.lines = lines;
    result.wait_status = wait_status;
    result.deadline = std::chrono::milliseconds(1234);
    return result;
}

constexpr int exited(int code) { return code << 8; }

}  // namespace

TEST_CASE("a plugin that misbehaves is refused with phase and reason") {
    struct Row {
        const char *plugin, *reason;
    };
    all();  // sets the deadline
    const auto hangs =
        "in load: did not come back within " + std::to_string(hang_deadline.count()) + " ms and was stopped";
    // Whether what is thrown passes dlopen(), which is declared not to throw, is the compiler's choice.
    const std::string passed = "in load: threw the int 7";
    const bool passes = all().at("test_throws_at_load").failure()->reason == passed;
    const std::string thrown =
        passes ? passed
               : "in load: crashed with SIGABRT (abort or a failed assertion), after printing \"terminate "
                 "called after throwing an instance of 'int'\"";
    const Row rows[] = {
        {"test_crashes_at_load", "in load: crashed with SIGSEGV (a memory access that is not allowed)"},
        {"test_exits_at_load", "in load: ended the process with exit code 3"},
        {"test_hangs_at_load", hangs.c_str()},
        {"test_throws_at_load", thrown.c_str()},
        {"test_lacks_symbol",
         "before anything of it ran: needs the symbol somewhere::not_there(int), which no library that it "
         "names has"},
        {"test_refuses_init", "in init: the licence has run out"},
        {"test_crashes_in_create",
         "in create of activation 'crash': crashed with SIGSEGV (a memory access that is not allowed)"},
        {"test_aborts_at_exit", "when the process ended: crashed with SIGABRT (abort or a failed assertion)"},
    };
    for (const Row& row : rows) {
        if (thread_sanitized && std::string(row.plugin) == "test_exits_at_load") continue;
        INFO(row.plugin);
        const PluginRecord& record = all().at(row.plugin);
        REQUIRE(record.failure() != nullptr);
        CHECK(record.failure()->gate == Gate::probe);
        CHECK(record.failure()->reason == row.reason);
        CHECK_FALSE(record.usable());
        CHECK_THAT(explain(record), contains(bad_plugin(std::string(row.plugin).substr(5)) +
                                             ": refused at gate probe: " + row.reason));
    }
}

TEST_CASE("the others still work") {
    const PluginRecord& good = all().at("test_good");
    INFO(explain(good));
    REQUIRE(good.usable());
    REQUIRE(good.probe.has_value());
    CHECK(good.probe->components.size() == 5);
    for (const ComponentProbe& component : good.probe->components) {
        CHECK(component.ran);
        CHECK_FALSE(component.failure.has_value());
    }
}

TEST_CASE("what a plugin prints does not get into its report") {
    const PluginRecord& record = all().at("test_prints");
    REQUIRE(record.usable());
    CHECK(record.probe->components.size() == 1);
    CHECK(record.probe->output.size() <= 1024);
    CHECK_THAT(record.probe->output, contains("all work and no play"));
}

TEST_CASE("a component that throws is refused alone") {
    const PluginRecord& record = all().at("test_throws");
    REQUIRE(record.usable());
    const auto failure = [&](const char* id) { return record.component_failure(Kind::activation, id); };
    CHECK(failure("nowhere").empty());
    CHECK(failure("in_supports") == "in supports of activation 'in_supports': threw: threw the int 42");
    CHECK(failure("in_create") == "in create of activation 'in_create': threw: no room for me");
    CHECK(failure("in_forward") == "in forward of activation 'in_forward': threw: threw the int 43");
    CHECK(failure("in_backward").empty());  // the probe goes forward only
    CHECK(failure("wrong_shape") ==
          "in forward of activation 'wrong_shape': returned its output of shape [64], expected [4, 16]");
}

TEST_CASE("every component tells for each device and dtype whether it serves it, or why not") {
    const ComponentProbe* activation = all().at("test_good").probe->find(Kind::activation, "by_autograd");
    REQUIRE(activation != nullptr);
    CHECK(activation->support.size() == 8);
    for (const SupportCell& cell : activation->support) {
        CHECK(cell.ok == (cell.device == Device::cpu));
        if (cell.ok) CHECK(cell.serves == std::vector<std::string>{"relu", "silu"});
        if (!cell.ok) CHECK(cell.reasons.at(0).field == "device");
    }
    const ComponentProbe* attention = all().at("test_good").probe->find(Kind::attention, "by_kernel");
    for (const SupportCell& cell : attention->support) {
        if (cell.device != Device::cpu) continue;
        CHECK(cell.ok == (cell.dtype == DType::float32 || cell.dtype == DType::float64));
    }
    const auto& values = attention->support.front().values;
    REQUIRE(values.size() == 3);
    CHECK(values[0] == ServedValues{"layout", {"padded"}, {"packed"}});
    CHECK(values[1].field == "masks");
    CHECK(values[1].served.empty());
    CHECK(values[1].refused.size() == names<MaskKind>.size());
    CHECK(values[2] == ServedValues{"also",
                                    {"needs_grad", "custom_scale", "want_lse"},
                                    {"dropout", "grouped heads", "paged_cache", "query_offsets"}});
    CHECK(attention->support.back().values.empty());
    const auto again = parse_probe_report(to_json(*all().at("test_good").probe));
    REQUIRE(again);
    const auto& read = again->find(Kind::attention, "by_kernel")->support.front().values;
    CHECK((read == values));  // has no text
    if (this_host(Look::with_devices).devices.empty()) CHECK(attention->support.back().host == "h100");
}

TEST_CASE("a probe that cannot be started says so, and blames no plugin") {
    const ProbeReport report =
        ProbeProcess({"/nonexistent/probe", std::chrono::milliseconds(1000)}).probe(good_plugin());
    REQUIRE(report.failure.has_value());
    CHECK(report.failure->phase == ProbePhase::start);
    CHECK_THAT(to_string(*report.failure), contains("before anything of it ran: the probe program "
                                                    "/nonexistent/probe could not be started: No such file"));
}

TEST_CASE("a probe is not touched by those before it in the same process, whatever became of them") {
    const auto alone = [](const std::string& plugin) {
        return ProbeProcess({probe_program(), std::chrono::minutes(5)}).probe(plugin);
    };
    const auto told = [](ProbeReport report) {
        report.milliseconds = 0;
        return to_json(report);
    };
    if (!thread_sanitized)
        CHECK_THAT(to_string(alone(bad_plugin("breaks_off")).failure.value()),
                   contains("in load: ended the process with exit code 3, after printing \"half a line"));
    const std::string good = told(alone(good_plugin())), prints = told(alone(bad_plugin("prints")));
    ProbeProcess process({probe_program(), std::chrono::minutes(5)});
    CHECK(told(process.probe(good_plugin())) == good);
    CHECK(told(process.probe(bad_plugin("prints"))) == prints);
    CHECK(told(process.probe(good_plugin())) == good);
    for (const char* bad :
         {"crashes_at_load", "exits_at_load", "breaks_off", "aborts_at_exit", "crashes_in_create"}) {
        INFO(bad);
        CHECK(told(process.probe(bad_plugin(bad))) == told(alone(bad_plugin(bad))));
        CHECK(told(process.probe(good_plugin())) == good);
    }
}

TEST_CASE("the end of a probe is told from its last phase and how it ended") {
    const std::string in_create = "phase\tload\t\nphase\tcreate\tloss 'x'\n";
    const auto words = [](const ProbeReport& report) { return to_string(*report.failure); };
    CHECK(words(read_transcript(transcript(in_create, SIGBUS))) ==
          "in create of loss 'x': crashed with SIGBUS (a file became shorter, or no memory)");
    CHECK(words(read_transcript(transcript(in_create, SIGKILL))) ==
          "in create of loss 'x': crashed with SIGKILL (from outside, perhaps for lack of memory)");
    CHECK(words(read_transcript(transcript(in_create, exited(0)))) ==
          "in create of loss 'x': ended the process with exit code 0");
    CHECK(words(read_transcript(transcript("", exited(127)))) ==
          "before anything of it ran: ended the process with exit code 127");
    ProbeTranscript slow = transcript(in_create, SIGKILL);
    slow.timed_out = true;
    CHECK(words(read_transcript(slow)) ==
          "in create of loss 'x': did not come back within 1234 ms and was stopped");
    slow.output = "loading tables\nstill loading\n";
    CHECK_THAT(words(read_transcript(slow)), contains("after printing \"still loading\""));
    ProbeReport loaded;
    loaded.files["/lib/libfoo.so.1"] = "1:2:3:4";
    const ProbeReport crashed =
        read_transcript(transcript("phase\tload\t\nloaded\t" + to_json(loaded) + "\n" + in_create, SIGBUS));
    CHECK_THAT(words(crashed), contains("in create of loss 'x': crashed with SIGBUS"));
    CHECK(crashed.files == loaded.files);
    const ProbeReport at_load = read_transcript(transcript("phase\tload\t\n", SIGSEGV));
    CHECK(at_load.files.empty());
    CHECK_THAT(at_load.failure->hint, contains("`switchyard plugins doctor --fresh` tries again"));
    const std::string report = "report\t" + to_json(ProbeReport{}) + "\n";
    CHECK_FALSE(read_transcript(transcript(in_create + report, exited(0))).failure.has_value());
    CHECK(words(read_transcript(transcript(in_create + report, SIGSEGV)))
              .find("when the process ended: crashed with SIGSEGV") == 0);
    CHECK(words(read_transcript(transcript("nonsense\nphase\tnonsense\nreport\t{}\n", exited(0))))
              .find("before anything") == 0);
}

TEST_CASE("a person can run the probe") {
    const Ran ran = run("'" + probe_program() + "' '" + good_plugin() + "'");
    CHECK(ran.exit_code == 0);
    CHECK(parse_probe_report(ran.output).has_value());
    const Ran printed = run("{ '" + probe_program() + "' '" + bad_plugin("prints") + "' 2>/dev/null; }");
    CHECK(printed.exit_code == 0);
    CHECK(parse_probe_report(printed.output).has_value());
    CHECK(run("'" + probe_program() + "'").exit_code == 2);
    CHECK(run("'" + probe_program() + "' /lib/x86_64-linux-gnu/libc.so.6").exit_code == 1);
}

TEST_CASE("a report of a probe that nests deeper than JSON may is none") {
    const auto report = to_json(ProbeReport{});
    CHECK(parse_probe_report(nested(report, 0)).has_value());
    CHECK_FALSE(parse_probe_report(nested(report, 1)).has_value());
    CHECK_FALSE(parse_probe_report(std::string(100'000, '[')).has_value());
}
