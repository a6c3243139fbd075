# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of remote jobs run on: profiles for this computer, for an sshd on the loopback interface with
keys of its own, and for a Slurm of one node with a munge of its own. All of it lies in a temporary folder,
and every process is ended by its id."""
import getpass
import inspect
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

os.environ["PATH"] += ":/usr/sbin:/sbin"


class Missing(Exception):
    """A kind of cluster that cannot be had here, and why."""


PORTS = itertools.count()


def free_port():
    """None that the system gives to any connection, and none of another test's that runs beside this one."""
    lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = 10000 + (16 * os.getpid() + next(PORTS)) % max(lowest - 10000, 16)
        with socket.socket() as taken:
            try:
                taken.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def wait_for(condition, limit_s, step_s=0.1):
    """What the condition came to; None if it was never true."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(step_s)
    return None


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Missing(f"{program} is not installed")


class Place:
    """A folder for everything, and the command line that works in it."""

    def __init__(self, cli, fake):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="td"))
        self.cli, self.fake = cli, fake
        self.profiles = self.folder / "config" / "tomodesk" / "profiles"
        self.profiles.mkdir(parents=True)
        self.environment = dict(
            os.environ, XDG_CONFIG_HOME=str(self.folder / "config"), XDG_DATA_HOME=str(self.folder / "data"),
            XDG_RUNTIME_DIR=str(self.folder / "runtime"), LANGUAGE="C", LC_ALL="C.UTF-8",
            OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_rmaps_base_oversubscribe="1",
            PATH=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")  # not a wrapper that looks for Python
        (self.folder / "runtime").mkdir(mode=0o700)
        self.scan = self.folder / "scan.nxs"
        self.run("phantom", "shepp-logan", "--cone", "--output", self.scan, "--columns", 48, "--rows", 32,
                 "--views", 60)
        self.children, self.kept, self.look_s = [], set(), 0

    def command(self, *words):
        return [self.cli] + [str(word) for word in words]

    def run(self, *words, limit_s=60):
        return subprocess.run(self.command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=self.environment, timeout=limit_s,
                              check=False)

    def start(self, *words):
        return subprocess.Popen(self.command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=self.environment)

    def spawn(self, name, *words, env=None):
        log = open(self.folder / f"{name}.log", "ab")
        child = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log,
                                 stderr=log, env=env or self.environment, start_new_session=True)
        log.close()
        self.children.append(child)
        return child

    @staticmethod
    def stop(child):
        """Ends the child and what it started: they form a session of their own."""
        try:
            os.killpg(child.pid, signal.SIGTERM)
            child.wait(5)
        except ProcessLookupError:
            pass
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def profile(self, name, **keys):
        lines = "".join(f"{key.replace('_', '-')} = {value}\n" for key, value in keys.items())
        (self.profiles / f"{name}.ini").write_text("[Profile]\n" + lines)
        return name

    def submit(self, profile, output, *options):
        """The id of a job that is not followed."""
        done = self.run("submit", self.scan, "--output", self.folder / output, "--profile", profile,
                        "--detach", *options)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def job(self, job_id):
        start = time.monotonic()
        listed = json.loads(self.run("jobs", "--json").stdout)["jobs"]
        self.look_s = time.monotonic() - start
        return next(job for job in listed if job["id"] == job_id)

    @staticmethod
    def processes(folder, name="", wanted=""):
        """Processes that were started for the job of this folder; of this name and this state alone."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "environ").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
                its_name = (entry / "comm").read_text()
            except OSError:
                continue
            if f"TOMODESK_JOB={folder}".encode() in words and state != "Z" and its_name.startswith(name) \
                    and state.startswith(wanted):
                found.append(entry.name)
        return found

    def forget(self):
        """Jobs that have ended, but for those of cases that wait: each list would look at all of them."""
        for folder in set(self.folder.glob("data/tomodesk/jobs/2*")) - self.kept:
            if not self.processes(folder):
                shutil.rmtree(folder, ignore_errors=True)

    def close(self):
        """Jobs that a failed test left behind end first: Slurm's own end would leave their processes."""
        for folder in self.folder.glob("**/jobs*/*/job.json"):
            for pid in self.processes(folder.parent):
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for child in reversed(self.children):
            self.stop(child)
        self.end_steps()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_steps(self):
        """Slurm's daemons of steps wait for ever for a controller that is gone. Each has a socket in the spool folder."""
        sockets = {f"socket:[{words[6]}]" for words in map(str.split, pathlib.Path("/proc/net/unix").read_text().splitlines())
                   if len(words) == 8 and words[7].startswith(f"{self.folder}/slurm/spool/")}
        for entry in pathlib.Path("/proc").glob("[0-9]*/fd/*") if sockets else ():
            try:
                if os.readlink(entry) in sockets:
                    os.kill(int(entry.parts[2]), signal.SIGKILL)
            except OSError:
                pass


class Sshd:
    """An sshd of the user's own, and the configuration that reaches it as "loopback"."""

    def __init__(self, place):
        need("sshd", "ssh", "ssh-keygen")
        self.place, self.port = place, free_port()
        folder = place.folder / "ssh"
        folder.mkdir(mode=0o700)
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        shutil.copy(folder / "user.pub", folder / "authorized")
        host_key = (folder / "host.pub").read_text()
        (folder / "known").write_text(f"[127.0.0.1]:{self.port} {host_key}")
        passed = "".join(f" {name}" for name in ("XDG_DATA_HOME", "SLURM_CONF") + tuple(
            name for name in place.environment if name.startswith("OMPI_")))
        (folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile {folder}/pid\n"
            f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n"
            f"PasswordAuthentication no\nAcceptEnv{passed}\nSetEnv HOME={place.folder}\n")
        self.config = folder / "config"
        self.config.write_text(
            f"Host terminal\n  RemoteCommand cat\n  RequestTTY yes\n  ExitOnForwardFailure yes\n"
            f"  LocalForward 127.0.0.1:{self.port} 127.0.0.1:1\n"
            f"Host loopback terminal\n  HostName 127.0.0.1\n  Port {self.port}\n  User {getpass.getuser()}\n"
            f"  IdentityFile {folder}/user\n  IdentitiesOnly yes\n  UserKnownHostsFile {folder}/known\n"
            f"  SendEnv{passed}\n")
        self.folder = folder
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        self.start()
        if not wait_for(self.answers, 30):
            raise Missing("sshd does not start: " + (place.folder / "sshd.log").read_text()[-300:])

    def start(self):
        self.child = self.place.spawn("sshd", shutil.which("sshd"), "-D", "-e", "-f",
                                      self.folder / "sshd_config")

    def answers(self):
        return subprocess.run(["ssh", "-F", self.config, "-o", "BatchMode=yes", "loopback", "true"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=self.place.environment,
                              check=False).returncode == 0

    def cut(self):
        """The listener ends, and so does every connection."""
        children = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,args="], stdout=subprocess.PIPE, text=True,
                                  check=True).stdout
        own = {self.child.pid}
        for _ in range(3):
            for line in children.splitlines():
                pid, parent, words = line.split(None, 2)
                if int(parent) in own and "sshd" in words:
                    own.add(int(pid))
        for pid in own:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.child.wait()


class Slurm:
    """munged, slurmctld and slurmd of one node, all as this user."""

    def __init__(self, place):
        node = socket.gethostname().split(".")[0]
        self.configure(place, f"{node}(127.0.0.1)", [f"{node} NodeAddr=127.0.0.1 CPUs=4"], place.folder / "slurm")
        self.start_munge(place)
        place.spawn("slurmctld", shutil.which("slurmctld"), "-D", "-f", self.folder / "slurm.conf")
        self.start_node(place, node)
        self.await_nodes([node])

    def configure(self, place, controller, nodes, own):
        """Own: the folder that each host has to itself, under the same name."""
        need("munged", "slurmctld", "slurmd", "sbatch", "srun")
        self.place, self.folder, self.own = place, place.folder / "slurm", own
        folder, user = self.folder, getpass.getuser()
        for name in ("", "state", "spool"):
            (folder / name).mkdir(mode=0o700)
        self.key = folder / "munge.key"
        self.key.write_bytes(os.urandom(128))
        self.key.chmod(0o400)
        node_lines = "\n".join(f"NodeName={node} State=UNKNOWN" for node in nodes)
        (folder / "slurm.conf").write_text(f"""
ClusterName=tomodesk
SlurmctldHost={controller}
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={own}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={own}/spool
SlurmctldPidFile={own}/slurmctld.pid
SlurmdPidFile={own}/slurmd.pid
SlurmdTimeout=20
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
ReturnToService=2
KillWait=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
{node_lines}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
        (folder / "plain.conf").write_text("")
        # Else each job's folder lies in /tmp by its number, and what a run leaves there stops the next one.
        (folder / "mpi.conf").write_text(f"PMIxCliTmpDirBase={own}\n")
        version = subprocess.run(["slurmd", "-V"], stdout=subprocess.PIPE, text=True, check=False).stdout
        number = [int(part) for part in re.findall(r"\d+", version)[:2]]
        if number >= [23, 11]:
            (folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
        place.environment["SLURM_CONF"] = str(folder / "slurm.conf")

    def start_munge(self, host, is_there=os.path.exists):
        own = self.own
        host.spawn("munged", shutil.which("munged"), "--foreground", "--force", f"--key-file={self.key}",
                   f"--socket={own}/munge.socket", f"--pid-file={own}/munge.pid", f"--seed-file={own}/munge.seed",
                   f"--log-file={own}/munge.log")
        if not wait_for(lambda: is_there(f"{own}/munge.socket"), 30):
            raise Missing("munged does not start: " + self.last_words("munged"))

    def start_node(self, host, name):
        host.spawn("slurmd", shutil.which("slurmd"), "-D", "-f", self.folder / "slurm.conf", "-N", name)

    def await_nodes(self, names):
        if not wait_for(lambda: self.ask("sinfo", "-h", "-N", "-o", "%t").split() == ["idle"] * len(names), 30, 0.3):
            raise Missing("slurm does not start: " + self.last_words("slurmctld") + self.last_words("slurmd"))
        # The first step of a node that has just come up is sometimes aborted: it is not a test's.
        step = ("srun", f"--nodes={len(names)}", "echo", "came up")
        if not wait_for(lambda: self.ask(*step).count("came up") == len(names), 20, 0.3):
            raise Missing("slurm starts no step: " + self.ask(*step)[-300:])
        listed = self.ask("srun", "--mpi=list")
        self.launcher = "srun;--mpi=pmix" if "pmix" in listed else "mpirun"

    def last_words(self, name):
        log = self.place.folder / f"{name}.log"
        return log.read_text(errors="replace")[-300:].replace("\n", " | ") if log.exists() else ""

    def ask(self, *words):
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env=self.place.environment, check=False)
        return done.stdout


def run(cases, kind, place, prepare):
    """Speaks TAP of the cases, which take the place and its kind, once that is prepared. One that yields waits for
    something: it goes on when the others are done."""
    print(f"1..{len(cases)}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    waiting, numbers = [], itertools.count(1)  # TAP counts cases as they end

    def step(case, do):
        name = f"{kind}: {case.__name__.replace('_s_', ' s ').replace('_', ' ')}"
        start = time.monotonic()
        try:
            rest = do()
            if inspect.isgenerator(rest) and next(rest, waiting) is not waiting:
                waiting.append((case, lambda: next(rest, None)))
                place.kept.update(place.folder.glob("data/tomodesk/jobs/*"))
                return
            print(f"ok {next(numbers)} {name} # {time.monotonic() - start:.1f} s", flush=True)
        except Missing as reason:
            print(f"ok {next(numbers)} {name} # SKIP {reason}", flush=True)
        except Exception:
            print("# " + traceback.format_exc().replace("\n", "\n# "), flush=True)
            print(f"not ok {next(numbers)} {name}", flush=True)

    try:
        prepare(place, kind)
        for case in cases:
            step(case, lambda: case(place, kind))
            place.forget()
        for case, rest in waiting:
            step(case, rest)
    except Missing as reason:
        for case in cases:
            print(f"ok {next(numbers)} {kind}: {case.__name__} # SKIP {reason}", flush=True)
    finally:
        place.close()
