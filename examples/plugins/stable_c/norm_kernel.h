/* LayerNorm and RMSNorm over rows of float32, forward and backward, in plain C: no tensor, no LibTorch. */
#ifndef NORM_KERNEL_H
#define NORM_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct NormShape {
    int64_t rows, width;
    int centered; /* 1: LayerNorm, 0: RMSNorm */
    double eps;
} NormShape;

/* Rows first..last of y = (x - mean) * scale * weight + beta; beta may be NULL. Of each row its mean (0 where
 * it is not centered) and its scale, 1 / sqrt(variance + eps), go into statistics [rows, 2], or nowhere
 * where that is NULL. */
void norm_forward(const NormShape* shape, const float* x, const float* weight, const float* beta, float* y,
                  double* statistics, int64_t first, int64_t last);

/* Rows first..last of the gradient of x. */
void norm_input_gradient(const NormShape* shape, const float* x, const float* weight, const float* grad_y,
                         const double* statistics, float* grad_x, int64_t first, int64_t last);

/* Columns first..last of the gradients of weight and beta, summed up over the rows in their order; either may
 * be NULL. */
void norm_row_gradients(const NormShape* shape, const float* x, const float* grad_y, const double* statistics,
                        float* grad_weight, float* grad_beta, int64_t first, int64_t last);

#ifdef __cplusplus
}
#endif

#endif
