#include "norm_kernel.h"

#include <math.h>
#include <stddef.h>

/* Sums are made in float64: a row of float32 then errs by little more than the rounding of its results. */
static void row_statistics(const NormShape* shape, const float* x, double* mean, double* scale) {
    const double width = (double)shape->width;
    double sum = 0.0, squares = 0.0;
    if (shape->centered) {
        for (int64_t c = 0; c < shape->width; ++c) sum += x[c];
    }
    *mean = sum / width;
    for (int64_t c = 0; c < shape->width; ++c) {
        const double d = x[c] - *mean;
        squares += d * d;
    }
    *scale = 1.0 / sqrt(squares / width + shape->eps);
}

void norm_forward(const NormShape* shape, const float* x, const float* weight, const float* beta, float* y,
                  double* statistics, int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
        const float* x_row = x + r * shape->width;
        float* y_row = y + r * shape->width;
        double mean, scale;
        row_statistics(shape, x_row, &mean, &scale);
        for (int64_t c = 0; c < shape->width; ++c) {
            const double value = (x_row[c] - mean) * scale * weight[c];
            y_row[c] = (float)(beta == NULL ? value : value + beta[c]);
        }
        if (statistics != NULL) {
            statistics[2 * r] = mean;
            statistics[2 * r + 1] = scale;
        }
    }
}

/* With n = (x - mean) * scale and g = grad_y * weight:
 *     grad_x = scale * (g - mean(g) - n * mean(g * n)), mean(g) only where the row is centered. */
void norm_input_gradient(const NormShape* shape, const float* x, const float* weight, const float* grad_y,
                         const double* statistics, float* grad_x, int64_t first, int64_t last) {
    const double width = (double)shape->width;
    for (int64_t r = first; r < last; ++r) {
        const float* x_row = x + r * shape->width;
        const float* g_row = grad_y + r * shape->width;
        const double mean = statistics[2 * r], scale = statistics[2 * r + 1];
        double sum_g = 0.0, sum_gn = 0.0;
        for (int64_t c = 0; c < shape->width; ++c) {
            const double g = (double)g_row[c] * weight[c];
            sum_g += g;
            sum_gn += g * ((x_row[c] - mean) * scale);
        }
        const double mean_g = shape->centered ? sum_g / width : 0.0, mean_gn = sum_gn / width;
        for (int64_t c = 0; c < shape->width; ++c) {
            const double n = (x_row[c] - mean) * scale;
            grad_x[r * shape->width + c] =
                (float)(scale * ((double)g_row[c] * weight[c] - mean_g - n * mean_gn));
        }
    }
}

void norm_row_gradients(const NormShape* shape, const float* x, const float* grad_y, const double* statistics,
                        float* grad_weight, float* grad_beta, int64_t first, int64_t last) {
    for (int64_t c = first; c < last; ++c) {
        double sum_weight = 0.0, sum_beta = 0.0;
        for (int64_t r = 0; r < shape->rows; ++r) {
            const double g = grad_y[r * shape->width + c];
            sum_weight += g * ((x[r * shape->width + c] - statistics[2 * r]) * statistics[2 * r + 1]);
            sum_beta += g;
        }
        if (grad_weight != NULL) grad_weight[c] = (float)sum_weight;
        if (grad_beta != NULL) grad_beta[c] = (float)sum_beta;
    }
}
