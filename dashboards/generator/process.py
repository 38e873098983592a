"""The processes that make the requests."""

from .board import board
from .panels import graph, thresholds, top
from .promql import PROCESS, instrumented, rate


def of(metric):
    """A metric of the processes that SessionTap is in."""
    return instrumented(f"{metric}{{{PROCESS}}}")


def counted(metric):
    return instrumented(rate(metric, PROCESS))


def used(metric, limit):
    return instrumented(f"{metric}{{{PROCESS}}} / {limit}{{{PROCESS}}}")


DESCRIPTORS_IN_USE = used("process_open_fds", "process_max_fds")


def process():
    each = "{{instance}}"
    return board(
        "session-tap-process", "processes", "CPU, memory, file descriptors and network of the processes.",
        ("job", "instance"),
        [
            ("Process", [
                graph("CPU", "Cores in use, in user and kernel mode.", "short",
                      (counted("process_cpu_seconds_total"), each)),
                graph("Resident memory", "What is in RAM.", "bytes", (of("process_resident_memory_bytes"), each)),
                graph("Virtual memory", "The address space that is in use, and not what it costs.", "bytes",
                      (of("process_virtual_memory_bytes"), each)),
                graph("Virtual memory in use", "Of its limit; where there is none, of all that can be addressed.",
                      "percentunit",
                      (used("process_virtual_memory_bytes", "process_virtual_memory_max_bytes"), each)),
                graph("File descriptors", "Open ones, and how many may be.", "short",
                      (of("process_open_fds"), each), (of("process_max_fds"), f"{each} limit")),
                graph("File descriptors in use", "Of those that may be open.", "percentunit",
                      (DESCRIPTORS_IN_USE, each), maximum=1, steps=thresholds("green", (0.8, "red"))),
                graph("Threads", "Of the operating system. A pool that a blocking call fills grows here.", "short",
                      (of("process_threads"), each)),
                graph("Network", "Of the network namespace: in a container its own, else the machine's, loopback "
                      "included.", "Bps",
                      (counted("process_network_receive_bytes_total"), f"{each} received"),
                      (counted("process_network_transmit_bytes_total"), f"{each} sent")),
                graph("Uptime", "Falls to 0 where a process has restarted.", "dtdhms",
                      (f"time() - ({of('process_start_time_seconds')})", each)),
                graph("Restarts", "Times that a process has started again in half an hour.", "short",
                      (instrumented(f"changes(process_start_time_seconds{{{PROCESS}}}[30m])"), each),
                      steps=thresholds("green", (3, "red"))),
                top("What runs", "target_info: the service and its attributes, from OTEL_SERVICE_NAME and "
                    "OTEL_RESOURCE_ATTRIBUTES. Without those, the version of SessionTap alone.",
                    f"target_info{{{PROCESS}}} or on (job, instance) session_tap_build_info{{{PROCESS}}}",
                    {"job": "Job", "instance": "Instance", "service_name": "Service",
                     "service_version": "Version", "version": "SessionTap"}, "none", width=12, height=8),
            ]),
        ])
