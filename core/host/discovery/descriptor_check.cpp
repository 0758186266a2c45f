#include <switchyard/host/discovery/descriptor_check.h>

#include <vector>

#include <switchyard/base/joined.h>

namespace switchyard::host {

namespace {

std::string shown(double value) { return std::to_string(value); }
std::string shown(int value) { return std::to_string(value); }
std::string shown(std::string_view value) { return "'" + std::string(value).append("'"); }

// Collects the first difference.
class Comparison {
public:
    void text(const std::string& field, std::string_view expected, const char* got) {
        if (got == nullptr)
            note(field + " is a null pointer", shown(expected), "null");
        else if (expected != got)
            differs(field, shown(expected), shown(std::string_view(got)));
    }
    template <class Number>
    void number(const std::string& field, Number expected, Number got) {
        if (expected != got) differs(field, shown(expected), shown(got));
    }
    void note(const std::string& reason, const std::string& expected, const std::string& got) {
        if (!first) first = DescriptorProblem{reason, expected, got};
    }
    std::optional<DescriptorProblem> first;

private:
    void differs(const std::string& field, const std::string& expected, const std::string& got) {
        note("its descriptor says something else than its manifest about " + field, expected, got);
    }
};

bool same(const OptionSpec& a, const OptionSpec& b) {
    return a.name == b.name && a.type == b.type && a.default_value == b.default_value && a.min == b.min &&
           a.max == b.max && a.choices == b.choices && a.help == b.help;
}

bool same(const OptionSchema& a, const OptionSchema& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!same(a[i], b[i])) return false;
    }
    return true;
}

void compare_component(const SwitchyardComponent& entry, const ComponentManifest& component,
                       const std::string& where, Comparison& compare) {
    if (entry.struct_size < sizeof(SwitchyardComponent)) {
        return compare.note(where + " is smaller than this version of the interface has it",
                            shown(static_cast<int>(sizeof(SwitchyardComponent))),
                            shown(static_cast<int>(entry.struct_size)));
    }
    compare.text(where + ".kind", name(component.kind), entry.kind);
    compare.text(where + ".id", component.id, entry.id);
    compare.text(where + ".summary", component.summary, entry.summary);
    compare.text(where + ".variants", base::joined(component.variants, ","), entry.variants);
    compare.number(where + ".rank", component.rank, static_cast<int>(entry.rank));
    compare.text(where + ".gradient", name(component.gradient), entry.gradient);
    compare.text(where + ".random", name(component.random), entry.random);
    compare.text(where + ".accuracy", name(component.accuracy), entry.accuracy);
    compare.number(where + ".accuracy_bound", component.accuracy_bound, entry.accuracy_bound);
    const auto options = parse_option_schema(entry.options_schema == nullptr ? "" : entry.options_schema);
    if (!options.schema || !same(*options.schema, component.options)) {
        compare.note("its descriptor says something else than its manifest about " + where + ".options", {},
                     options.error);
    }
    if (entry.supports == nullptr || entry.create == nullptr || entry.destroy == nullptr) {
        compare.note(where + " lacks supports, create or destroy", "three functions", "a null pointer");
    }
}

}  // namespace

std::optional<DescriptorProblem> check_descriptor(const SwitchyardPlugin& descriptor,
                                                  const Manifest& manifest) {
    if (descriptor.magic != SWITCHYARD_PLUGIN_MAGIC) {
        return DescriptorProblem{"what it exports as switchyard_plugin_v1 is no plugin's descriptor",
                                 "SWYPLNV1 at its beginning", "something else"};
    }
    Comparison compare;
    compare.number("abi_major", manifest.abi_major, static_cast<int>(descriptor.abi_major));
    compare.number("abi_minor", manifest.abi_minor, static_cast<int>(descriptor.abi_minor));
    if (descriptor.struct_size < sizeof(SwitchyardPlugin)) {
        compare.note("its descriptor is smaller than this version of the interface has it",
                     shown(static_cast<int>(sizeof(SwitchyardPlugin))),
                     shown(static_cast<int>(descriptor.struct_size)));
    }
    if (compare.first) return compare.first;
    compare.text("name", manifest.name, descriptor.name);
    compare.text("version", manifest.version, descriptor.version);
    compare.text("vendor", manifest.vendor, descriptor.vendor);
    compare.text("license", manifest.license, descriptor.license);
    compare.text("summary", manifest.summary, descriptor.summary);
    compare.text("fingerprint", manifest.fingerprint_text, descriptor.fingerprint);
    compare.number("the number of components", static_cast<int>(manifest.components.size()),
                   static_cast<int>(descriptor.component_count));
    for (std::size_t i = 0; !compare.first && i < manifest.components.size(); ++i) {
        const std::string where = "component[" + std::to_string(i) + "]";
        if (descriptor.components == nullptr || descriptor.components[i] == nullptr)
            compare.note(where + " is a null pointer", "a component", "null");
        else
            compare_component(*descriptor.components[i], manifest.components[i], where, compare);
    }
    return compare.first;
}

}  // namespace switchyard::host
