#include "core/workbench/bench/bench_shape.h"

#include <charconv>
#include <stdexcept>

#include "core/kernel/base/printable.h"

namespace switchyard::bench {

namespace {

constexpr std::int64_t largest_dimension = std::int64_t{1} << 31;
constexpr std::int64_t most_values = std::int64_t{1} << 36;

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts{""};
    for (const char c : text) {
        if (c == separator) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

// Adds to `error` what is wrong with a part.
std::int64_t dimension(const std::string& part, std::string& error) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), value);
    const bool whole = code == std::errc{} && end == part.data() + part.size();
    if (!error.empty()) return 1;
    if (part.empty()) {
        error = "a number is missing";
    } else if (code == std::errc::result_out_of_range || (whole && value > largest_dimension)) {
        error = base::quoted(part) + " is too large";
    } else if (!whole) {
        error = "'" + base::quoted(part) + "' is not a whole number";
    } else if (value < 1) {
        error = "a dimension must be 1 or more, not " + part;
    }
    return error.empty() ? value : 1;
}

std::vector<std::int64_t> dimensions(const std::string& text, char separator, std::string& error) {
    std::vector<std::int64_t> values;
    for (const std::string& part : split(text, separator)) values.push_back(dimension(part, error));
    return values;
}

std::string count_of(const std::vector<std::int64_t>& d) {
    return std::to_string(d.size()) + (d.size() == 1 ? " number" : " numbers");
}

std::string fill_attention(const std::vector<std::int64_t>& d, BenchShape& shape) {
    if (d.size() != 4 && d.size() != 6) return count_of(d);
    const bool grouped = d.size() == 6;
    shape.batch = d[0];
    shape.heads = d[1];
    shape.kv_heads = grouped ? d[2] : d[1];
    shape.q_length = grouped ? d[3] : d[2];
    shape.kv_length = grouped ? d[4] : d[2];
    shape.head_dim = d.back();
    if (shape.heads % shape.kv_heads == 0) return "";
    return std::to_string(shape.heads) + " heads are not a multiple of " + std::to_string(shape.kv_heads) +
           " kv heads";
}

std::string fill_rows(const std::vector<std::int64_t>& d, BenchShape& shape) {
    if (d.size() != 2) return count_of(d);
    shape.rows = d[0];
    shape.width = d[1];
    return "";
}

std::string fill_loss(const std::vector<std::int64_t>& d, BenchShape& shape) {
    if (d.size() != 2 && d.size() != 3) return count_of(d);
    shape.rows = d[0];
    shape.classes = d[1];
    shape.width = d.size() == 3 ? d[2] : 0;
    return shape.classes < 2 ? "a loss needs 2 classes or more" : "";
}

std::string fill_linear(const std::vector<std::int64_t>& d, BenchShape& shape) {
    if (d.size() != 3) return count_of(d);
    shape.rows = d[0];
    shape.in = d[1];
    shape.out = d[2];
    return "";
}

using Sizes = std::vector<std::vector<std::int64_t>>;

// BERT-base with its pooler: 199 tensors, 109.5 million values (Devlin et al. 2018).
Sizes bert_base() {
    Sizes sizes{{30522, 768}, {512, 768}, {2, 768}, {768}, {768}};
    for (int layer = 0; layer < 12; ++layer) {
        for (int projection = 0; projection < 4; ++projection) sizes.insert(sizes.end(), {{768, 768}, {768}});
        sizes.insert(sizes.end(), {{768}, {768}, {3072, 768}, {3072}, {768, 3072}, {768}, {768}, {768}});
    }
    sizes.insert(sizes.end(), {{768, 768}, {768}});
    return sizes;
}

// Six GPT layers of width 512, vocabulary 10,000, tied: 76 tensors, 24.2 million values.
Sizes mini_gpt() {
    Sizes sizes{{10000, 512}, {256, 512}};
    for (int layer = 0; layer < 6; ++layer) {
        sizes.insert(sizes.end(), {{512}, {512}, {1536, 512}, {1536}, {512, 512}, {512}});
        sizes.insert(sizes.end(), {{512}, {512}, {2048, 512}, {2048}, {512, 2048}, {512}});
    }
    sizes.insert(sizes.end(), {{512}, {512}});
    return sizes;
}

std::string fill_tensors(const std::string& text, BenchShape& shape) {
    if (text == "bert-base") return shape.tensors = bert_base(), shape.embeddings = 3, "";
    if (text == "mini-gpt") return shape.tensors = mini_gpt(), shape.embeddings = 2, "";
    std::string error;
    for (const std::string& part : split(text, ',')) {
        const auto d = dimensions(part, 'x', error);
        if (!error.empty()) return error;
        if (d.size() > 3) return "'" + part + "' has more than COUNT, ROWS and COLUMNS";
        if (d.size() == 3 && d[0] > 100000) return "more than 100000 tensors";
        const std::vector<std::int64_t> size(d.size() == 3 ? d.begin() + 1 : d.begin(), d.end());
        shape.tensors.insert(shape.tensors.end(), d.size() == 3 ? static_cast<std::size_t>(d[0]) : 1U, size);
    }
    return "";
}

// What `--shape` takes of a kind.
struct ShapeForm {
    std::string standard;
    std::string help;
    std::string (*fill_text)(const std::string& text, BenchShape& shape);  // returns what is wrong
};

// Of dimensions with commas between them.
template <std::string (*fill)(const std::vector<std::int64_t>&, BenchShape&)>
std::string fill_dimensions(const std::string& text, BenchShape& shape) {
    std::string error;
    const auto d = dimensions(text, ',', error);
    return error.empty() ? fill(d, shape) : error;
}

ShapeForm form_of(KindTraits<Kind::attention>) {
    return {"4,12,512,64",
            "B,H,N,D (batch, heads, length, head_dim) or B,H,K,N,M,D (with kv heads, queries, keys)",
            fill_dimensions<fill_attention>};
}

ShapeForm form_of(KindTraits<Kind::normalization>) {
    return {"4096,768", "ROWS,WIDTH", fill_dimensions<fill_rows>};
}

ShapeForm form_of(KindTraits<Kind::activation>) {
    return {"4096,3072", "ROWS,WIDTH", fill_dimensions<fill_rows>};
}

ShapeForm form_of(KindTraits<Kind::loss>) {
    return {"1024,30522", "ROWS,CLASSES or, with the output projection, ROWS,CLASSES,WIDTH",
            fill_dimensions<fill_loss>};
}

ShapeForm form_of(KindTraits<Kind::optimizer>) {
    return {"mini-gpt",
            "bert-base, mini-gpt, or tensors as in 4096x768,12x768x768,768 ([COUNTx]ROWSxCOLUMNS)",
            fill_tensors};
}

ShapeForm form_of(KindTraits<Kind::linear>) {
    return {"2048,768,3072", "ROWS,IN,OUT", fill_dimensions<fill_linear>};
}

// Throws std::invalid_argument for a kind that is not timed on its own.
ShapeForm form(Kind kind) {
    return visit(kind, [&]<class Traits>(Traits traits) -> ShapeForm {
        if constexpr (Traits::facts.measured)
            return form_of(traits);
        else
            throw std::invalid_argument("there is no bench of " + std::string(name(kind)));
    });
}

}  // namespace

std::int64_t BenchShape::values() const {
    std::int64_t sum = 0;
    for (const auto& size : tensors) {
        std::int64_t product = 1;
        for (const std::int64_t d : size) product *= d;
        sum += product;
    }
    return sum;
}

ShapeResult parse_shape(Kind kind, const std::string& text) {
    BenchShape shape;
    shape.text = text;
    std::string error = form(kind).fill_text(text, shape);
    const double most = static_cast<double>(most_values);
    const double size = static_cast<double>(shape.batch) * static_cast<double>(shape.heads) *
                            static_cast<double>(shape.q_length + shape.kv_length) *
                            static_cast<double>(shape.head_dim) +
                        static_cast<double>(shape.rows) * static_cast<double>(shape.width + shape.classes) +
                        static_cast<double>(shape.classes) * static_cast<double>(shape.width) +
                        static_cast<double>(shape.rows) * static_cast<double>(shape.in + shape.out) +
                        static_cast<double>(shape.in) * static_cast<double>(shape.out);
    if (error.empty() && (size > most || shape.values() > most_values)) error = "more than 2^36 values";
    if (error.empty()) return {std::move(shape), ""};
    return {std::nullopt, "--shape " + base::quoted(text) + ": " + error + "; " + std::string(name(kind)) +
                              " takes " + shape_help(kind)};
}

std::vector<std::string> default_shapes(Kind kind) { return {form(kind).standard}; }

std::string shape_help(Kind kind) { return form(kind).help; }

}  // namespace switchyard::bench
