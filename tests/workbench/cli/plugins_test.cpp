// switchyard plugins list | info | doctor, with the plugins of this build and with bad ones beside them.
#include "run_switchyard.h"

#include "count_of.h"
#include "json_schema.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using test::run;

namespace {

// The build's plugins and, before them, a folder with a file that is none.
RunOptions with_broken_plugin() {
    const auto folder = temporary_dir("broken");
    std::ofstream(folder / "libbroken.so") << "this is no library";
    return {{{"SWITCHYARD_PLUGIN_PATH",
              folder.string() + ":" + (build_dir() / "lib/switchyard/plugins").string()}}};
}

const nlohmann::json& plugin(const nlohmann::json& json, const std::string& name) {
    for (const auto& each : json.at("plugins")) {
        if (each.at("name") == name) return each;
    }
    throw std::runtime_error("no plugin " + name + " in " + json.dump());
}

}  // namespace

TEST_CASE("the list has every plugin with its state") {
    const auto text = run({"plugins", "list"});
    INFO(text.err);
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("naive"));
    CHECK_THAT(text.out, contains("libtorch.so"));
    CHECK_THAT(text.out, contains("usable"));
    const auto json = run_json({"plugins", "list"});
    CHECK(schema_faults("plugins_list.json", json) == no_faults);
    CHECK(plugin(json, "naive").at("usable") == true);
    CHECK(plugin(json, "torch").at("components").size() >= 7);
}

TEST_CASE(
    "a plugin that is none is listed with its path, its gate and what to do, and the others still work") {
    const auto options = with_broken_plugin();
    const auto json = run_json({"plugins", "list"}, 0, options);
    CHECK(schema_faults("plugins_list.json", json) == no_faults);
    const auto& broken = plugin(json, "libbroken.so");
    CHECK(broken.at("usable") == false);
    CHECK(broken.at("gate") == "manifest");
    CHECK(broken.at("origin") == "SWITCHYARD_PLUGIN_PATH");
    CHECK_THAT(broken.at("reason").get<std::string>(), contains("no ELF file"));
    CHECK(plugin(json, "naive").at("usable") == true);
    const auto text = run({"plugins", "list"}, options);
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("refused: manifest"));
    CHECK_THAT(text.out, contains("no ELF file"));
}

TEST_CASE("the doctor shows the search path in order and what each component serves on each device") {
    const auto text = run({"plugins", "doctor"});
    INFO(text.out << text.err);
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("Search path, in order\n  1. "));
    CHECK_THAT(text.out, contains("(SWITCHYARD_PLUGIN_PATH): "));
    CHECK_THAT(text.out, contains("attention naive\n    cpu: float32"));
    CHECK_THAT(text.out, contains("nothing wrong with them"));
    const auto json = run_json({"plugins", "doctor"});
    CHECK(schema_faults("plugins_doctor.json", json) == no_faults);
    CHECK(json.at("ok") == true);
    const auto& probed = plugin(json, "naive").at("probe").at("components");
    CHECK(std::any_of(probed.begin(), probed.end(), [](const auto& c) { return c.at("ran") == true; }));
}

TEST_CASE("the doctor shows layouts, masks, dropout and what else a component serves") {
    const auto text = run({"plugins", "doctor"}).out;
    INFO(text);
    CHECK_THAT(text, contains("  attention naive\n    cpu: float32, bfloat16, float16, float64\n"
                              "      layout all; masks all; also dropout, needs_grad, grouped heads, "
                              "paged_cache, query_offsets, custom_scale, want_lse\n"));
    CHECK_THAT(text, contains("  attention torch\n    cpu: float32, bfloat16, float16, float64\n"
                              "      layout all; masks all but soft_cap; also dropout, needs_grad, grouped "
                              "heads, query_offsets, custom_scale, want_lse\n"));
    CHECK_THAT(text, contains("  normalization naive\n    cpu: float32, bfloat16, float16, float64 "
                              "(layer_norm, rms_norm)\n"
                              "      also input_bias, residual, dropout, needs_grad\n"));
    // aten is of packed sequences alone, on a device: as on the described host where there is none.
    const auto json = run_json({"plugins", "doctor"});
    const auto& components = plugin(json, "aten").at("probe").at("components");
    const auto& aten = *std::find_if(components.begin(), components.end(),
                                     [](const auto& c) { return c.at("id") == "aten"; });
    for (const auto& cell : aten.at("support")) {
        if (cell.at("ok") == false) {
            CHECK(cell.at("values").empty());
            continue;
        }
        CHECK(cell.at("device") == "cuda");
        CHECK(cell.at("values").at(0) ==
              nlohmann::json({{"field", "layout"}, {"served", {"packed"}}, {"refused", {"padded"}}}));
        CHECK(cell.at("values").at(1).at("served") ==
              nlohmann::json({"causal", "documents", "sliding_window"}));
        CHECK(cell.at("values").at(1).at("refused").size() == 6);
    }
}

TEST_CASE("the doctor finds the plugin with a fault, says what to do, and exits with 1") {
    const auto options = with_broken_plugin();
    const auto text = run({"plugins", "doctor"}, options);
    CHECK(text.code == 1);
    CHECK_THAT(text.out, contains("libbroken.so: refused: manifest"));
    CHECK_THAT(text.out, contains("what to do: build or copy it again"));
    CHECK_THAT(text.out, contains("1 with faults"));
    const auto json = run_json({"plugins", "doctor"}, 1, options);
    CHECK(schema_faults("plugins_doctor.json", json) == no_faults);
    CHECK(json.at("ok") == false);
}

TEST_CASE("info shows manifest, fingerprint, gates and probe of one plugin") {
    const auto text = run({"plugins", "info", "torch"});
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("libtorch = "));
    CHECK_THAT(text.out, contains("attention torch"));
    CHECK_THAT(text.out, contains("variants: "));
    CHECK_THAT(text.out, contains("manifest: passed"));
    const auto json = run_json({"plugins", "info", "torch"});
    CHECK(schema_faults("plugins_doctor.json", json) == no_faults);
    CHECK(json.at("plugins").size() == 1);
    const auto by_path =
        run_json({"plugins", "info", (build_dir() / "lib/switchyard/plugins/libnaive.so").string()});
    CHECK(by_path.at("plugins").at(0).at("name") == "naive");
}

TEST_CASE("info on an unknown plugin suggests one and says where it looked") {
    const auto outcome = run({"plugins", "info", "navie"});
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err,
               contains("error: no plugin is called \"navie\"; did you mean \"naive\"?\nlooked in:\n"));
    const auto path = run({"plugins", "info", "./no-such.so"});
    CHECK(path.code == 2);
    CHECK(path.err == "./no-such.so: error: there is no such file; expected the path of a library\n");
}

TEST_CASE("a folder of plugins that every user may write is told once, however many come from it") {
    namespace fs = std::filesystem;
    const auto folder = fs::canonical(temporary_dir("shared"));
    for (const char* name : {"libnaive.so", "libtorch.so"})
        fs::copy_file(build_dir() / "lib/switchyard/plugins" / name, folder / name);
    fs::permissions(folder, fs::perms::others_write, fs::perm_options::add);
    const RunOptions options{{{"SWITCHYARD_PLUGIN_PATH", folder.string()}}};
    const auto times = [&](const std::string& text) {
        return count_of(text, folder.string() + " may be written by every user");
    };
    const auto listed = run({"plugins", "list"}, options);
    INFO(listed.out);
    CHECK(times(listed.out) == 1);
    // Here both are loaded.
    const auto timed = run({"bench", "activation", "--backends", "naive,torch", "--shape", "4,16", "--dtype",
                            "float32", "--pass", "forward", "--blocks", "3", "--threads", "1"},
                           options);
    INFO(timed.out << timed.err);
    CHECK(timed.code == 0);
    CHECK(times(timed.err) == 1);
    CHECK(times(timed.out) == 0);
    const auto verified =
        run({"plugins", "verify", "--component", "activation", "--mode", "support"}, options);
    INFO(verified.out << verified.err);
    CHECK(verified.code == 0);
    CHECK(times(verified.err) == 1);
    CHECK(times(verified.out) == 0);
}
