// switchyard-manifest: every mistake in a plugin.toml is told with its place, and nothing is written. To add
// a mistake: a row.
#include "core/kernel/loader/probe/mapped_files.h"

#include "count_of.h"
#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard::loader;
using namespace switchyard::test;

namespace {

const std::string head =
    "name = \"mine\"\nversion = \"1\"\nvendor = \"v\"\nlicense = \"l\"\nsummary = \"s\"\n";
const std::string component =
    "[[component]]\nkind = \"loss\"\nid = \"a\"\nclass = \"A\"\nheader = \"a.h\"\nsummary = \"s\"\ngradient "
    "= \"kernel\"\n";

std::string libtorch() { return std::filesystem::path(path_of("libc10.so", mapped_files())).parent_path(); }

std::string quoted(const std::string& path) { return std::string("'").append(path).append("'"); }

struct Made {
    Ran ran;
    std::string output;  // the file's content; empty if it was not written
};

Made make(const std::string& toml, const std::string& arguments = "") {
    const std::string folder = temporary_dir("manifest");
    write_file(folder + "/plugin.toml", toml);
    Made made;
    made.ran = run("cd '" + folder + "' && '" + manifest_program() + "' --manifest plugin.toml --libtorch '" +
                   libtorch() + "' --output out.cpp " + arguments);
    if (std::filesystem::exists(folder + "/out.cpp")) made.output = read_file(folder + "/out.cpp");
    return made;
}

}  // namespace

TEST_CASE("a plugin.toml becomes a source with both faces of the plugin") {
    const Made made = make(head + "init = \"start\"\ninit_header = \"start.h\"\n" + component);
    INFO(made.ran.output);
    CHECK(made.ran.exit_code == 0);
    CHECK_THAT(made.output, contains("#include \"a.h\"\n#include \"start.h\"\n"));
    CHECK_THAT(made.output, contains("switchyard::sdk::component<switchyard::Kind::loss, A>"));
    CHECK_THAT(made.output, contains("libtorch_cpu_build_id="));
    CHECK_THAT(made.output, contains("section(\"switchyard_manifest\"), used, retain"));
    CHECK_THAT(made.output, contains("&start};"));
}

TEST_CASE("texts with quotes, backslashes and other alphabets are kept") {
    std::string toml = head + component;
    toml.replace(toml.find("summary = \"s\""), 13, R"(summary = "a \"quoted\" \\ été")");
    CHECK_THAT(make(toml).output, contains(R"(\"summary\":\"a \\\"quoted\\\" \\\\ été\")"));
}

TEST_CASE("each mistake is told with its place, and nothing is written") {
    struct Row {
        std::string toml, message;
    };
    const std::string option = "[component.options.k]\nhelp = \"h\"\n";
    const Row rows[] = {
        {component, "plugin.toml:1:1: error: name: is missing"},
        {"name = \"My Plugin\"\n" + component,
         "plugin.toml:1:8: error: name: is the string \"My Plugin\"; expected a name: lower-case letters"},
        {head, "plugin.toml:1:1: error: component: is missing; expected at least one [[component]]"},
        {head + "component = 3\n",
         "plugin.toml:6:13: error: component: is the integer 3; expected [[component]], in double brackets"},
        {head + "vendr = \"x\"\n" + component,
         "plugin.toml:6:1: error: vendr: unknown key; did you mean vendor?"},
        {head + "cpu_features = \"avx2\"\n" + component,
         "cpu_features: is the string \"avx2\"; expected a list of strings"},
        {head + "cpu_features = [\"avx2\", \"avx2\"]\n" + component, "cpu_features: has 'avx2' twice"},
        {head + "init_header = \"x.h\"\n" + component, "init_header: stands without init"},
        {head + "tier = \"stabel\"\n" + component,
         "plugin.toml:6:8: error: tier: is the string \"stabel\"; expected one of \"native\", \"stable\"; "
         "did you "
         "mean \"stable\"?"},
        {head + "tier = \"stable\"\n[[component]]\nkind = \"loss\"\nid = \"a\"\n",
         "plugin.toml:8:8: error: component[0].kind: is the string \"loss\"; expected"},
        {head + "tier = \"stable\"\n[[component]]\nkind = \"linear\"\nid = \"a\"\nclass = \"A\"\n",
         "plugin.toml:10:9: error: component[0].class: has no meaning in the stable tier"},
        {head + "tier = \"stable\"\ninit = \"f\"\n", "plugin.toml:7:8: error: init: "},
        {head + "tier = \"stable\"\nlibtorch_minimum = \"new\"\n",
         "plugin.toml:7:20: error: libtorch_minimum: is the string \"new\"; expected a version of LibTorch"},
        {head + "libtorch_minimum = \"2.10\"\n" + component,
         "plugin.toml:6:20: error: libtorch_minimum: is for tier = \"stable\" only"},
        {head + "[[component]]\nkind = \"atention\"\n",
         "plugin.toml:7:8: error: component[0].kind: is the string \"atention\"; expected one of "
         R"("attention", "normalization", "activation", "loss", "optimizer", "precision", "data_loader", )"
         R"("linear"; did you mean "attention"?)"},
        {head + "[[component]]\nkind = \"loss\"\n",
         "plugin.toml:6:1: error: component[0].gradient: is missing; expected one of "
         R"("kernel", "differentiable", "recompute", "none")"},
        {head + component + component, "component[1].id: is 'a', as of an earlier component of kind loss"},
        {head + component + "clas = \"B\"\n", "component[0].clas: unknown key; did you mean class?"},
        {head + component + "priority = -1\n",
         "component[0].priority: is the integer -1; expected an integer >= 0 and <= 1000"},
        {head + component + "variants = [\"A B\"]\n",
         "component[0].variants: is the string \"A B\"; expected a name"},
        {head + "[[component]]\nkind = \"normalization\"\ncustom = [\"a\"]\n",
         "component[0].custom: is for an activation, a loss or an optimizer only"},
        {head + "[[component]]\nkind = \"loss\"\ngradient = \"recompute\"\ncustom = [\"a\"]\n",
         "component[0].gradient: is recompute, but there is no reference of a formula of your own"},
        {head + "[[component]]\nkind = \"optimizer\"\ncustom = [\"A B\"]\n",
         "component[0].custom: is the string \"A B\"; expected a name"},
        {head + component + "accuracy = \"reduced\"\n", "component[0].accuracy_bound: is missing"},
        {head + component + "accuracy = \"reduced\"\naccuracy_bound = 0\n",
         "component[0].accuracy_bound: is the integer 0; expected a number above 0"},
        {head + component + "accuracy_bound = 0.1\n",
         "component[0].accuracy_bound: is for accuracy = \"reduced\" only"},
        {head + "[[component]]\nkind = \"optimizer\"\ngradient = \"kernel\"\n",
         "component[0].gradient: an optimizer is not differentiated; leave it out"},
        {head + component + option,
         "component[0].options.k.type: is missing; expected one of "
         R"("boolean", "integer", "number", "string", "list")"},
        {head + component + option + "type = \"integer\"\n", "component[0].options.k.default: is missing"},
        {head + component + option + "type = \"integer\"\ndefault = 1.5\n",
         "component[0].options.k.default: is the number 1.5; expected an integer"},
        {head + component + option + "type = \"integer\"\ndefault = 1\nmin = 2\n",
         "component[0].options.k.default: is the integer 1; expected an integer >= 2"},
        {head + component + option + "type = \"number\"\ndefault = 1\nmin = 2\nmax = 1\n",
         "component[0].options.k.min: is larger than max"},
        {head + component + option + "type = \"boolean\"\ndefault = true\nmin = 2\n",
         "component[0].options.k.min: has no meaning for an option of type boolean"},
        {head + component + option + "type = \"string\"\ndefault = \"z\"\nchoices = [\"x\", \"y\"]\n",
         "component[0].options.k.default: is the string \"z\"; expected one of \"x\", \"y\""},
        {"name = \n", "plugin.toml:1:"},
        {"\xff\xfe", "is not valid UTF-8"},
        {std::string(10000, '['), "brackets are nested too deeply"},
    };
    for (const Row& row : rows) {
        const Made made = make(row.toml);
        INFO(row.toml.substr(0, 400));
        CHECK(made.ran.exit_code == 2);
        CHECK_THAT(made.ran.output, contains(row.message));
        CHECK(made.output.empty());
    }
}

TEST_CASE("all mistakes are told in one pass") {
    const Made made =
        make("name = \"A\"\nversion = 1\nvendor = \"\"\nlicense = \"l\"\nsummary = \"s\"\nx = 1\n" +
             component + "priority = 1.5\n");
    CHECK(count_of(made.ran.output, "error:") == 5);
}

TEST_CASE("the plugin is called as its target, and LibTorch must be where it is said to be") {
    CHECK_THAT(make(head + component, "--name other").ran.output,
               contains("expected 'other', the name of the CMake target and of the library"));
    const Ran ran = run("cd /tmp && '" + manifest_program() + "' --manifest '" +
                        (source_dir() / "tests/support/plugins/good/plugin.toml").string() +
                        "' --libtorch /nonexistent --output /nonexistent/out.cpp");
    CHECK(ran.exit_code == 2);
    CHECK_THAT(ran.output, contains("/nonexistent/libtorch_cpu.so: error: cannot be read"));
    CHECK(run(quoted(manifest_program()) + " --manifest /nonexistent.toml --libtorch /x --output /x")
              .exit_code == 2);
    CHECK(run(quoted(manifest_program())).exit_code == 2);
    CHECK(run(quoted(manifest_program()) + " --help").exit_code == 0);
}
