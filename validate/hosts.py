"""Hosts on this machine: a network namespace and a host name each, and links between them.

Between two hosts the link is a veth pair; with latency it is two TAP devices and latency_relay between them.
More have a veth pair each to a switch, which is a bridge in a namespace of its own. What hosts send is shaped by tc's token bucket
filter. Nothing outlives the process: what an earlier one could not remove, because it was killed, the next one does.

Connections are controlled by CUBIC, Linux's default, whatever this machine's is. BBR takes what a connection carried before for what it
can carry, and a job that sends in bursts, whose link becomes faster, keeps to the old rate; and for 200 ms of every 10 s it has four
packets under way (docs/decisions/0038-how-the-kit-is-run.md).
"""

import json
import os
import re
import signal
import string
import subprocess
import sys

NAME_PREFIX = "tacho"
DEVICE = "link0"
SWITCH = "switch0"
# One segment handed to the device is at most this long, and the burst that may pass above the rate is
# the frames it is cut into. Shorter ones cost more processor time, which the ranks have to share; with
# longer ones more of the start of each transfer passes unshaped.
SEGMENT_BYTES = 32768
BURST_BYTES = 36864
RATE_PORT = 19999
NETWORK = "10.77.0.0/24"
CONGESTION_CONTROL = "cubic"
# Before anything else on this machine. Of ranks that compute: by weight, so that their own threads share the core as ever; niceness
# counts within a session, and a session's own within the machine (sched_autogroup). Of ranks that wait instead of computing, and that
# outnumber cores: in real time, so that who has waited goes on at once, as on a core of its own.
FIRST = ["sh", "-c", '[ ! -w /proc/self/autogroup ] || echo -20 >/proc/self/autogroup; exec nice -n -20 "$@"', "sh"]
REAL_TIME = ["chrt", "--rr", "10"]
RELAY_PRIORITY = 20  # it is the wire, which waits for nobody
QUEUE_BYTES = 16 << 20  # more than TCP keeps under way: the link is slow, but loses nothing


class HostsError(Exception):
    pass


def address(host):
    return f"10.77.0.{host + 1}"


def core_of(host):
    cores = sorted(os.sched_getaffinity(0))
    return cores[host % len(cores)]


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
    """with Hosts(relay_program, n_hosts) as hosts: ..."""

    def __init__(self, relay_program, n_hosts=2):
        self.relay_program = relay_program
        self.names = [f"{NAME_PREFIX}-{os.getpid()}-{letter}"
                      for letter in string.ascii_lowercase[:n_hosts]]
        self.switch = f"{NAME_PREFIX}-{os.getpid()}-switch"
        self.relays = []
        self.shaped = []  # (namespace, device) of each direction of the links

    def __enter__(self):
        try:
            remove_left_over()
            for name in [*self.names, self.switch]:
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
        for name in [*self.names, self.switch]:
            if name in there:
                remove_namespace(name)

    def run(self, name, *command):
        return call("ip", "netns", "exec", name, *command)

    def connect(self, rate_mbit, latency_ms):
        """Replace the link of the first two hosts by one of this rate, and this latency in each direction."""
        self.disconnect()
        self.join((self.names[0], DEVICE), (self.names[1], DEVICE), latency_ms)
        self.set_up(2, rate_mbit)

    def connect_to_switch(self, n_hosts, rate_mbit, latency_ms=0, is_shaped_back=False):
        """Replace the links by one of each of the first hosts to a switch, of this rate from the host, and with
        `is_shaped_back` to it as well; the latency is from one host to another."""
        self.disconnect()
        call("ip", "-n", self.switch, "link", "add", SWITCH, "type", "bridge")
        call("ip", "-n", self.switch, "link", "set", SWITCH, "up")
        for host in range(n_hosts):
            port = f"port{host}"
            self.join((self.names[host], DEVICE), (self.switch, port), latency_ms / 2)
            call("ip", "-n", self.switch, "link", "set", port, "gso_max_size", str(SEGMENT_BYTES))
            call("ip", "-n", self.switch, "link", "set", port, "master", SWITCH, "up")
            if is_shaped_back:
                self.shaped.append((self.switch, port))
        self.set_up(n_hosts, rate_mbit)

    def join(self, one, other, latency_ms):
        """A link between two devices (namespace, name), which are made."""
        if latency_ms > 0:
            self.start_relay(one, other, latency_ms)
        else:
            call("ip", "link", "add", one[1], "netns", one[0], "type", "veth",
                 "peer", "name", other[1], "netns", other[0])

    def set_up(self, n_hosts, rate_mbit):
        for host, name in enumerate(self.names[:n_hosts]):
            call("ip", "-n", name, "link", "set", DEVICE, "gso_max_size", str(SEGMENT_BYTES))
            call("ip", "-n", name, "address", "add", f"{address(host)}/24", "dev", DEVICE)
            call("ip", "-n", name, "link", "set", DEVICE, "up")
            # by the route: a namespace may set as its default only what everyone may choose
            call("ip", "-n", name, "route", "replace", NETWORK, "dev", DEVICE, "proto", "kernel", "scope", "link",
                 "src", address(host), "congctl", CONGESTION_CONTROL)
            self.shaped.append((name, DEVICE))
        self.set_rate(rate_mbit)

    def set_rate(self, rate_mbit):
        """Change the rate of all links; what is connected over them stays connected."""
        for name, device in self.shaped:
            call("tc", "-n", name, "qdisc", "replace", "dev", device, "root", "tbf", "rate",
                 f"{rate_mbit:g}mbit", "burst", str(BURST_BYTES), "limit", str(QUEUE_BYTES))

    def ask_both(self, script):
        """What a script says that the first two hosts run with each other's addresses: of each its output."""
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), script)
        ends = [subprocess.Popen(self.command(host, core_of(host), {}, [
                    sys.executable, program, address(host), address(1 - host), str(RATE_PORT)], REAL_TIME),
                                 stdout=subprocess.PIPE, text=True) for host in range(2)]
        said = [end.communicate()[0] for end in ends]
        if any(end.returncode != 0 for end in ends):
            raise HostsError(f"{script}: what the link is like could not be measured")
        return said

    def measure_rate(self):
        """Mbit/s that the link of the first two hosts carries each way, both in use: the mean of both."""
        return sum(float(mbit) for mbit in self.ask_both("link_rate.py")) / 2

    def measure_round_trip(self):
        """ms that a small message between the first two hosts takes there and back, nothing else being under way."""
        return float(self.ask_both("link_latency.py")[0])

    def start_relay(self, one, other, latency_ms):
        relay = subprocess.Popen(
            ["chrt", "--fifo", str(RELAY_PRIORITY), self.relay_program, "--delay-us", str(round(latency_ms * 1000)),
             *(f"{name}:{device}" for name, device in (one, other))],
            stdout=subprocess.PIPE, text=True)
        self.relays.append(relay)
        if relay.stdout.readline() != "ready\n":
            raise HostsError("latency_relay did not start")

    def disconnect(self):
        """Remove the links. Returns what the busiest relay says that it carried, or None: there was none."""
        carried = None
        for relay in self.relays:
            relay.terminate()
            said = relay.communicate()[0]
            row = json.loads(said) if said.strip() else None
            if row and (not carried or row["frames"] > carried["frames"]):
                carried = row
        self.relays = []
        self.shaped = []
        for name, device in [(name, DEVICE) for name in self.names] + [(self.switch, SWITCH)]:
            # a veth pair dies with either end
            if os.path.exists(f"/run/netns/{name}"):
                subprocess.run(["ip", "-n", name, "link", "del", device], capture_output=True)
        return carried

    def command(self, host, core, environment, command, priority=()):
        """`command` as it must be started to run on that host, on that core alone."""
        name = f"host-{string.ascii_lowercase[host]}"
        settings = [f"{key}={value}" for key, value in environment.items()]
        return [*priority, "ip", "netns", "exec", self.names[host], "unshare", "--uts", "sh", "-c",
                f'echo {name} >/proc/sys/kernel/hostname && exec "$@"', "sh",
                "taskset", "-c", str(core), "env", *settings, *command]
