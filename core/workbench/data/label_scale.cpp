#include "core/workbench/data/label_scale.h"

namespace switchyard::data {

LabelScale scale_of(const std::vector<double>& values, std::size_t columns) {
    LabelScale scale{std::vector<double>(columns, 0.0), std::vector<double>(columns, 1.0)};
    for (std::size_t column = 0; column < columns; ++column) {
        // Welford 1962: sums of squares of large numbers that lie close together would cancel.
        double count = 0.0, mean = 0.0, squares = 0.0;
        for (std::size_t i = column; i < values.size(); i += columns) {
            if (std::isnan(values[i])) continue;
            const double before = values[i] - mean;
            mean += before / ++count;
            squares += before * (values[i] - mean);
        }
        scale.mean[column] = mean;
        if (squares > 0.0) scale.deviation[column] = std::sqrt(squares / count);
    }
    return scale;
}

}  // namespace switchyard::data
