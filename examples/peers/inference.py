"""What the peers of `switchyard bench inference` have in common: workloads, prompts, the turns of both operations.

A peer has a model with two methods:

    forward(batch)             one forward pass over a batch of tensors by name
    generate(batch, tokens)    writes `tokens` new ones after each prompt, the likeliest each time; returns the ids [rows][tokens] and
                               the times in seconds at which each of them was known, as time.perf_counter tells them
"""
import resource
import time

from arm import Disturbances


def workloads_of(message):
    """The batches of prompts or sequences, one for each workload, and their numbers of new tokens."""
    from safetensors.torch import load_file

    tensors = load_file(message["batches"])
    batches = []
    for number, workload in enumerate(message["workloads"]):
        prefix = f"{number}.0."
        batch = {name[len(prefix):]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}
        batches.append((batch, workload["tokens"]))
    return batches


def left_padded(batch):
    """Prompts that end at the same place: a new token then stands behind each of them."""
    import torch

    ids, mask = batch["ids"], batch["attention_mask"]
    lengths = mask.sum(1)
    if bool((lengths == ids.shape[1]).all()):
        return ids, mask
    rows = [torch.roll(row, ids.shape[1] - int(length)) for row, length in zip(ids, lengths)]
    masks = [torch.roll(row, ids.shape[1] - int(length)) for row, length in zip(mask, lengths)]
    return torch.stack(rows), torch.stack(masks)


def peak_memory():
    """Of the process, since it began: what a program of Python can tell without help."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def generate_turn(model, batch, tokens, passes):
    disturbances = Disturbances()
    report = {"type": "report", "step_ms": [], "prefill_ms": [], "token_ms": []}
    for _ in range(passes):
        start = time.perf_counter()
        report["generated"], times = model.generate(batch, tokens)
        report["step_ms"].append((time.perf_counter() - start) * 1e3)
        report["prefill_ms"].append((times[0] - start) * 1e3)
        report["token_ms"].append([(b - a) * 1e3 for a, b in zip(times, times[1:])])
    report["prompt_tokens"] = int(batch["attention_mask"].sum())
    return report | disturbances.told()


def forward_turn(model, batch, passes):
    disturbances = Disturbances()
    report = {"type": "report", "step_ms": [], "loss": [None] * passes}
    for _ in range(passes):
        start = time.perf_counter()
        model.forward(batch)
        report["step_ms"].append((time.perf_counter() - start) * 1e3)
    report["samples"] = len(batch["ids"]) * passes
    report["tokens"] = int(batch["attention_mask"].sum()) * passes
    return report | disturbances.told()


def turn(model, workloads, operation, message):
    batch, tokens = workloads[message["workload"]]
    if operation == "generate":
        return generate_turn(model, batch, tokens, message["steps"])
    return forward_turn(model, batch, message["steps"])


def write_outputs(path, logits):
    """What the first workload comes to, for the distance from other arms: [rows, classes], padding left out."""
    from safetensors.torch import save_file

    if path:
        save_file({"logits": logits.float().contiguous().cpu()}, path)
    return bool(path)
