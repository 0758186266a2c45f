// The text of the manifest section: what a good one says, and the words for each way to be bad. To add one: a
// row in "a bad manifest".
#include <cstdint>

#include "core/kernel/loader/elf_image.h"
#include "core/kernel/loader/manifest.h"

#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::loader;
using namespace switchyard::machine;
using namespace switchyard::test;

namespace {

std::string section_of(const std::string& text) {
    std::string section = "SWYDMAN1";
    for (const std::uint32_t number : {std::uint32_t{1}, static_cast<std::uint32_t>(text.size())}) {
        for (int byte = 0; byte < 4; ++byte) section += static_cast<char>(number >> (8 * byte));
    }
    return section + text;
}

const std::string component =
    R"({"kind":"loss","id":"a","summary":"s","variants":[],"priority":1,"gradient":"none","random":"none","accuracy":"exact","accuracy_bound":0,"options":{}})";

std::string json_with(const std::string& components, const std::string& abi = "[1,0]") {
    return R"({"name":"n","version":"1","vendor":"v","license":"l","summary":"s","abi":)" + abi +
           R"(,"cpu_features":[],"components":[)" + components + "]}";
}

std::string error_of(const std::string& json) { return parse_manifest(section_of("a=b\n\n" + json)).error; }

}  // namespace

TEST_CASE("a plugin's manifest says what its plugin.toml says") {
    const ElfResult elf = read_elf(good_plugin(), manifest_section);
    const ManifestResult result = parse_manifest(elf.image.section.value());
    REQUIRE(result.manifest.has_value());
    const Manifest& manifest = *result.manifest;
    CHECK(manifest.name == "test_good");
    CHECK(manifest.version == "1.2.3");
    CHECK(manifest.license == "Apache-2.0");
    CHECK(manifest.abi_major == 1);
    REQUIRE(manifest.components.size() == 5);
    const ComponentManifest* kernel = manifest.find(Kind::attention, "by_kernel");
    REQUIRE(kernel != nullptr);
    CHECK(kernel->priority == 10);
    CHECK(kernel->gradient == GradientMode::kernel);
    CHECK(kernel->variants == std::vector<std::string>{"plain", "doubled"});
    REQUIRE(kernel->options.size() == 1);
    CHECK(kernel->options[0].key == "chunk_size");
    CHECK(kernel->options[0].type == ValueType::integer);
    CHECK(kernel->options[0].default_value == OptionValue(std::int64_t{256}));
    CHECK(kernel->options[0].limits.min == 16.0);
    const ComponentManifest* rough = manifest.find(Kind::activation, "rough");
    REQUIRE(rough != nullptr);
    CHECK(rough->accuracy == Accuracy::reduced);
    CHECK(rough->accuracy_bound == 0.01);
    CHECK(manifest.find(Kind::loss, "rough") == nullptr);
    CHECK(manifest.fingerprint.at("libtorch") == this_host(Look::cpu_only).libtorch_version);
}

TEST_CASE("a bad manifest is told what is wrong with it") {
    CHECK(parse_manifest("").error == "it does not begin with SWYDMAN1");
    std::string other_format = section_of("a=b\n\n{}");
    other_format[8] = 2;
    CHECK(parse_manifest(other_format).error == "it has format 2, this program reads 1");
    std::string cut = section_of("a=b\n\n" + json_with(component));
    cut.pop_back();
    CHECK_THAT(parse_manifest(cut).error, contains("bytes, and"));
    CHECK(parse_manifest(section_of("a=b\n{}")).error == "no empty line ends its fingerprint");
    CHECK(parse_manifest(section_of("nothing\n\n{}")).error ==
          "its fingerprint has a line that is not key=value, or a key twice");
    CHECK_THAT(error_of("{"), contains("its JSON cannot be read"));
    CHECK(error_of("[]") == "the JSON is not an object");
    CHECK(error_of("{}") == "name is missing");
    CHECK(error_of(json_with("")) == "components is not a list with something in it");
    CHECK(error_of(json_with(component, "[1]")) == "abi is not [major, minor]");
    CHECK(error_of(json_with("7")) == "components[0] is not an object");
    CHECK(error_of(json_with(component + "," + component)) == "there are two components loss 'a'");
    std::string unknown = component;
    CHECK(error_of(json_with(unknown.replace(unknown.find("loss"), 4, "lost"))) ==
          "components[0].kind is 'lost', which this program does not know");
    std::string painted = component;
    CHECK(error_of(json_with(painted.replace(painted.find("\"s\""), 3, R"("s\u001b[2J")"))) ==
          "components[0].summary holds control characters");
    std::string bound = component;
    bound.replace(bound.find("exact"), 5, "reduced");
    CHECK(error_of(json_with(bound)) ==
          "components[0].accuracy_bound is above 0 where accuracy is 'reduced', and else 0");
    std::string option = component;
    option.replace(option.find("\"options\":{}"), 12,
                   R"("options":{"k":{"type":"integer","default":"x","help":"h"}})");
    CHECK(error_of(json_with(option)) ==
          "components[0].options.k.default is of another type than the option");
}

TEST_CASE("numbers that no program has are refused, however large") {
    const auto with_priority = [](const std::string& priority) {
        std::string text = component;
        const auto at = text.find("\"priority\":") + std::string_view("\"priority\":").size();
        return json_with(text.replace(at, text.find(',', at) - at, priority));
    };
    REQUIRE(error_of(with_priority("7")).empty());
    for (const std::string priority : {"1e300", "18446744073709551615", "9223372036854775808", "-1000001"})
        CHECK(error_of(with_priority(priority)) ==
              "components[0].priority is not an integer of a usable size");
}

TEST_CASE("keys of a later version are no error") {
    std::string later = json_with(component);
    later.insert(1, R"("something_new":[1,2],)");
    CHECK(error_of(later).empty());
}

TEST_CASE("JSON nested without end is an error and no crash") {
    CHECK_FALSE(error_of(std::string(500000, '[')).empty());
    CHECK_FALSE(error_of("{\"a\":" + std::string(500000, '[') + std::string(500000, ']') + "}").empty());
}
