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


def answer(report):
    answers.write(json.dumps(report, allow_nan=False) + "\n")
    answers.flush()


def tell_missing(kind, error, trace):
    """What cannot be imported is told in this arm's row, with what to do, instead of a traceback."""
    if not issubclass(kind, ModuleNotFoundError):
        return sys.__excepthook__(kind, error, trace)
    needed = os.path.join(os.path.dirname(os.path.abspath(__file__)), "requirements.txt")
    text = f"{sys.executable} has no module named {error.name}: `{sys.executable} -m pip install -r {needed}` brings it"
    print(text, file=sys.stderr)
    if not sys.stdin.isatty() and sys.stdin.readline():
        answer({"type": "error", "text": text})


sys.excepthook = tell_missing


def finite(value):
    return value if math.isfinite(value) else None


def processor_seconds():
    """Of all programs, idle, and of this process, with all processors of the machine together; nothing where /proc does not say."""
    try:
        with open("/proc/stat") as stat:
            user, nice, system, idle, waiting, *rest = map(float, stat.readline().split()[1:9])
    except (OSError, ValueError):
        return None
    ticks, own = os.sysconf("SC_CLK_TCK"), resource.getrusage(resource.RUSAGE_SELF)
    return (user + nice + system + sum(rest)) / ticks, (idle + waiting) / ticks, own.ru_utime + own.ru_stime


def share_of_others(before, after):
    """Of the processors' time in between, that went to other programs, as Switchyard's own arms count it: 0 where a quarter was idle."""
    if before is None or after is None:
        return None
    busy, idle, own = (then - now for now, then in zip(before, after))
    inexact = os.cpu_count() / os.sysconf("SC_CLK_TCK")
    if busy + idle < 0.1 or idle >= 0.25 * (busy + idle):
        return 0.0
    return min(max((busy - own - inexact) / (busy + idle), 0.0), 1.0)


class Disturbances:
    """What disturbed this process since this was made, for a report."""

    def __init__(self):
        self.switches, self.seconds = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw, processor_seconds()

    def told(self):
        return {"involuntary_switches": resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - self.switches,
                "others_share": share_of_others(self.seconds, processor_seconds())}


def time_turn(count, one, now=time.perf_counter):
    """The report of `count` steps or passes; `one` does one and returns its loss, samples and tokens."""
    report = {"type": "report", "step_ms": [], "loss": [], "step_samples": [], "step_tokens": []}
    disturbances = Disturbances()
    for _ in range(count):
        start = now()
        loss, samples, tokens = one()
        report["step_ms"].append((now() - start) * 1e3)
        report["loss"].append(finite(loss))
        report["step_samples"].append(samples)
        report["step_tokens"].append(tokens)
    report["samples"], report["tokens"] = sum(report["step_samples"]), sum(report["step_tokens"])
    return report | disturbances.told()


def serve(prepare, run, whole_message=False, evaluate=None):
    """Answers requests until the end. prepare(message) returns the arm and a report, run(arm, count) a report; where it needs more
    than the count of steps, run(arm, message). evaluate(arm) returns a report too, of an arm that says that it evaluates."""
    arm = None
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "quit":
            break
        try:
            if message["type"] == "prepare":
                arm, report = prepare(message)
            elif message["type"] == "evaluate":
                report = evaluate(arm)
            else:
                report = run(arm, message if whole_message else message["steps"])
        except Exception as error:  # the coordinator shows it in this arm's row
            report = {"type": "error", "text": f"{type(error).__name__}: {error}"}
        answer(report)
