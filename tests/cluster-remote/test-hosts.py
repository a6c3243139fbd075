#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of the real worker on several hosts, by mpirun over ssh and by Slurm: test-hosts.py CLI WORKER KIND [CASE…].

The hosts are namespaces of this computer (hosts.py). Speaks TAP; without the right to make them all is skipped.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import cluster
import hosts

FAULTS = 10  # seconds in which a fault is to be told
KILLED = "(rank [45] with PID .* on node node3 .*Killed|node3: tasks? [45].*: Killed)"  # by mpirun or srun
N_HOSTS = 3  # with two ranks each
SLOWED = f"LD_PRELOAD={os.environ.get('TOMODESK_SLOW_STORAGE')} SLOW_LATENCY=500"


def submit(place, profile, output, *options, scan=None):
    """The job's id; it is not followed."""
    done = place.run("submit", scan or place.scan, "--output", place.folder / output, "--profile", profile, "--device", "host",
                     "--detach", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def await_job(place, job_id, condition, limit_s):
    """What it is once that is so."""
    job = cluster.wait_for(lambda: next((job for job in [place.job(job_id)] if condition(job)), None), limit_s, 0.2)
    assert job, (place.job(job_id), place.run("follow", job_id, "--log").stdout[-3000:])
    return job


def ended(job):
    return job["state"] in ("done", "failed", "cancelled", "lost")


def left(folder, but=None):
    """Processes of a job on any host, or on any but that one. Their names tell: the job's folder is in no environment."""
    found, spared = [], but.processes() if but else ()
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words, name = (entry / "cmdline").read_text().replace("\0", " "), (entry / "comm").read_text().strip()
            if not words:  # it has ended, and nobody has looked yet
                continue
        except OSError:
            continue
        if entry.name in spared:
            continue
        if name in ("orted", "mpirun", "srun", "slurmstepd") or (str(folder) in words and name == "tomodesk-worker"):
            found.append((entry.name, words))
    return found


def count_parts(path):
    """Slices that are finished."""
    try:
        return sum(part["count"] for part in json.loads(path.read_text())["done"])
    except ValueError:
        return 0


def await_none(folder, limit_s=FAULTS, but=None):
    assert cluster.wait_for(lambda: not left(folder, but), limit_s), left(folder, but)


def slow(place, kind):
    """A profile whose ranks read so slowly that a job takes a while, unless there is a file "quick"."""
    (place.folder / "quick").unlink(missing_ok=True)
    preload = f"export {SLOWED} SLOW_STORAGE={place.scan}"
    place.profile("slow", **dict(place.keys[kind], setup=f"[ -e {place.folder}/quick ] || {preload}"))
    return "slow"


def running(place, kind, output, *options):
    """A job that is in the middle of its work: its id and its folder."""
    job_id = submit(place, slow(place, kind), output, *options)
    job = await_job(place, job_id, lambda job: job["state"] == "running" and job["ranks"] == 2 * N_HOSTS, 60)
    return job_id, pathlib.Path(job["folder"])


def equals_alone(place, output):
    figures = json.loads(place.run("compare", place.folder / output, place.alone, "--json").stdout)
    assert figures["relative_rms"] < 1e-6, figures


def goes_on(place, job_id, output):
    (place.folder / "quick").touch()
    done = place.run("submit", "--again", job_id)
    assert done.returncode == 0 and place.job(job_id)["state"] == "done", done.stderr
    equals_alone(place, output)


# ── What is the same by ssh and by Slurm ──

def probes_each_host(place, kind):
    done = place.run("profiles", "test", kind, "--read", place.scan)
    assert done.returncode == 0 and done.stdout.endswith(f"{kind}: ready\n"), done
    assert all(done.stdout.count(f"node {host.name},") == 1 for host in place.hosts.all), done.stdout


def computes_what_one_process_does(place, kind):
    """In each mode, and by sums that cross hosts."""
    for words in (("--grid", "6x1"), ("--grid", "3x2"), ("--grid", "2x3"), ("--grid", "1x6"), ("--grid", "2x3", "--ordered"),
                  ("--cluster-mode", "ifdk", "--grid", "3x2"), ("--cluster-mode", "ifdk", "--grid", "2x3")):
        output = "-".join(["grid", kind] + [str(word).strip("-") for word in words]) + ".tif"
        done = place.run("submit", place.scan, "--output", place.folder / output, "--profile", kind, "--device", "host", *words)
        assert done.returncode == 0, (words, done.stderr)
        assert all(f": {host.name}, host," in done.stderr for host in place.hosts.all), done.stderr
        figures = json.loads(place.run("compare", place.folder / output, place.alone, "--json").stdout)
        assert figures["relative_rms"] <= (0 if "--ordered" in words else 1e-6), (words, figures)


def hands_out_rows(place, kind):
    scan, alone, shared = (place.folder / name for name in ("parallel.nxs", "parallel-alone.tif", f"parallel-{kind}.tif"))
    if not alone.exists():
        place.run("phantom", "shepp-logan", "--output", scan, "--columns", 48, "--rows", 32, "--views", 60)
        place.run("reconstruct", scan, "--output", alone, "--device", "host")
    done = place.run("submit", scan, "--output", shared, "--profile", kind, "--device", "host", "--cluster-mode", "slices")
    assert done.returncode == 0, done.stderr
    figures = json.loads(place.run("compare", shared, alone, "--json").stdout)
    assert figures["relative_rms"] <= 1e-6, figures


def cancels_on_all_hosts(place, kind):
    job_id, folder = running(place, kind, f"cancelled-{kind}.tif")
    start = time.monotonic()
    done = place.run("cancel", job_id)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - start < FAULTS and place.job(job_id)["state"] == "cancelled"
    ranks = [words for _, words in left(folder) if str(folder) in words]
    assert not ranks, ranks
    await_none(folder, FAULTS - (time.monotonic() - start))  # Slurm's own processes end last


def failed(place, kind, job_id, folder, *words, but=None):
    ends(place, job_id, folder, "failed", *words, but=but)


def ends(place, job_id, folder, state, *words, but=None):
    """It is told how the job ended, in time and in these words. Nothing is left of it but on that host."""
    start = time.monotonic()
    follower = place.start("follow", job_id)
    try:
        _, said = follower.communicate(timeout=2 * FAULTS)
    except subprocess.TimeoutExpired:
        follower.kill()
        raise AssertionError((follower.communicate(), place.job(job_id), left(folder))) from None
    took = time.monotonic() - start
    print(f"# told after {took:.1f} s: {said.strip().splitlines()[-1]}", flush=True)
    job = place.job(job_id)
    assert job["state"] == state and all(re.search(word, job["why"]) for word in words), job
    assert took < FAULTS, took
    await_none(folder, but=but)


def tells_that_a_rank_was_killed(place, kind):
    job_id, folder = running(place, kind, f"killed-{kind}.tif")
    host = place.hosts.all[-1]
    host.do("pkill", "-KILL", "tomodesk-worker")
    failed(place, kind, job_id, folder, KILLED)
    goes_on(place, job_id, f"killed-{kind}.tif")


def tells_that_a_network_was_cut(place, kind):
    job_id, folder = running(place, kind, f"cut-{kind}.tif")
    host = place.hosts.all[1]
    host.cut()
    try:
        failed(place, kind, job_id, folder, "ank [23] on node2", but=host)
    finally:
        host.mend()
    await_none(folder)
    await_nodes(place)
    goes_on(place, job_id, f"cut-{kind}.tif")


def await_nodes(place):
    if hasattr(place, "slurm"):
        place.slurm.await_nodes([host.name for host in place.hosts.all])


def revive(place, host):
    host.begin()
    place.hosts.await_answer(host)
    if hasattr(place, "slurm"):
        place.slurm.join(host)
    await_nodes(place)


def tells_that_a_host_died(place, kind):
    job_id, folder = running(place, kind, f"died-{kind}.tif")
    host = place.hosts.all[1]
    host.kill()
    try:
        failed(place, kind, job_id, folder, "ank [23] on node2")
    finally:
        revive(place, host)
    goes_on(place, job_id, f"died-{kind}.tif")


def tells_that_the_first_host_died(place, kind):
    """Where the launcher runs, or the job's script: nobody there says anything any more."""
    job_id, folder = running(place, kind, f"first-{kind}.tif")
    host = place.hosts.all[0]
    follower = place.start("follow", job_id)
    for line in follower.stderr:
        if "rank 5: " in line:
            break
    host.kill()
    start = time.monotonic()
    try:
        said = ""
        while not re.search("cannot be reached|was not done|not been heard", said):
            line = follower.stderr.readline()
            assert line, said
            said += line
        took = time.monotonic() - start
        print(f"# told after {took:.1f} s: {said.splitlines()[-1]}", flush=True)
        assert took < FAULTS, took
        await_none(folder, (6 if kind == "slurm" else 2) * FAULTS)  # Slurm's own wait until it sees that the node is gone
    finally:
        revive(place, host)
    follower.send_signal(2)
    follower.communicate(timeout=FAULTS)
    if kind == "slurm":  # which queues the job again by itself, once it sees that the node is gone
        await_job(place, job_id, lambda job: job["state"] == "queued" and "queued again" in job["why"], 60)
        (place.folder / "quick").touch()
        place.slurm.ask("scontrol", "update", f"JobId={place.job(job_id)['scheduler_id']}", "StartTime=now")
        await_job(place, job_id, lambda job: job["state"] == "done", 60)
        equals_alone(place, f"first-{kind}.tif")
        return
    job = await_job(place, job_id, lambda job: job["state"] in ("failed", "lost"), 60)
    print("#", job["why"], flush=True)
    goes_on(place, job_id, f"first-{kind}.tif")


def tells_which_host_reads_no_data(place, kind):
    host, data = place.hosts.all[2], place.folder / "data-hidden"
    data.mkdir()
    scan = pathlib.Path(shutil.copy(place.scan, data))
    host.do("mount", "-t", "tmpfs", "none", data)
    try:
        done = place.run("profiles", "test", kind, "--read", scan)
        assert done.returncode == 1 and done.stdout.count(f"reads {scan}: NO, No such file") == 1, done
        assert re.search(f"node node3,[^\n]*\n[^\n]*\n *reads {scan}: NO", done.stdout), done.stdout
        job_id = submit(place, kind, f"unread-{kind}.tif", scan=scan)
        failed(place, kind, job_id, pathlib.Path(place.job(job_id)["folder"]), "rank [45] on node3", f"{scan}.*(No such|not)")
    finally:
        host.do("umount", data)
    goes_on(place, job_id, f"unread-{kind}.tif")


def tells_which_host_has_no_worker(place, kind):
    host, program = place.hosts.all[1], pathlib.Path("/tmp/tomodesk-worker")
    for each in place.hosts.all + [place.hosts]:
        each.do("ln", "-sf", place.fake, program)
    host.do("rm", program)
    place.profile("bare", **dict(place.keys[kind], worker=program))
    done = place.run("profiles", "test", "bare")
    print("# " + (done.stdout + done.stderr).replace("\n", "\n# "))
    assert done.returncode == 1 and "node2" in done.stderr, done
    job_id = submit(place, "bare", f"bare-{kind}.tif")
    failed(place, kind, job_id, pathlib.Path(place.job(job_id)["folder"]), "node2", str(program))


def bears_a_clock_that_is_off(place, kind):
    """By an hour, on the host that launches and on another: whatever is told is told as ever."""
    for host in place.hosts.all[:2]:
        for hours in (1, -1):
            host.restart(LD_PRELOAD=os.environ["TOMODESK_CLOCK_OFF"], CLOCK_OFF=3600 * hours)
            done = place.run("profiles", "test", kind)
            assert re.search(rf"node {host.name}.*\n.*\n.*\n *its clock is -?3[56]\d\d s off", done.stdout), done
            name = f"clock-{kind}-{host.name}-{hours}.tif"
            done = place.run("submit", place.scan, "--output", place.folder / name, "--profile", kind, "--device", "host")
            assert done.returncode == 0, done.stderr
            assert "have not met" not in done.stderr or "in 6 s" in done.stderr or "in 10 s" in done.stderr, done.stderr
            job_id, folder = running(place, kind, f"killed-{name}")
            assert not place.job(job_id)["why"], place.job(job_id)
            place.hosts.all[2].do("pkill", "-KILL", "tomodesk-worker")
            failed(place, kind, job_id, folder, KILLED)
        host.restart()


def one_copy_crosses_a_link(place, kind):
    """Ranks of a host add up first: of two ranks each, half of what they would send."""
    scan = place.folder / "larger.nxs"
    place.run("phantom", "shepp-logan", "--cone", "--output", scan, "--columns", 128, "--rows", 96, "--views", 36)
    before = [host.bytes() for host in place.hosts.all]
    done = place.run("submit", scan, "--output", place.folder / f"bytes-{kind}.tif", "--profile", kind, "--device", "host",
                     "--grid", f"1x{2 * N_HOSTS}")
    assert done.returncode == 0, done.stderr
    sent = [host.bytes()[0] - was[0] for host, was in zip(place.hosts.all, before)]
    volume = 128 * 128 * 96 * 4
    copies = sum(sent) / volume
    print(f"# {copies:.2f} copies of the volume crossed, from each host {[round(n / volume, 2) for n in sent]}", flush=True)
    assert N_HOSTS - 1 <= copies < 1.2 * (N_HOSTS - 1), sent



def tells_of_an_scancel_from_outside(place, kind):
    job_id, folder = running(place, kind, "outside.tif")
    subprocess.run(["scancel", place.job(job_id)["scheduler_id"]], env=place.environment, check=True)
    ends(place, job_id, folder, "cancelled", "cancelled outside this program")
    goes_on(place, job_id, "outside.tif")


def finishes_on_a_host_that_is_drained(place, kind):
    job_id, _ = running(place, kind, "drained.tif")
    place.slurm.ask("scontrol", "update", "NodeName=node2", "State=DRAIN", "Reason=test")
    try:
        done = place.run("follow", job_id)
        assert done.returncode == 0 and place.job(job_id)["state"] == "done", done.stderr
    finally:
        place.slurm.ask("scontrol", "update", "NodeName=node2", "State=RESUME")
    await_nodes(place)


def computes_only_what_is_missing(place, kind):
    """With the parts that were finished: of all ranks but those of the slow host."""
    (place.folder / "quick").unlink(missing_ok=True)
    lame = place.folder / "lame-worker"
    lame.write_text(f"""#!/bin/sh
[ -e {place.folder}/quick ] || [ "$(uname -n)" != node3 ] || export {SLOWED} SLOW_STORAGE={place.scan}
exec {place.fake} "$@"
""")
    lame.chmod(0o755)
    place.profile("lame", **dict(place.keys[kind], worker=lame))
    job_id = submit(place, "lame", f"again-{kind}.tif")
    parts = pathlib.Path(await_job(place, job_id, lambda job: job["ranks"], 60)["folder"]) / "parts.json"
    folder = parts.parent
    assert cluster.wait_for(lambda: parts.exists() and count_parts(parts) >= 20, 30, 0.1), parts.read_text()
    (place.folder / "quick").touch()
    if kind == "slurm":
        follower = place.start("follow", job_id)
        time.sleep(1)
        number = place.job(job_id)["scheduler_id"]
        assert "Can" not in place.slurm.ask("scontrol", "requeue", number)
        await_job(place, job_id, lambda job: job["state"] == "queued" and "queued again" in job["why"], FAULTS)
        assert not left(folder), left(folder)
        place.slurm.ask("scontrol", "update", f"JobId={number}", "StartTime=now")
        _, said = follower.communicate(timeout=60)
        assert follower.returncode == 0 and "ended and queued again" in said and "was not done" not in said, said
    else:
        place.hosts.all[2].do("pkill", "-KILL", "tomodesk-worker")
        ends(place, job_id, folder, "failed")
        goes_on(place, job_id, f"again-{kind}.tif")
    job = place.job(job_id)
    kept = [re.search(r"left (\d+) of 32 slices", note) for note in job["notes"]]
    print("#", job["notes"], flush=True)
    assert job["state"] == "done" and any(found and int(found[1]) >= 20 for found in kept), job
    equals_alone(place, f"again-{kind}.tif")


COMMON = [probes_each_host, computes_what_one_process_does, hands_out_rows, cancels_on_all_hosts, tells_that_a_rank_was_killed,
          tells_that_a_network_was_cut, tells_that_a_host_died, tells_that_the_first_host_died, tells_which_host_reads_no_data, tells_which_host_has_no_worker,
          one_copy_crosses_a_link, computes_only_what_is_missing]
CASES = {"ssh": COMMON + [bears_a_clock_that_is_off],
         "slurm": COMMON + [tells_of_an_scancel_from_outside, finishes_on_a_host_that_is_drained]}


def prepare(place, kind):
    place.hosts = hosts.Hosts(place, N_HOSTS)
    keys = {"kind": kind, "worker": place.fake, "nodes": N_HOSTS, "ranks_per_node": 2}
    if kind == "ssh":
        cluster.need("mpirun")
        (place.folder / "hostfile").write_text("".join(f"{host.name} slots=2\n" for host in place.hosts.all))
        keys.update(host=place.hosts.all[0].name, map=f"{place.folder}={place.folder}",
                    launcher=f"mpirun;--hostfile;{place.folder}/hostfile")
    else:
        place.slurm = hosts.Slurm(place, place.hosts.all)
        keys.update(launcher=place.slurm.launcher)
    place.keys = {kind: keys}
    place.profile(kind, **keys)
    place.alone = place.folder / "alone.tif"
    done = place.run("reconstruct", place.scan, "--output", place.alone, "--device", "host")
    assert done.returncode == 0, done.stderr


def main():
    cli, worker, kind = sys.argv[1:4]
    only = sys.argv[4:]
    cases = [case for case in CASES[kind] if not only or case.__name__ in only]
    try:
        hosts.enter()
    except cluster.Missing as reason:
        print(f"1..0 # SKIP {reason}")
        return
    os.environ.pop("TMPDIR", None)
    tempfile.tempdir = os.environ.get("TOMODESK_HOSTS_FOLDER", "/var/tmp")  # each host has a /tmp of its own
    cluster.run(cases, kind, cluster.Place(cli, worker), prepare)


main()
