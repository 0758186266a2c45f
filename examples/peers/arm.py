"""The side of an arm that talks to `switchyard compare`: docs/compare.md describes the messages over the standard streams.

Importing it takes the standard output away from libraries: what they print belongs to the standard error, since the standard output
holds one answer for each request. So import it before them.
"""
import json
import math
import os
import resource
import sys
import time

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def finite(value):
    return value if math.isfinite(value) else None


def time_turn(count, one, now=time.perf_counter):
    """The report of `count` steps or passes; `one` does one and returns its loss, samples and tokens."""
    report = {"type": "report", "step_ms": [], "loss": [], "step_samples": [], "step_tokens": []}
    switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    for _ in range(count):
        start = now()
        loss, samples, tokens = one()
        report["step_ms"].append((now() - start) * 1e3)
        report["loss"].append(finite(loss))
        report["step_samples"].append(samples)
        report["step_tokens"].append(tokens)
    report["samples"], report["tokens"] = sum(report["step_samples"]), sum(report["step_tokens"])
    report["involuntary_switches"] = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - switches
    return report


def serve(prepare, run, whole_message=False):
    """Answers requests until the end. prepare(message) returns the arm and a report, run(arm, count) a report; where it needs more
    than the count of steps, run(arm, message)."""
    arm = None
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "quit":
            break
        try:
            if message["type"] == "prepare":
                arm, report = prepare(message)
            else:
                report = run(arm, message if whole_message else message["steps"])
        except Exception as error:  # the coordinator shows it in this arm's row
            report = {"type": "error", "text": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(report, allow_nan=False) + "\n")
        answers.flush()
