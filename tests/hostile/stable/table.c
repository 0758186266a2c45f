/* A plugin of the stable tier that is wrong in the one way that the build names (WRONG_...), see
 * CMakeLists.txt. */
#include <stddef.h>

#include <switchyard/interfaces/stable_abi.h>
#include <switchyard/interfaces/stable_tensor.h>

static const SwitchyardStableServices* host;

static int32_t supports(const SwitchyardStableSupports* call) {
    if (call->common->dtype != SWITCHYARD_FLOAT32 || call->common->device != SWITCHYARD_CPU)
        host->reject(call->verdict, SWITCHYARD_CODE_DTYPE, "dtype", "float32 on the cpu", "others");
#ifdef WRONG_SUPPORTS
    host->fail("it cannot answer that");
    return 7;
#else
    return 0;
#endif
}

static int32_t create(SwitchyardStableCreate* call) {
    static int one;
    call->component = &one;
#ifdef WRONG_OPTION
    int64_t value;
    return host->option_integer(call->options, "not_declared", &value);
#else
    return 0;
#endif
}

static void destroy(void* component) { (void)component; }

static int32_t forward(void* component, SwitchyardStableNormalizationForward* call) {
    (void)component;
#if defined(WRONG_LENT)
    call->y = call->x;
    return 0;
#elif defined(WRONG_TWICE)
    aoti_torch_clone(call->x, &call->y);
    call->sum = call->y;
    return 0;
#elif defined(WRONG_SILENT)
    aoti_torch_clone(call->x, &call->y);
    return 3;
#else
    return aoti_torch_clone(call->x, &call->y);
#endif
}

static int32_t backward(void* component, SwitchyardStableNormalizationBackward* call) {
    (void)component;
    return host->saved_tensor(call->saved, 100, &call->x);
}

static int32_t init(const SwitchyardStableServices* services) {
    host = services;
#ifdef WRONG_INIT
    services->fail("the licence has run out");
    return 1;
#else
    return 0;
#endif
}

static const SwitchyardStableNormalization functions = {
#ifdef WRONG_FUNCTIONS
    sizeof(uint32_t),
#else
    sizeof(SwitchyardStableNormalization),
#endif
    forward,
#ifdef WRONG_GRADIENT
    NULL
#else
    backward
#endif
};

static const SwitchyardStableComponent norm = {.struct_size = sizeof(norm),
                                               .kind = "normalization",
                                               .id = "norm",
                                               .supports = supports,
                                               .create = create,
                                               .destroy = destroy,
                                               .functions = &functions};
static const SwitchyardStableComponent* const components[] = {&norm};

#ifdef WRONG_SYMBOL
#define switchyard_stable_plugin_v1 another_name
#endif
extern const SwitchyardStablePlugin switchyard_stable_plugin_v1;
SWITCHYARD_STABLE_EXPORT const SwitchyardStablePlugin switchyard_stable_plugin_v1 = {
    .magic = SWITCHYARD_STABLE_MAGIC,
#ifdef WRONG_SIZE
    .struct_size = 16,
#else
    .struct_size = sizeof(SwitchyardStablePlugin),
#endif
#ifdef WRONG_MAJOR
    .abi_major = SWITCHYARD_STABLE_ABI_MAJOR + 1,
#else
    .abi_major = SWITCHYARD_STABLE_ABI_MAJOR,
#endif
    .abi_minor = SWITCHYARD_STABLE_ABI_MINOR,
    .component_count = 1,
    .components = components,
    .init = init};
