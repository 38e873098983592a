#!/usr/bin/env python3
"""What a request costs, by step and by function of this package: instructions, heap allocations, retains and releases, misses of
the first and the last cache, and system calls (clocks among them, which are none without valgrind). Needs valgrind.

    account served BENCHMARKS [--runs 5]    a request that the app serves, with its line
    account made BENCHMARKS [--runs 5]      a request of a URLSession, beyond one without the tap
        --most INSTRUCTIONS ALLOCATIONS     fails if the sum of a request's steps is more; counts no misses and no calls

BENCHMARKS is the program session-tap-benchmarks, built for release. A cost belongs to the innermost function of the package on
the stack, with what the runtime and libc do for it, and to the innermost step. `elsewhere` is what other libraries spend, beyond
what they do without the tap. The figures are those of a long load less those of a short one, medians of the runs.
"""

import argparse
import collections
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

VALGRIND = ["valgrind", "--tool=callgrind", "--separate-callers=24", "--dump-line=no", "--compress-pos=no", "--fair-sched=yes"]
#: These take half of the time.
CACHES = ["--cache-sim=yes", "--collect-systime=yes"]
COLUMNS = ["instructions", "allocations", "retains", "D1 misses", "LL misses", "calls"]
#: The events of callgrind that make a column.
EVENTS = {"Ir": 0, "D1mr": 3, "D1mw": 3, "DLmr": 4, "DLmw": 4, "sysCount": 5}
#: The functions whose calls make a column.
CALLS = dict.fromkeys(["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"], 1) | dict.fromkeys(
    ["swift_retain", "swift_release", "swift_retain_n", "swift_release_n", "swift_bridgeObjectRetain",
     "swift_bridgeObjectRelease"], 2)
#: The mangled names of the package's modules, and those of the runtime's, whose costs are their callers'.
OWN = re.compile(r"\$s(S[a-z])?\d+(Tap[A-Z]|SessionTap)")
RUNTIME = re.compile(r"\$s(s|S|14_Concurrency|15Synchronization|I|W|[a-z]|_)|(?!\$s|_?CF|_?curl_|Curl_|c_nio|CNIO)")
#: The functions that a step begins with.
STEPS = {"static MetricsURLProtocol.canInit": "canInit", "MetricsURLProtocol.__allocating_init": "init(task:)",
         "MetricsURLProtocol.init": "init(task:)", "MetricsURLProtocol.startLoading": "startLoading",
         "ClientRelay.urlProtocol": "relay", "ClientRelay.urlProtocolDidFinishLoading": "end", "ClientRelay.end": "end",
         "MetricsURLProtocol.__deallocating_deinit": "deinit", "RequestRecord.__deallocating_deinit": "deinit",
         "InboundRequests.begin": "begin", "RequestRecord.begin": "begin", "ActiveRequest.end": "end", "RequestRecord.end": "end",
         "ActiveRequest.__deallocating_deinit": "end", "RequestRecorder.add": "queue", "RequestRecord.deliver": "drain",
         "RequestRecorder.queue": "drain", "RequestLog.requestEnded": "line", "LogWriter.write": "write"}
MODULES = {"14TapHummingbird": "adapter", "13TapURLSession": "session"}


class Profile:
    """A file of callgrind's."""

    def __init__(self, path):
        self.path = path
        # A stack has its name where it occurs first, and a number everywhere.
        self.stacks = {}
        with open(path, errors="replace") as file:
            for line in file:
                if match := re.match(r"c?fn=\((\d+)\) (.*)", line):
                    self.stacks[match[1]] = [frame for frame in match[2].split("'") if not frame.isdigit()]
        frames = sorted({frame for stack in self.stacks.values() for frame in stack})
        names = subprocess.run(["swift", "demangle", "--simplified"], input="\n".join(frames) + "\n", check=True,
                               capture_output=True, text=True).stdout.splitlines()
        # Without parameters; a closure counts as its function.
        self.names = {frame: re.sub(r".* in |specialized |.* of |\(.*", "", name) for frame, name in zip(frames, names)}
        self.places = {number: self.place(stack) for number, stack in self.stacks.items()}

    def place(self, stack):
        """The step and the function that a stack belongs to."""
        function = next((frame for frame in stack if OWN.match(frame) or not RUNTIME.match(frame)), "")
        if not OWN.match(function):
            return ("elsewhere", "")
        steps = [STEPS.get(self.names[frame]) for frame in stack]
        modules = [MODULES.get(frame[2:18]) or MODULES.get(frame[2:17]) for frame in stack]
        return (next(filter(None, steps + modules), "other"), self.names[function])

    def costs(self):
        """By step and function."""
        costs, events, is_call = collections.defaultdict(lambda: [0] * len(COLUMNS)), [], False
        with open(self.path, errors="replace") as file:
            for line in file:
                if match := re.match(r"(c?)fn=\((\d+)\)", line):
                    if match[1]:
                        callee = match[2]
                    else:
                        function = costs[self.places[match[2]]]
                elif line.startswith("calls="):
                    is_call = True
                    if column := CALLS.get(self.stacks[callee][0]):
                        costs[self.places[callee]][column] += int(line[6:].split()[0])
                elif line.startswith("events:"):
                    events = [EVENTS.get(event) for event in line.split()[1:]]
                elif line[0].isdigit():
                    # The line behind a call has the costs of what was called.
                    for column, value in () if is_call else zip(events, line.split()[1:]):
                        if column is not None:
                            function[column] += int(value)
                    is_call = False
        return costs


def difference(more, less):
    none = [0] * len(COLUMNS)
    return {place: [a - b for a, b in zip(more.get(place, none), less.get(place, none))] for place in {*more, *less}}


def measure(run, counts):
    """The costs of a request: `run` runs so many of them behind the given command."""
    profiles = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "callgrind"
        for count in counts:
            run([*VALGRIND, f"--callgrind-out-file={path}"], count)
            profiles.append(Profile(path).costs())
    return {place: [cost / (counts[1] - counts[0]) for cost in costs] for place, costs in difference(*reversed(profiles)).items()}


def loop(program, name, counts):
    def run(command, count):
        subprocess.run([*command, program, "--loop", name, str(count)], check=True, stderr=subprocess.DEVNULL,
                       env=os.environ | {"SWIFT_DETERMINISTIC_HASHING": "1"})

    return measure(run, counts)


def show(runs):
    def line(name, figures):
        print(f"{name:46}" + "".join(f"{figure:14,.{0 if column == 0 else 2}f}" for column, figure in enumerate(figures)))

    def medians(chosen):
        sums = [[sum(column) for column in zip(*(run[place] for place in run if chosen(place)))] for run in runs]
        return [statistics.median(column) for column in zip(*filter(None, sums))]

    print(f"{'':46}" + "".join(f"{column:>14}" for column in COLUMNS))
    places = {place: medians(lambda other: other == place) for place in {place for run in runs for place in run}}
    steps = {step: medians(lambda place: place[0] == step) for step in {step for step, _ in places}}
    whole = medians(lambda _: True)
    for step, figures in sorted(steps.items(), key=lambda item: -item[1][0]):
        line(step, figures)
        for (_, function), figures in sorted(places.items(), key=lambda item: -item[1][0]):
            if (step, function) in places and places[step, function] is figures and function and figures[0] > whole[0] / 200:
                line(f"  {function}", figures)
    # Without what a tick costs: how many requests share one depends on the machine.
    steps = medians(lambda place: place[0] not in ("elsewhere", "other", "write"))
    line("sum of its steps", steps)
    line("sum", whole)
    return steps


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("which", choices=["served", "made"])
    arguments.add_argument("program", type=pathlib.Path)
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--most", type=float, nargs=2, metavar=("INSTRUCTIONS", "ALLOCATIONS"))
    options = arguments.parse_args()
    if not options.most:
        VALGRIND.extend(CACHES)
    if options.which == "served":
        # More than wait in the queue at once, so that memory is used again.
        steps = show([loop(options.program, "servedRequests", (3_000, 8_000)) for _ in range(options.runs)])
    else:
        steps = show([difference(*(loop(options.program, name, (100, 400)) for name in ("tappedRequests", "stockRequests")))
                      for _ in range(options.runs)])
    if options.most and (steps[0] > options.most[0] or steps[1] > options.most[1]):
        sys.exit(f"a request has {steps[0]:,.0f} instructions and {steps[1]:.1f} allocations in its steps: at most "
                 f"{options.most[0]:,.0f} and {options.most[1]:.1f} are its budget")


if __name__ == "__main__":
    main()
