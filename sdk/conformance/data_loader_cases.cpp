// Cases of data loaders: order, ranks, the last batch, cutting, padding, packing, documents, labels.
#include <switchyard/conformance/cases.h>
#include <switchyard/conformance/data_loader_run.h>
#include <switchyard/conformance/values.h>

namespace switchyard::conformance {
namespace {

std::string full_name(const LoaderSpec& spec) {
    std::string text = "data_loader/" + std::string(name(spec.params.layout));
    text += spec.labels_per_token ? "/token_labels/" : "/sample_labels/";
    return text + spec.family;
}

class Specs {
public:
    explicit Specs(LoaderSpec base) : base_(std::move(base)) {}

    void add_order() {
        with("shuffled", [](LoaderSpec&) {});
        with("in_order", [](LoaderSpec& s) { s.params.shuffle = false; });
        with("seed_above_32_bits", [](LoaderSpec& s) { s.params.seed += std::uint64_t{1} << 40; });
        with("many", [](LoaderSpec& s) { s.size = 301, s.params.batch_size = 7; });
        with("drop_last", [](LoaderSpec& s) { s.params.drop_last = true; });
        with("drop_last/in_order",
             [](LoaderSpec& s) { s.params.drop_last = true, s.params.shuffle = false; });
        with("whole_batches", [](LoaderSpec& s) { s.size = 20; });
        with("whole_batches/drop_last", [](LoaderSpec& s) { s.size = 20, s.params.drop_last = true; });
        with("one_batch", [](LoaderSpec& s) { s.params.batch_size = 64; });
        with("batch1", [](LoaderSpec& s) { s.params.batch_size = 1; });
        with("one_sample", [](LoaderSpec& s) { s.size = 1; });
        with("one_sample/drop_last", [](LoaderSpec& s) { s.size = 1, s.params.drop_last = true; });
        with("ranks3", [](LoaderSpec& s) { s.params.world_size = 3; });
        with("ranks3/in_order", [](LoaderSpec& s) { s.params.world_size = 3, s.params.shuffle = false; });
        with("ranks3/drop_last", [](LoaderSpec& s) { s.params.world_size = 3, s.params.drop_last = true; });
        with("ranks4/more_than_samples", [](LoaderSpec& s) { s.params.world_size = 4, s.size = 3; });
    }

    void add_contents() {
        with("max_length5", [](LoaderSpec& s) { s.params.max_length = 5; });
        with("max_length1", [](LoaderSpec& s) { s.params.max_length = 1; });
        with("token_type_ids", [](LoaderSpec& s) { s.token_type_ids = true; });
        with("token_type_ids/max_length5",
             [](LoaderSpec& s) { s.token_type_ids = true, s.params.max_length = 5; });
        with("target", [](LoaderSpec& s) { s.target = true; });
        with("target/max_length5", [](LoaderSpec& s) { s.target = true, s.params.max_length = 5; });
        with("no_labels", [](LoaderSpec& s) { s.no_labels = true; });
        if (!base_.labels_per_token) {
            with("float_labels1", [](LoaderSpec& s) { s.float_labels = 1; });
            with("float_labels3", [](LoaderSpec& s) { s.float_labels = 3; });
            with("float_labels3/max_length1",
                 [](LoaderSpec& s) { s.float_labels = 3, s.params.max_length = 1; });
        }
        with("equal_lengths", [](LoaderSpec& s) { s.equal_lengths = true; });
        if (base_.params.layout == Layout::padded) {
            with("pad_multiple4", [](LoaderSpec& s) { s.params.pad_multiple = 4; });
            with("pad_multiple4/max_length6",
                 [](LoaderSpec& s) { s.params.pad_multiple = 4, s.params.max_length = 6; });
            with("pad_multiple4/target", [](LoaderSpec& s) { s.params.pad_multiple = 4, s.target = true; });
        }
        with("empty_samples", [](LoaderSpec& s) { s.empty_samples = true; });
    }

    // Of components with a composition of their own.
    void add_budgets() {
        const auto budget = [](LoaderSpec& s, std::int64_t tokens, std::int64_t size) {
            s.params.token_budget = tokens, s.size = size, s.params.batch_size = 64;
            s.params.max_length = longest_sample;
        };
        with("budget40", [&](LoaderSpec& s) { budget(s, 40, 301); });
        with("budget40/in_order", [&](LoaderSpec& s) { budget(s, 40, 301), s.params.shuffle = false; });
        with("budget40/batch3", [&](LoaderSpec& s) { budget(s, 40, 101), s.params.batch_size = 3; });
        with("budget40/ranks3", [&](LoaderSpec& s) { budget(s, 40, 101), s.params.world_size = 3; });
        with("budget40/drop_last", [&](LoaderSpec& s) { budget(s, 40, 101), s.params.drop_last = true; });
        with("budget40/target", [&](LoaderSpec& s) { budget(s, 40, 101), s.target = true; });
        with("budget40/max_length5", [&](LoaderSpec& s) { budget(s, 40, 101), s.params.max_length = 5; });
        with("budget4", [&](LoaderSpec& s) { budget(s, 4, 23); });  // samples are longer
        with("budget40/pad_multiple4", [&](LoaderSpec& s) { budget(s, 40, 101), s.params.pad_multiple = 4; });
    }

    // Of the packed layout alone; a label for each token, or none.
    void add_documents() {
        if (base_.params.layout != Layout::packed) return;
        LoaderSpec plain = base_;
        base_.documents = true;
        base_.no_labels = !base_.labels_per_token;
        with("documents", [](LoaderSpec&) {});
        with("documents/max_length5", [](LoaderSpec& s) { s.params.max_length = 5; });
        with("documents/token_type_ids", [](LoaderSpec& s) { s.token_type_ids = true; });
        with("documents/ranks3", [](LoaderSpec& s) { s.params.world_size = 3; });
        with("documents/drop_last", [](LoaderSpec& s) { s.params.drop_last = true; });
        base_ = std::move(plain);
    }

    std::vector<LoaderSpec> all;

private:
    template <class Change>
    void with(const char* family, Change change) {
        LoaderSpec spec = base_;
        spec.family = family;
        change(spec);
        all.push_back(spec);
    }

    LoaderSpec base_;
};

FreeCase make_case(LoaderSpec spec, const Facts& facts, const VerifyOptions& options) {
    const std::string name = full_name(spec);
    spec.params.seed += seed_of(name, options.seed) >> 34;
    auto request = std::make_shared<DataLoaderRequest>();
    request->dtype = DType::int64;
    request->layout = spec.params.layout;
    request->batch = {1, spec.params.batch_size};
    request->length = {spec.empty_samples ? 0 : 1, spec.target ? 2 * longest_sample : longest_sample};
    request->labels_per_token = spec.labels_per_token;
    request->token_budget = spec.params.token_budget;
    const auto run = facts.composition == Composition::own ? run_own_composition : run_data_loader;
    return {name, request, [=](Findings& findings) { run(spec, request, findings); }};
}

}  // namespace

std::vector<FreeCase> listed_cases(KindTraits<Kind::data_loader>, const Facts& facts,
                                   const VerifyOptions& options) {
    std::vector<FreeCase> cases;
    for (const Layout layout : {Layout::padded, Layout::packed}) {
        for (const bool labels_per_token : {false, true}) {
            LoaderSpec base;
            base.params.layout = layout;
            base.params.batch_size = 4;
            base.params.pad_id = 7;
            base.labels_per_token = labels_per_token;
            Specs specs(base);
            specs.add_order();
            specs.add_contents();
            specs.add_documents();
            if (facts.composition == Composition::own) specs.add_budgets();
            for (const LoaderSpec& spec : specs.all) cases.push_back(make_case(spec, facts, options));
        }
    }
    return cases;
}

FreeCase drawn_case(KindTraits<Kind::data_loader>, Draw& draw, const Facts& facts,
                    const VerifyOptions& options) {
    LoaderSpec spec;
    spec.family = draw.family();
    LoaderParams& params = spec.params;
    if (draw.special(0.5)) params.layout = Layout::packed;
    params.pad_id = 7;
    params.batch_size = draw.size(1, 40);
    params.shuffle = draw.chance(0.7);
    params.drop_last = draw.special(0.3);
    if (draw.special(0.4)) params.world_size = draw.between(2, 5);
    if (draw.special(0.3)) params.max_length = draw.between(1, longest_sample);
    if (facts.composition == Composition::own && draw.special(0.5))
        params.token_budget = draw.between(4, 200);
    if (draw.special(0.3)) params.pad_multiple = draw.between(2, 8);
    if (draw.special(0.3)) params.seed += std::uint64_t{1} << draw.between(32, 62);
    spec.size = draw.size(1, 400);
    spec.labels_per_token = draw.special(0.5);
    spec.token_type_ids = draw.special(0.3);
    spec.documents = params.layout == Layout::packed && draw.special(0.3);
    spec.target = !spec.documents && draw.special(0.2);
    spec.equal_lengths = draw.special(0.2);
    spec.empty_samples = !spec.equal_lengths && draw.special(0.2);
    spec.no_labels = (spec.documents && !spec.labels_per_token) || draw.special(0.2);
    if (!spec.labels_per_token && !spec.no_labels && draw.special(0.2)) spec.float_labels = draw.size(1, 12);
    return make_case(spec, facts, options);
}

}  // namespace switchyard::conformance
