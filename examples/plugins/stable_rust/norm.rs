// A plugin of the stable tier in Rust, without crates: RMSNorm in float32 on the CPU, forward and backward. The
// structures are those of stable_abi.h, as far as they are read here; what the operation means is in normalization.h.
#![crate_type = "cdylib"]

use std::ffi::{c_char, c_void, CStr};
use std::mem::size_of;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

// ---- stable_abi.h ----

type Handle = *mut c_void;

#[repr(C)]
struct Services {
    struct_size: u32,
    abi_major: u16,
    abi_minor: u16,
    libtorch_version: *const c_char,
    executed: extern "C" fn(*mut c_void, *const c_char),
    log: extern "C" fn(i32, *const c_char, *const c_char),
    fail: extern "C" fn(*const c_char),
    reject: extern "C" fn(*mut c_void, i32, *const c_char, *const c_char, *const c_char),
    dtype_name: extern "C" fn(i32) -> *const c_char,
    device_name: extern "C" fn(i32) -> *const c_char,
    option_boolean: extern "C" fn(*const c_void, *const c_char, *mut i32) -> i32,
    option_integer: extern "C" fn(*const c_void, *const c_char, *mut i64) -> i32,
    option_number: extern "C" fn(*const c_void, *const c_char, *mut f64) -> i32,
    option_string: extern "C" fn(*const c_void, *const c_char, *mut *const c_char) -> i32,
    option_list_size: extern "C" fn(*const c_void, *const c_char, *mut i64) -> i32,
    option_list_item: extern "C" fn(*const c_void, *const c_char, i64, *mut *const c_char) -> i32,
    save: extern "C" fn(*mut c_void, Handle, i32) -> i32,
    save_integer: extern "C" fn(*mut c_void, i64) -> i32,
    saved_tensor: extern "C" fn(*const c_void, i64, *mut Handle) -> i32,
}

#[repr(C)]
struct Request {
    struct_size: u32,
    dtype: i32,
    device: i32,
}

#[repr(C)]
struct NormalizationRequest {
    struct_size: u32,
    norm: i32,
    rows: [i64; 2],
    width: [i64; 2],
    parameter_dtype: i32,
    affine_bias: i32,
    input_bias: i32,
    residual: i32,
    dropout: f64,
}

#[repr(C)]
struct Supports {
    struct_size: u32,
    common: *const Request,
    request: *const NormalizationRequest,
    host: *const c_void,
    options: *const c_void,
    variant: *const c_char,
    verdict: *mut c_void,
}

#[repr(C)]
struct Create {
    struct_size: u32,
    common: *const Request,
    request: *const c_void,
    host: *const c_void,
    options: *const c_void,
    variant: *const c_char,
    token: *mut c_void,
    component: *mut c_void,
}

#[repr(C)]
struct Forward {
    struct_size: u32,
    norm: i32,
    eps: f64,
    dropout_p: f64,
    dropout_seed: u64,
    tokens: *const c_void,
    x: Handle,
    bias: Handle,
    residual: Handle,
    weight: Handle,
    beta: Handle,
    saved: *mut c_void,
    y: Handle,
    sum: Handle,
}

#[repr(C)]
struct Backward {
    struct_size: u32,
    norm: i32,
    eps: f64,
    dropout_p: f64,
    dropout_seed: u64,
    tokens: *const c_void,
    saved: *const c_void,
    grad_y: Handle,
    grad_sum: Handle,
    needs_x: i32,
    needs_bias: i32,
    needs_residual: i32,
    needs_weight: i32,
    needs_beta: i32,
    x: Handle,
    bias: Handle,
    residual: Handle,
    weight: Handle,
    beta: Handle,
}

#[repr(C)]
struct Normalization {
    struct_size: u32,
    forward: unsafe extern "C" fn(*mut c_void, *mut Forward) -> i32,
    backward: unsafe extern "C" fn(*mut c_void, *mut Backward) -> i32,
}

#[repr(C)]
pub struct Component {
    struct_size: u32,
    kind: *const c_char,
    id: *const c_char,
    supports: unsafe extern "C" fn(*const Supports) -> i32,
    create: unsafe extern "C" fn(*mut Create) -> i32,
    destroy: unsafe extern "C" fn(*mut c_void),
    functions: *const Normalization,
}

#[repr(C)]
pub struct Plugin {
    magic: u64,
    struct_size: u32,
    abi_major: u16,
    abi_minor: u16,
    component_count: u32,
    components: *const *const Component,
    init: unsafe extern "C" fn(*const Services) -> i32,
}
unsafe impl Sync for Plugin {}

// ---- LibTorch's shim, found in the host when the plugin is loaded ----

extern "C" {
    fn aoti_torch_device_type_cpu() -> i32;
    fn aoti_torch_dtype_float32() -> i32;
    fn aoti_torch_get_data_ptr(tensor: Handle, result: *mut *mut c_void) -> i32;
    fn aoti_torch_get_dim(tensor: Handle, result: *mut i64) -> i32;
    fn aoti_torch_get_sizes(tensor: Handle, result: *mut *mut i64) -> i32;
    fn aoti_torch_delete_tensor_object(tensor: Handle) -> i32;
    fn aoti_torch_copy_(to: Handle, from: Handle, non_blocking: i32) -> i32;
    fn aoti_torch_empty_strided(
        dimensions: i64,
        sizes: *const i64,
        strides: *const i64,
        dtype: i32,
        device_type: i32,
        device_index: i32,
        result: *mut Handle,
    ) -> i32;
}

static HOST: AtomicPtr<Services> = AtomicPtr::new(null_mut());

fn host() -> &'static Services {
    unsafe { &*HOST.load(Ordering::Relaxed) }
}

type Outcome<T> = Result<T, &'static CStr>;

// A handle of this plugin's own: let go where it ends, unless it was given away.
struct Tensor(Handle);

impl Drop for Tensor {
    fn drop(&mut self) {
        unsafe { aoti_torch_delete_tensor_object(self.0) };
    }
}

fn sizes_of(tensor: Handle) -> Outcome<&'static [i64]> {
    let (mut dimensions, mut sizes) = (0, null_mut());
    unsafe {
        if aoti_torch_get_dim(tensor, &mut dimensions) != 0 || aoti_torch_get_sizes(tensor, &mut sizes) != 0 {
            return Err(c"a tensor does not tell its sizes");
        }
        Ok(if dimensions == 0 { &[] } else { std::slice::from_raw_parts(sizes, dimensions as usize) })
    }
}

impl Tensor {
    fn like(other: Handle) -> Outcome<Tensor> {
        let sizes = sizes_of(other)?;
        let mut strides = vec![1; sizes.len()];
        for d in (1..sizes.len()).rev() {
            strides[d - 1] = strides[d] * sizes[d].max(1);
        }
        let mut made = null_mut();
        let status = unsafe {
            let (dtype, device) = (aoti_torch_dtype_float32(), aoti_torch_device_type_cpu());
            aoti_torch_empty_strided(sizes.len() as i64, sizes.as_ptr(), strides.as_ptr(), dtype, device, 0, &mut made)
        };
        if status == 0 { Ok(Tensor(made)) } else { Err(c"there is no memory for a tensor") }
    }

    // The same values one after the other.
    fn copy_of(other: Handle) -> Outcome<Tensor> {
        let copy = Tensor::like(other)?;
        let status = unsafe { aoti_torch_copy_(copy.0, other, 0) };
        if status == 0 { Ok(copy) } else { Err(c"a tensor cannot be copied") }
    }

    fn values(&self) -> Outcome<&'static mut [f32]> {
        let count: i64 = sizes_of(self.0)?.iter().product();
        let mut data = null_mut();
        unsafe {
            if aoti_torch_get_data_ptr(self.0, &mut data) != 0 {
                return Err(c"a tensor has no data");
            }
            Ok(if count == 0 { &mut [] } else { std::slice::from_raw_parts_mut(data.cast(), count as usize) })
        }
    }

    fn give(self) -> Handle {
        let handle = self.0;
        std::mem::forget(self);
        handle
    }
}

// ---- The component ----

// No panic leaves the plugin.
fn status_of(work: impl FnOnce() -> Outcome<()>) -> i32 {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
        Ok(Ok(())) => 0,
        Ok(Err(text)) => { (host().fail)(text.as_ptr()); 1 }
        Err(_) => { (host().fail)(c"the plugin panicked".as_ptr()); 1 }
    }
}

unsafe extern "C" fn supports(call: *const Supports) -> i32 {
    let (call, common, request) = (&*call, &*(*call).common, &*(*call).request);
    let reject = |refused: bool, code, field: &CStr, expected: &CStr, got: *const c_char| {
        if refused {
            (host().reject)(call.verdict, code, field.as_ptr(), expected.as_ptr(), got);
        }
    };
    let more = c"another".as_ptr();
    reject(common.device != 0, 0, c"device", c"cpu", (host().device_name)(common.device));
    reject(common.dtype != 0, 1, c"dtype", c"float32", (host().dtype_name)(common.dtype));
    let parameters = request.parameter_dtype;
    reject(parameters != 0, 1, c"parameter_dtype", c"float32", (host().dtype_name)(parameters));
    reject(request.norm != 1, 14, c"norm", c"rms_norm", more);
    reject(request.input_bias != 0, 20, c"input_bias", c"false", c"true".as_ptr());
    reject(request.residual != 0, 20, c"residual", c"false", c"true".as_ptr());
    reject(request.dropout > 0.0, 10, c"dropout", c"0", c"more".as_ptr());
    0
}

unsafe extern "C" fn create(call: *mut Create) -> i32 {
    (*call).component = (*call).token; // all that a component of this plugin knows
    0
}

unsafe extern "C" fn destroy(_component: *mut c_void) {}

fn scale_of(row: &[f32], eps: f64) -> f64 {
    let squares: f64 = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    1.0 / (squares / row.len() as f64 + eps).sqrt()
}

unsafe extern "C" fn forward(component: *mut c_void, call: *mut Forward) -> i32 {
    let call = &mut *call;
    status_of(|| {
        let (x, weight, y) = (Tensor::copy_of(call.x)?, Tensor::copy_of(call.weight)?, Tensor::like(call.x)?);
        let (from, w) = (x.values()?, weight.values()?);
        (host().executed)(component, c"".as_ptr());
        for (row, to) in from.chunks(w.len().max(1)).zip(y.values()?.chunks_mut(w.len().max(1))) {
            let scale = scale_of(row, call.eps);
            for c in 0..row.len() {
                to[c] = (f64::from(row[c]) * scale * f64::from(w[c])) as f32;
            }
        }
        if !call.saved.is_null() {
            for input in [call.x, call.weight] {
                if (host().save)(call.saved, input, 0) != 0 {
                    return Err(c"an input cannot be saved");
                }
            }
        }
        call.y = y.give();
        Ok(())
    })
}

unsafe extern "C" fn backward(_component: *mut c_void, call: *mut Backward) -> i32 {
    let call = &mut *call;
    status_of(|| {
        let mut saved = [null_mut(); 2];
        for (i, handle) in saved.iter_mut().enumerate() {
            if (host().saved_tensor)(call.saved, i as i64, handle) != 0 {
                return Err(c"what forward saved is not there");
            }
        }
        let (x, weight, grad) = (Tensor::copy_of(saved[0])?, Tensor::copy_of(saved[1])?, Tensor::copy_of(call.grad_y)?);
        let (grad_x, grad_weight) = (Tensor::like(saved[0])?, Tensor::like(saved[1])?);
        let w = weight.values()?;
        let width = w.len().max(1);
        let mut sums = vec![0.0; w.len()];
        let rows = x.values()?.chunks(width).zip(grad.values()?.chunks(width));
        for ((row, g), to) in rows.zip(grad_x.values()?.chunks_mut(width)) {
            let scale = scale_of(row, call.eps);
            let n = |c: usize| f64::from(row[c]) * scale;
            let gw = |c: usize| f64::from(g[c]) * f64::from(w[c]);
            let mean = (0..row.len()).map(|c| gw(c) * n(c)).sum::<f64>() / row.len() as f64;
            for c in 0..row.len() {
                to[c] = (scale * (gw(c) - n(c) * mean)) as f32;
                sums[c] += f64::from(g[c]) * n(c);
            }
        }
        for (to, sum) in grad_weight.values()?.iter_mut().zip(sums) {
            *to = sum as f32;
        }
        if call.needs_x != 0 {
            call.x = grad_x.give();
        }
        if call.needs_weight != 0 {
            call.weight = grad_weight.give();
        }
        Ok(())
    })
}

unsafe extern "C" fn init(services: *const Services) -> i32 {
    HOST.store(services.cast_mut(), Ordering::Relaxed);
    0
}

// ---- What the plugin exports ----

struct Shared<T>(T);
unsafe impl<T> Sync for Shared<T> {}

static FUNCTIONS: Shared<Normalization> =
    Shared(Normalization { struct_size: size_of::<Normalization>() as u32, forward, backward });
static COMPONENT: Shared<Component> = Shared(Component {
    struct_size: size_of::<Component>() as u32,
    kind: c"normalization".as_ptr(),
    id: c"stable_rust".as_ptr(),
    supports,
    create,
    destroy,
    functions: &FUNCTIONS.0,
});
static COMPONENTS: Shared<[*const Component; 1]> = Shared([&COMPONENT.0]);

#[no_mangle]
pub static switchyard_stable_plugin_v1: Plugin = Plugin {
    magic: 0x314c_4254_5359_5753,
    struct_size: size_of::<Plugin>() as u32,
    abi_major: 1,
    abi_minor: 0,
    component_count: 1,
    components: &COMPONENTS.0 as *const _,
    init,
};

const SECTION: &[u8] = include_bytes!(env!("SWITCHYARD_SECTION"));

#[used]
#[link_section = "switchyard_manifest"]
static MANIFEST: [u8; SECTION.len()] = {
    let mut bytes = [0; SECTION.len()];
    let mut i = 0;
    while i < bytes.len() {
        bytes[i] = SECTION[i];
        i += 1;
    }
    bytes
};

