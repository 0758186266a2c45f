/* The plugin boundary: the one C structure that a plugin exports, as `switchyard_plugin_v1`.
 *
 * Everything behind it is C++ of the same LibTorch and the same standard library, which the fingerprint proves
 * before any code of the plugin runs. Structures only ever grow at their end; `struct_size` tells how far the
 * plugin's own goes. `abi_major` changes when something that exists changes its meaning, `abi_minor` when
 * something is added. Here stands only what is called, and which component it belongs to. What a plugin says
 * about itself and its components stands once, as text in its section `switchyard_manifest`
 * (component_manifest.h), which is read before any code of the plugin runs.
 *
 * Learned from: ONNX Runtime's plugin execution providers (onnxruntime_ep_c_api.h) and OpenXLA's PJRT C API
 * (pjrt_c_api.h).
 */
#ifndef SWITCHYARD_PLUGIN_ABI_H
#define SWITCHYARD_PLUGIN_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SWITCHYARD_PLUGIN_MAGIC UINT64_C(0x31564e4c50595753) /* "SWYPLNV1", little endian */
#define SWITCHYARD_ABI_MAJOR 1
#define SWITCHYARD_ABI_MINOR 0

/* What the core does for a plugin. Owned by the core, valid for the life of the process, callable from any thread. */
typedef struct SwitchyardServices {
    uint32_t struct_size;
    /* Counts one execution of a kernel by the binding `token`; `variant` is a literal, "" where there are none. */
    void (*executed)(void* token, const char* variant);
    /* level: 0 debug, 1 information, 2 warning, 3 error. The text is copied. */
    void (*log)(int level, const char* plugin, const char* text);
} SwitchyardServices;

/* Arguments of `supports`; the pointers are C++ objects that live for the call. */
typedef struct SwitchyardSupports {
    uint32_t struct_size;
    const void* request; /* AttentionRequest, NormalizationRequest, ... by the component's kind */
    const void* host;    /* HostInfo */
    const void* options; /* Options */
    const char* variant; /* asked for, or "" */
    void* verdict;       /* Verdict, empty on entry */
} SwitchyardSupports;

typedef struct SwitchyardComponent {
    uint32_t struct_size;
    const char* kind; /* "attention", ... (types.h) */
    const char* id;   /* unique among the plugin's components of that kind */

    /* Pure: touches no device, allocates nothing but the verdict. Callable without `create`, for a host that is only described. */
    void (*supports)(const SwitchyardSupports* arguments);
    /* `create_info` is a CreateInfo; returns the interface of the component's kind (an Attention*, ...) as void*. May throw. */
    void* (*create)(const void* create_info);
    void (*destroy)(void* component);
} SwitchyardComponent;

typedef struct SwitchyardPlugin {
    uint64_t magic;
    uint32_t struct_size;
    uint16_t abi_major;
    uint16_t abi_minor;
    uint32_t component_count;
    /* In the order of the manifest; pointers, so that SwitchyardComponent can grow. */
    const SwitchyardComponent* const* components;
    /* Called once after loading, before anything else; may be NULL. Returns 0, or fills `error` (of `error_size` bytes) and returns another. */
    int (*init)(const SwitchyardServices* services, char* error, uint32_t error_size);
} SwitchyardPlugin;

#ifdef __cplusplus
}
#endif

#endif
