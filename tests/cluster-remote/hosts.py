# SPDX-License-Identifier: GPL-3.0-or-later
"""Several hosts on one computer, for tests: each has names, a network, processes, a /tmp and an sshd of its own
(namespaces of the kernel), and sees the same files elsewhere. A bridge joins them. All end with the process that made
them, whatever happens to it.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import uuid

import cluster

INSIDE = "TOMODESK_HOSTS_INSIDE"
NAMESPACES = ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
NETWORK = "10.99.0."
# A host begins: only the first process is there, in a network without a line. What differs between hosts is bound over
# what they share.
BEGIN = """set -e
hostname {name}
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t tmpfs shm /dev/shm
mount --bind {own}/../home /root
mount --bind {own}/boot_id /proc/sys/kernel/random/boot_id
mkdir -p /run/sshd
ip link set lo up
touch {own}/begun
read line
exec sleep infinity
"""


def enter():
    """Goes on in namespaces of its own, where root of this computer may do as it likes. Raises Missing."""
    if os.environ.get(INSIDE):
        return
    cluster.need("unshare", "nsenter", "ip", "mount")
    tried = subprocess.run(NAMESPACES + ["sh", "-c", "mount -t tmpfs none /mnt && ip link add veth1 type veth peer name veth2"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           check=False)
    if tried.returncode:
        raise cluster.Missing("namespaces are not permitted here: " + " ".join(tried.stdout.split()))
    sys.stdout.flush()
    os.execvpe("unshare", NAMESPACES + [sys.executable] + sys.argv, dict(os.environ, **{INSIDE: "1"}))


def do(*words):
    subprocess.run([str(word) for word in words], check=True, stdin=subprocess.DEVNULL)


class Host:
    """One of them. Its processes are seen here, too."""

    def __init__(self, hosts, name, address):
        self.hosts, self.name, self.address = hosts, name, address
        self.own = hosts.folder / name
        self.own.mkdir()
        self.line = f"line-{name}"
        self.begin()

    def begin(self, **environment):
        """With these variables in whatever its sshd starts."""
        (self.own / "begun").unlink(missing_ok=True)
        (self.own / "boot_id").write_text(f"{uuid.uuid4()}\n")
        with open(self.own / "log", "ab") as log:
            self.unshare = subprocess.Popen(NAMESPACES + ["sh", "-c", BEGIN.format(name=self.name, own=self.own)],
                                            stdin=subprocess.PIPE, stdout=log, stderr=log)
        if not cluster.wait_for((self.own / "begun").exists, 10, 0.02):
            raise cluster.Missing("a host does not begin: " + (self.own / "log").read_text()[-300:])
        children = pathlib.Path(f"/proc/{self.unshare.pid}/task/{self.unshare.pid}/children")
        self.first = int(children.read_text().split()[0])
        # As a host that starts again keeps it: the others know where that address is.
        do("ip", "link", "add", self.line, "type", "veth", "peer", "name", "eth0", "address",
           f"02:00:00:00:00:0{self.address[-1]}", "netns", self.first)
        do("ip", "link", "set", self.line, "master", "td-bridge", "up")
        self.do("ip", "addr", "add", f"{self.address}/24", "dev", "eth0")
        self.do("ip", "link", "set", "eth0", "up")
        config = (self.hosts.folder / "sshd_config").read_text()
        if environment:
            config = config.replace("SetEnv ", "SetEnv " + " ".join(f"{k}={v}" for k, v in environment.items()) + " ")
        (self.own / "sshd_config").write_text(config)
        self.spawn("sshd", shutil.which("sshd"), "-D", "-e", "-f", self.own / "sshd_config")

    def has(self, path):
        return os.path.exists(f"/proc/{self.first}/root{path}")

    def words(self, *words):
        return ["nsenter", "--all", f"--target={self.first}", f"--wd={self.own}"] + [str(word) for word in words]

    def do(self, *words):
        subprocess.run(self.words(*words), check=True, stdin=subprocess.DEVNULL)

    def ask(self, *words):
        return subprocess.run(self.words(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False).stdout

    def spawn(self, name, *words):
        with open(self.own / f"{name}.log", "ab") as log:
            subprocess.Popen(self.words(*words), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                             env=self.hosts.place.environment)

    def processes(self):
        """Their ids, here."""
        space = os.readlink(f"/proc/{self.first}/ns/pid")
        found = []
        for entry in os.listdir("/proc"):
            try:
                found += [entry] if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/pid") == space else []
            except OSError:
                pass
        return found

    def restart(self, **environment):
        self.kill()
        self.begin(**environment)
        self.hosts.await_answer(self)

    def cut(self):
        """Its network is gone, without a word to the others."""
        do("ip", "link", "set", self.line, "down")

    def mend(self):
        do("ip", "link", "set", self.line, "up")

    def kill(self):
        """As without power: nothing is said to the others."""
        self.cut()
        os.kill(self.first, signal.SIGKILL)
        self.unshare.wait(10)
        subprocess.run(["ip", "link", "delete", self.line], stderr=subprocess.DEVNULL, check=False)

    def bytes(self):
        """That it has sent, and received."""
        counts = pathlib.Path("/mnt/class") / "net" / self.line / "statistics"
        return [int((counts / name).read_text()) for name in ("rx_bytes", "tx_bytes")]


class Hosts:
    """A login host, which is this one, and others with their names. All reach each other by ssh without a word."""

    def __init__(self, place, n):
        cluster.need("sshd", "ssh", "ssh-keygen")
        self.place, self.folder = place, place.folder / "hosts"
        self.folder.mkdir()
        names = [f"node{i + 1}" for i in range(n)]
        do("mount", "-t", "sysfs", "sys", "/mnt")  # the computer's /sys is that of another network
        do("ip", "link", "set", "lo", "up")
        do("ip", "link", "add", "td-bridge", "type", "bridge")
        do("ip", "addr", "add", NETWORK + "254/24", "dev", "td-bridge")
        do("ip", "link", "set", "td-bridge", "up")
        do("hostname", "login")
        addresses = [NETWORK + str(i + 1) for i in range(n)]
        lines = ["127.0.0.1 localhost", NETWORK + "254 login"] + [f"{a} {name}" for a, name in zip(addresses, names)]
        self.bind("hosts", "\n".join(lines) + "\n", "/etc/hosts")
        self.make_keys(names)
        self.all = [Host(self, name, address) for name, address in zip(names, addresses)]
        for host in self.all:
            self.await_answer(host)

    @staticmethod
    def do(*words):
        do(*words)

    def bind(self, name, text, over):
        """A file of ours stands in the place of the computer's."""
        (self.folder / name).write_text(text)
        do("mount", "--bind", self.folder / name, over)

    def make_keys(self, names):
        for name in ("host", "id_ed25519"):
            do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name)
        host_key = (self.folder / "host.pub").read_text()
        home = self.folder / "home" / ".ssh"
        home.parent.mkdir()
        home.mkdir(mode=0o700)
        for name in ("id_ed25519", "id_ed25519.pub"):
            shutil.move(self.folder / name, home / name)
        shutil.copy(home / "id_ed25519.pub", home / "authorized_keys")
        (home / "known_hosts").write_text("".join(f"{name} {host_key}" for name in names + ["login"]))
        (home / "config").write_text("ConnectTimeout 5\nLogLevel ERROR\n")
        passed = dict((name, value) for name, value in self.place.environment.items()
                      if name.startswith(("XDG_DATA", "OMPI_", "SLURM_CONF")))
        words = " ".join(f"{name}={value}" for name, value in passed.items())
        (self.folder / "sshd_config").write_text(
            f"HostKey {self.folder}/host\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
            f"AuthorizedKeysFile {home}/authorized_keys\nSetEnv {words}\n")
        where = pathlib.Path("~root/.ssh").expanduser()
        where.mkdir(mode=0o700, exist_ok=True)
        do("mount", "--bind", home, where)
        do("mount", "-t", "tmpfs", "run", "/run")
        os.makedirs("/run/sshd")

    def await_answer(self, host):
        if not cluster.wait_for(lambda: self.answers(host), 10):
            raise cluster.Missing("an sshd does not answer: " + (host.own / "sshd.log").read_text()[-300:])

    @staticmethod
    def answers(host):
        return subprocess.run(["ssh", "-o", "BatchMode=yes", host.name, "true"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


class Slurm(cluster.Slurm):
    """Its controller is here, and each host is a node with two processors."""

    def __init__(self, place, all_hosts):
        os.environ["SLURM_CONF"] = str(place.folder / "slurm" / "slurm.conf")
        own = pathlib.Path("/run/tomodesk-slurm")
        self.configure(place, f"login({NETWORK}254)", [f"{host.name} NodeAddr={host.address} CPUs=2" for host in all_hosts],
                       own)
        own.mkdir()
        self.start_munge(place)
        place.spawn("slurmctld", shutil.which("slurmctld"), "-D", "-f", self.folder / "slurm.conf")
        for host in all_hosts:
            self.join(host)
        self.await_nodes([host.name for host in all_hosts])

    def join(self, host):
        host.do("mkdir", "-p", self.own / "spool")
        self.start_munge(host, host.has)
        self.start_node(host, host.name)
