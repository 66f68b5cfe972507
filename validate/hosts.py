"""Two hosts on this machine: a network namespace and a host name each, and a link between them.

The link is a veth pair; with latency it is two TAP devices and latency_relay between them. Both ends are
shaped by tc's token bucket filter. Nothing outlives the process: what an earlier one could not remove,
because it was killed, the next one does.
"""

import json
import os
import re
import signal
import subprocess

NAME_PREFIX = "tacho"
DEVICE = "link0"
ADDRESSES = ("10.77.0.1", "10.77.0.2")
# One segment handed to the device is at most this long, and the burst that may pass above the rate is
# the frames it is cut into. Shorter ones cost more processor time, which the ranks have to share; with
# longer ones more of the start of each transfer passes unshaped.
SEGMENT_BYTES = 32768
BURST_BYTES = 36864
QUEUE_BYTES = 16 << 20  # more than TCP keeps under way: the link is slow, but loses nothing


class HostsError(Exception):
    pass


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise HostsError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def why_not():
    """Why this machine cannot have such hosts, or None."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    name = f"{NAME_PREFIX}-{os.getpid()}-try"
    try:
        call("ip", "netns", "add", name)
    except (HostsError, OSError) as error:
        return f"no network namespaces: {error}"
    try:
        call("ip", "-n", name, "link", "add", "name", "one", "type", "veth", "peer", "name",
             "other")
        call("tc", "-n", name, "qdisc", "add", "dev", "one", "root", "tbf", "rate", "1gbit",
             "burst", "20kb", "limit", "1mb")
    except (HostsError, OSError) as error:
        return f"no veth pair shaped by tbf: {error}"
    finally:
        call("ip", "netns", "del", name)
    return None if os.path.exists("/dev/net/tun") else "no /dev/net/tun"


def remove_namespace(name):
    for pid in call("ip", "netns", "pids", name).split():
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            pass
    call("ip", "netns", "del", name)


def remove_left_over():
    """The namespaces of such processes as are no more."""
    for line in call("ip", "netns", "list").splitlines():
        owner = re.match(rf"({NAME_PREFIX}-(\d+)-[a-z]+)\b", line)
        if owner and not os.path.exists(f"/proc/{owner[2]}"):
            remove_namespace(owner[1])


class Hosts:
    """with Hosts(relay_program) as hosts: ..."""

    def __init__(self, relay_program):
        self.relay_program = relay_program
        self.names = [f"{NAME_PREFIX}-{os.getpid()}-{end}" for end in "ab"]
        self.relay = None

    def __enter__(self):
        try:
            remove_left_over()
            for name in self.names:
                call("ip", "netns", "add", name)
                call("ip", "-n", name, "link", "set", "lo", "up")
                self.run(name, "sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.disconnect()
        there = call("ip", "netns", "list").split()
        for name in self.names:
            if name in there:
                remove_namespace(name)

    def run(self, name, *command):
        return call("ip", "netns", "exec", name, *command)

    def connect(self, rate_mbit, latency_ms):
        """Replace the link by one of this rate, and this latency in each direction."""
        self.disconnect()
        if latency_ms > 0:
            self.start_relay(latency_ms)
        else:
            call("ip", "link", "add", DEVICE, "netns", self.names[0], "type", "veth",
                 "peer", "name", DEVICE, "netns", self.names[1])
        for name, address in zip(self.names, ADDRESSES):
            call("ip", "-n", name, "link", "set", DEVICE, "gso_max_size", str(SEGMENT_BYTES))
            call("ip", "-n", name, "address", "add", f"{address}/24", "dev", DEVICE)
            call("ip", "-n", name, "link", "set", DEVICE, "up")
            call("tc", "-n", name, "qdisc", "replace", "dev", DEVICE, "root", "tbf", "rate",
                 f"{rate_mbit:g}mbit", "burst", str(BURST_BYTES), "limit", str(QUEUE_BYTES))

    def start_relay(self, latency_ms):
        self.relay = subprocess.Popen(
            [self.relay_program, "--delay-us", str(round(latency_ms * 1000)),
             *(f"{name}:{DEVICE}" for name in self.names)],
            stdout=subprocess.PIPE, text=True)
        if self.relay.stdout.readline() != "ready\n":
            raise HostsError("latency_relay did not start")

    def disconnect(self):
        """Remove the link. Returns what the relay says that it carried, or None: there was none."""
        carried = None
        if self.relay:
            self.relay.terminate()
            said = self.relay.communicate()[0]
            carried = json.loads(said) if said.strip() else None
            self.relay = None
        elif os.path.exists(f"/run/netns/{self.names[0]}"):
            # a veth pair dies with either end
            subprocess.run(["ip", "-n", self.names[0], "link", "del", DEVICE], capture_output=True)
        return carried

    def command(self, host, core, environment, command):
        """`command` as it must be started to run on that host (0 or 1), on that core alone."""
        name = f"host-{'ab'[host]}"
        settings = [f"{key}={value}" for key, value in environment.items()]
        return ["ip", "netns", "exec", self.names[host], "unshare", "--uts", "sh", "-c",
                f'echo {name} >/proc/sys/kernel/hostname && exec "$@"', "sh",
                "taskset", "-c", str(core), "env", *settings, *command]
