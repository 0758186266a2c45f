#include <switchyard/conformance/data_loader_samples.h>

#include <algorithm>
#include <limits>

namespace switchyard::conformance {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers count_up(std::int64_t begin, std::int64_t count) {
    Numbers numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(begin + i);
    return numbers;
}

// Every fourth sample says nothing of documents, the others are one or several.
Numbers documents_of(std::int64_t index, std::int64_t tokens) {
    Numbers lengths;
    for (std::int64_t left = tokens; index % 4 != 0 && left > 0; left -= lengths.back())
        lengths.push_back(std::min(left, 1 + (index + left) % 4));
    return lengths;
}

// Every fifth sample has no first label.
float float_label(std::int64_t index, std::int64_t column, std::int64_t epoch) {
    if (column == 0 && index % 5 == 3) return std::numeric_limits<float>::quiet_NaN();
    return static_cast<float>(1000 * epoch + 10 * index + column) + 0.25F;
}

}  // namespace

std::int64_t CountedSamples::source_length(std::int64_t index) const {
    if (spec_.equal_lengths) return 4;
    return spec_.empty_samples ? index % longest_sample : 1 + (index * 5) % longest_sample;
}

std::int64_t CountedSamples::target_length(std::int64_t index) const {
    if (!spec_.target) return 0;
    return spec_.equal_lengths ? 6 : 1 + (index * 7) % longest_sample;
}

std::int64_t CountedSamples::length(std::int64_t index) const {
    return source_length(index) + target_length(index);
}

Sample CountedSamples::get(std::int64_t index, std::int64_t epoch) const {
    Sample sample;
    sample.ids = count_up(100000 * epoch + 100 * index + 10, source_length(index));
    for (std::int64_t i = 0; spec_.token_type_ids && i < source_length(index); ++i)
        sample.token_type_ids.push_back((i + epoch) % 3 == 2 ? 1 : 0);
    if (spec_.target) sample.target_ids = count_up(100000 * epoch + 100 * index + 50, target_length(index));
    if (spec_.documents) sample.documents = documents_of(index, source_length(index));
    for (std::int64_t i = 0; i < spec_.float_labels; ++i)
        sample.float_labels.push_back(float_label(index, i, epoch));
    if (spec_.no_labels || spec_.float_labels > 0) return sample;
    const std::int64_t labels = spec_.target ? target_length(index) : source_length(index);
    sample.labels = spec_.labels_per_token ? count_up(200000 * epoch + 1000 * index, labels)
                                           : Numbers{(index + epoch) % 5};
    return sample;
}

}  // namespace switchyard::conformance
