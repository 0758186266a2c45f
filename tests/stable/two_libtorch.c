/* two_libtorch LIBTORCH PLUGIN: a host of one plugin of the stable tier that is built with no LibTorch at
 * all. It opens libtorch_cpu.so of the folder LIBTORCH, then PLUGIN, calls it through its table alone,
 * forward and backward, and prints the bits of all results. So one file PLUGIN can be called under two
 * releases of LibTorch, and the results compared. Exit code 0: it ran. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <switchyard/interfaces/stable_abi.h>

enum { ROWS = 7, WIDTH = 24 };

static void* libtorch;

static void* need(const char* name) {
    void* found = dlsym(libtorch, name);
    if (found == NULL) {
        fprintf(stderr, "this LibTorch has no %s\n", name);
        exit(2);
    }
    return found;
}

/* A function of LibTorch's shim, by the type that the call gives it. */
#define TORCH(result, name, ...) ((result(*)(__VA_ARGS__))need(#name))

static void check(int status, const char* what) {
    if (status == 0) return;
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

/* ---- Services: as little of a host as the calls below need ---- */

static AtenTensorHandle saved[8];
static int64_t saved_count;
static int executions;

static void executed(void* token, const char* variant) {
    (void)token, (void)variant;
    ++executions;
}
static void write_log(int32_t level, const char* plugin, const char* text) {
    fprintf(stderr, "%d %s: %s\n", level, plugin, text);
}
static void fail(const char* text) { fprintf(stderr, "the plugin says: %s\n", text); }
static int rejections;
static void reject(SwitchyardStableVerdict* verdict, int32_t code, const char* field, const char* expected,
                   const char* got) {
    (void)verdict;
    fprintf(stderr, "rejected (%d): %s: expected %s, got %s\n", code, field, expected, got);
    ++rejections;
}
static const char* name_of(int32_t number) {
    (void)number;
    return "a number";
}
static int32_t option_integer(const SwitchyardStableOptions* options, const char* name, int64_t* value) {
    (void)options, (void)name;
    *value = 2;
    return 0;
}
static int32_t save(SwitchyardStableSaved* to, AtenTensorHandle tensor, int32_t role) {
    (void)to, (void)role;
    return saved_count == 8 ? 1
                            : TORCH(int32_t, aoti_torch_new_tensor_handle, AtenTensorHandle,
                                    AtenTensorHandle*)(tensor, &saved[saved_count++]);
}
static int32_t saved_tensor(const SwitchyardStableSaved* from, int64_t index, AtenTensorHandle* tensor) {
    (void)from;
    if (index < 0 || index >= saved_count) return 1;
    *tensor = saved[index];
    return 0;
}
static void parallel_for(int64_t begin, int64_t end, int64_t grain, void (*body)(void*, int64_t, int64_t),
                         void* context) {
    (void)grain;
    if (begin < end) body(context, begin, end);
}

/* ---- Tensors ---- */

static AtenTensorHandle tensor(int64_t rows, double phase) {
    const int64_t sizes[2] = {rows, WIDTH}, strides[2] = {WIDTH, 1};
    AtenTensorHandle made = NULL;
    float* data = NULL;
    const int vector = rows == 1;
    check(TORCH(int32_t, aoti_torch_empty_strided, int64_t, const int64_t*, const int64_t*, int32_t, int32_t,
                int32_t, AtenTensorHandle*)(vector ? 1 : 2, sizes + vector, strides + vector,
                                            TORCH(int32_t, aoti_torch_dtype_float32, void)(),
                                            TORCH(int32_t, aoti_torch_device_type_cpu, void)(), 0, &made),
          "a new tensor");
    check(TORCH(int32_t, aoti_torch_get_data_ptr, AtenTensorHandle, void**)(made, (void**)&data), "its data");
    /* Values of a congruence, the same on every machine. */
    uint32_t state = (uint32_t)(phase * 1000) + 1;
    for (int64_t i = 0; i < rows * WIDTH; ++i) {
        state = state * 1664525u + 1013904223u;
        data[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
    return made;
}

static void let_go(AtenTensorHandle one) {
    check(TORCH(int32_t, aoti_torch_delete_tensor_object, AtenTensorHandle)(one), "letting a tensor go");
}

static void print_bits(const char* what, AtenTensorHandle one, int64_t values) {
    uint32_t bits[ROWS * WIDTH];
    void* data = NULL;
    if (one == NULL) {
        fprintf(stderr, "%s was not given\n", what);
        exit(1);
    }
    check(TORCH(int32_t, aoti_torch_get_data_ptr, AtenTensorHandle, void**)(one, &data), what);
    memcpy(bits, data, (size_t)values * sizeof(uint32_t));
    printf("%s", what);
    for (int64_t i = 0; i < values; ++i) printf(" %08x", bits[i]);
    printf("\n");
    let_go(one);
}

static void call(const SwitchyardStableComponent* entry, int32_t norm) {
    const SwitchyardStableRequest common = {.struct_size = sizeof(common), .needs_grad = 1};
    const SwitchyardStableNormalizationRequest request = {.struct_size = sizeof(request),
                                                          .norm = norm,
                                                          .rows = {ROWS, ROWS},
                                                          .width = {WIDTH, WIDTH},
                                                          .affine_bias = norm == SWITCHYARD_LAYER_NORM};
    const SwitchyardStableHost host = {
        .struct_size = sizeof(host), .cores = 1, .cpu_model = "", .libtorch_version = ""};
    const SwitchyardStableSupports asked = {
        .struct_size = sizeof(asked), .common = &common, .request = &request, .host = &host, .variant = ""};
    check(entry->supports(&asked), "supports");
    if (rejections != 0) exit(1);
    SwitchyardStableCreate made = {
        .struct_size = sizeof(made), .common = &common, .request = &request, .host = &host, .variant = ""};
    check(entry->create(&made), "create");
    const SwitchyardStableNormalization* functions = entry->functions;
    const SwitchyardStableTokens tokens = {.struct_size = sizeof(tokens)};
    AtenTensorHandle x = tensor(ROWS, 1), weight = tensor(1, 2), beta = tensor(1, 3), grad = tensor(ROWS, 4);
    SwitchyardStableSaved* const keeps = (SwitchyardStableSaved*)&saved;
    SwitchyardStableNormalizationForward forward = {.struct_size = sizeof(forward),
                                                    .norm = norm,
                                                    .eps = 1e-5,
                                                    .tokens = &tokens,
                                                    .x = x,
                                                    .weight = weight,
                                                    .beta = request.affine_bias ? beta : NULL,
                                                    .saved = keeps};
    check(functions->forward(made.component, &forward), "forward");
    SwitchyardStableNormalizationBackward backward = {.struct_size = sizeof(backward),
                                                      .norm = norm,
                                                      .eps = 1e-5,
                                                      .tokens = &tokens,
                                                      .saved = keeps,
                                                      .grad_y = grad,
                                                      .needs_x = 1,
                                                      .needs_weight = 1,
                                                      .needs_beta = request.affine_bias};
    check(functions->backward(made.component, &backward), "backward");
    print_bits("y", forward.y, ROWS * WIDTH);
    print_bits("grad_x", backward.x, ROWS * WIDTH);
    print_bits("grad_weight", backward.weight, WIDTH);
    if (request.affine_bias) print_bits("grad_beta", backward.beta, WIDTH);
    entry->destroy(made.component);
    /* A leak that a sanitizer finds is the plugin's. */
    while (saved_count > 0) let_go(saved[--saved_count]);
    let_go(x), let_go(weight), let_go(beta), let_go(grad);
}

int main(int argc, char** argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: two_libtorch LIBTORCH_LIB_FOLDER PLUGIN.so\n");
        return 2;
    }
    char path[4096];
    snprintf(path, sizeof(path), "%s/libtorch_cpu.so", argv[1]);
    libtorch = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    void* library = libtorch == NULL ? NULL : dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    const SwitchyardStablePlugin* plugin = dlsym(library, "switchyard_stable_plugin_v1");
    if (plugin == NULL || plugin->magic != SWITCHYARD_STABLE_MAGIC) {
        fprintf(stderr, "%s is no plugin of the stable tier\n", argv[2]);
        return 2;
    }
    const SwitchyardStableServices services = {.struct_size = sizeof(services),
                                               .abi_major = SWITCHYARD_STABLE_ABI_MAJOR,
                                               .abi_minor = SWITCHYARD_STABLE_ABI_MINOR,
                                               .libtorch_version = "",
                                               .executed = executed,
                                               .log = write_log,
                                               .fail = fail,
                                               .reject = reject,
                                               .dtype_name = name_of,
                                               .device_name = name_of,
                                               .option_integer = option_integer,
                                               .save = save,
                                               .saved_tensor = saved_tensor,
                                               .parallel_for = parallel_for};
    check(plugin->init(&services), "init");
    call(plugin->components[0], SWITCHYARD_LAYER_NORM);
    call(plugin->components[0], SWITCHYARD_RMS_NORM);
    fprintf(stderr, "aoti_torch_abi_version %#llx, %d executions\n",
            (unsigned long long)TORCH(uint64_t, aoti_torch_abi_version, void)(), executions);
    return executions == 2 ? 0 : 1;
}
