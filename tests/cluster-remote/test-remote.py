#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs on this computer, over ssh and by Slurm: test-remote.py CLI WORKER KIND [--all|--slow|--real|--guide] [CASE…].

Speaks TAP. A kind of cluster whose programs are not installed is skipped with the reason. The worker is one
that computes nothing, or with --real the program's own.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import cluster

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide-cluster.md"
FAULTS = 10  # seconds in which a fault is to be told
PATIENCE = 100  # seconds in which all else happens, however busy the machine is


def faults_s(place):
    """The same on a busy machine: a list of jobs takes less than an eighth of it where nothing else runs."""
    return max(FAULTS, 8 * place.look_s)


def await_job(place, job_id, condition):
    """The job as it is listed once that is so."""
    return cluster.wait_for(lambda: next((job for job in [place.job(job_id)] if condition(job)), None), PATIENCE, 0.3)


def ended(place, job_id):
    return await_job(place, job_id, lambda job: job["state"] in ("done", "failed", "cancelled", "lost"))


def await_killed(place, job_id, words):
    """The job once it is told in these words that a rank was killed, which the launcher says last."""
    start = time.monotonic()
    job = await_job(place, job_id, lambda job: job["state"] == "failed" and re.search(words, job["why"]))
    assert job, place.job(job_id)
    return job, time.monotonic() - start


def read_until(follower, words):
    """What it says on standard error up to a line with these words."""
    said = ""
    while words not in said:
        line = follower.stderr.readline()
        assert line, said
        said += line
    return said


def await_slice(place, job_id):
    """The job as it is listed once it shows one. Its folder is cheap to look at, and no list is."""
    cluster.wait_for((place.folder / "data" / "tomodesk" / "jobs" / job_id / "preview").exists, 100, 0.05)
    return await_job(place, job_id, lambda job: job["slices"])


def processors(pid):
    """Those that it may use; None: it has ended."""
    try:
        return os.sched_getaffinity(int(pid))
    except ProcessLookupError:
        return None


# ── What each kind of cluster does ──

def submits_and_follows(place, kind):
    output = place.folder / f"{kind}-done.tif"
    done = place.run("submit", place.scan, "--output", output, "--profile", kind)
    assert done.returncode == 0, done.stderr
    assert output.read_text() == "a volume\n", "the volume is there"
    assert ", host, none, slices 1 to 1, views 0 to 7\n" in done.stderr, done.stderr
    assert "Stages: read 0.5 s (0.4 s predicted), store 0.25 s\n" in done.stdout, done.stdout
    job = json.loads(place.run("jobs", "--json").stdout)["jobs"][0]
    assert (job["state"], job["profile"], job["slices"]) == ("done", kind, [1]), job
    assert (job["title"], pathlib.Path(job["output"]).name) == (output.name, output.name), job
    assert {*job, "seconds"} == {"id", "title", "profile", "place", "folder", "state", "why", "scheduler_id", "output", "stage",
                                 "fraction", "seconds", "ranks", "rank_lines", "slices", "notes"}, job


def shows_a_slice_and_cancels(place, kind):
    job_id = place.submit(kind, f"{kind}-slow.tif")
    job = await_slice(place, job_id)
    assert job and job["state"] == "running" and job["ranks"] == 2, job
    ranks = place.processes(job["folder"])
    assert len(ranks) >= 2, "ranks run"
    if kind != "slurm":  # which gives each what it asked for
        assert all(processors(rank) in (None, os.sched_getaffinity(0)) for rank in ranks), "on any processor"
    slice_file = place.folder / f"{kind}-slice.tif"
    follower = place.start("follow", job_id, "--slice", slice_file)
    assert cluster.wait_for(slice_file.exists, 60)
    follower.send_signal(signal.SIGINT)
    _, said = follower.communicate(timeout=PATIENCE)
    assert follower.returncode == 130 and "goes on" in said, said
    written = pathlib.Path(job["folder"]) / "preview" / "000001.tif"
    assert slice_file.read_bytes() == written.read_bytes(), "zero bytes, too, arrive"
    start = time.monotonic()
    done = place.run("cancel", job_id)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - start < faults_s(place)
    assert not place.processes(job["folder"]), "no process is left"
    assert place.job(job_id)["state"] == "cancelled"
    again = place.run("follow", job_id)
    assert again.returncode == 130 and "was cancelled" in again.stderr, again


def cancels_the_deaf(place, kind):
    job_id = place.submit(kind, f"{kind}-slow-deaf.tif")
    job = await_slice(place, job_id)
    assert job, place.job(job_id)
    done = place.run("cancel", job_id)
    assert done.returncode == 0, done.stderr
    assert not place.processes(job["folder"]), "no process is left"
    assert place.job(job_id)["state"] == "cancelled", place.job(job_id)


def cancels_what_is_left(place, kind):
    """Processes of a job that has said its last word."""
    job_id = place.submit(kind, f"{kind}-left-slow-deaf.tif")
    job = await_slice(place, job_id)
    assert job, place.job(job_id)
    with open(pathlib.Path(job["folder"]) / "events.jsonl", "a", encoding="utf-8") as events:
        events.write(json.dumps({"time": time.time(), "event": "failed", "text": "no more"}) + "\n")
    before = place.processes(job["folder"])
    assert place.job(job_id)["state"] == "failed" and before
    if kind == "local":  # another run ends them, too, and has something left itself
        done = place.run("submit", "--again", job_id, "--detach")
        assert done.returncode == 0 and not set(before) & set(place.processes(job["folder"])), done
        assert await_slice(place, job_id), place.job(job_id)
        with open(pathlib.Path(job["folder"]) / "events.jsonl", "a", encoding="utf-8") as events:
            events.write(json.dumps({"time": time.time(), "event": "failed", "text": "no more"}) + "\n")
        assert place.processes(job["folder"])
    done = place.run("cancel", job_id)
    assert done.returncode == 0 and "none of its processes is left" in done.stdout, done
    assert not place.processes(job["folder"]), "no process is left"
    assert place.job(job_id)["why"] == "no more"


def tells_that_a_rank_was_killed(place, kind):
    job_id = place.submit(kind, f"{kind}-dies.tif")
    job, took = await_killed(place, job_id, "illed")
    assert took < 8 + faults_s(place) and ".." not in job["why"], (took, job)
    assert not place.processes(job["folder"]), "no process is left"
    log = place.run("follow", job_id, "--log")
    assert "events.jsonl" in log.stdout


def tells_the_worker_s_words(place, kind):
    done = place.run("submit", place.scan, "--output", place.folder / f"{kind}-fails.tif", "--profile", kind)
    assert done.returncode == 1, done
    assert "rank 1 on node7, read: there is no space left" in done.stderr, done.stderr


def goes_on_with_a_failed_job(place, kind):
    job_id = place.submit(kind, f"{kind}-fails-again.tif")
    job = ended(place, job_id)
    assert job["state"] == "failed", job
    path = pathlib.Path(job["folder"]) / "job.json"
    path.write_text(path.read_text().replace("-fails-again", "-succeeds"))
    (pathlib.Path(job["folder"]) / "fake-end").unlink()
    done = place.run("submit", "--again", job_id)
    assert done.returncode == 0, done.stderr
    assert place.job(job_id)["state"] == "done"
    again = place.run("submit", "--again", job_id)
    assert again.returncode == 1 and "is done" in again.stderr, again


def refuses_a_worker_of_another_version(place, kind):
    keys = dict(place.keys[kind], setup="export FAKE_VERSION=0.0.9")
    place.profile("other", **keys)
    done = place.run("submit", place.scan, "--output", place.folder / "o.tif", "--profile", "other")
    assert done.returncode == 1 and "is of version 0.0.9, and this program is of version" in done.stderr, done


def tells_that_the_worker_is_missing(place, kind):
    place.profile("without", **dict(place.keys[kind], worker="/nowhere/tomodesk-worker"))
    done = place.run("submit", place.scan, "--output", place.folder / "w.tif", "--profile", "without")
    assert done.returncode == 1, done
    assert "/nowhere/tomodesk-worker" in done.stderr and "worker" in done.stderr, done.stderr
    if kind != "slurm":  # whose host need not have the worker
        place.profile("unloaded", **dict(place.keys[kind], setup="modul load tomodesk", worker="tomodesk-warker"))
        done = place.run("submit", place.scan, "--output", place.folder / "w.tif", "--profile", "unloaded")
        assert done.returncode == 1 and "modul: not found" in done.stderr, done


def probes_its_nodes(place, kind):
    done = place.run("profiles", "test", kind, "--read", place.scan)
    assert done.returncode == 0, done
    assert f"reads {place.scan}: yes" in done.stdout and done.stdout.endswith(f"{kind}: ready\n"), done
    if kind != "slurm":
        place.profile("unlaunched", **dict(place.keys[kind], launcher="mpi-run"))
        done = place.run("profiles", "test", "unlaunched")
        assert done.returncode == 1 and "launcher that is not there: mpi-run" in done.stderr, done
    done = place.run("profiles", "test", kind, "--read", place.folder / "nowhere")
    assert done.returncode == 1 and "NO" in done.stdout, done
    if kind == "local":
        place.profile("card", **dict(place.keys[kind], device="cuda:63"))
        done = place.run("profiles", "test", "card")
        assert done.returncode == 1 and "device cuda:63" in done.stdout and "NOT SOUND" in done.stdout, done


def measures_its_machine(place, kind):
    """The constants are kept, plans take them, and jobs of the profile find them beside their file."""
    plan = ("plan", place.scan, "--cluster", kind)
    assert "was never measured" in place.run(*plan).stderr
    place.profile("failing", **dict(place.keys[kind], setup="export FAKE_FAILURE=1"))
    done = place.run("profiles", "benchmark", "failing")
    assert done.returncode == 1 and not list(place.folder.rglob(".benchmark")), done
    done = place.run("profiles", "benchmark", kind)
    assert done.returncode == 0 and "network is a guess" in done.stderr, done
    assert re.search(r"^load +0\.25 s \+ 5e-10 s a byte$", done.stdout, re.M), done.stdout
    planned = place.run(*plan)
    assert "never measured" not in planned.stderr and "load     0.25 s + 5e-10 s a byte" in planned.stdout, planned
    planned = place.run(*plan, "--method", "sirt")
    assert planned.returncode == 0 and "sirt iterates" in planned.stderr and " bound by " not in planned.stdout, planned
    job = place.job(place.submit(kind, f"{kind}-measured.tif", "--grid", "1x2"))
    wish = json.loads((pathlib.Path(job["folder"]) / "job.json").read_text())["cluster"]
    assert (wish["rows"], wish["columns"]) == (1, 2), wish
    machine = (pathlib.Path(job["folder"]) / "machine.txt").read_text()
    assert "load:0.25+2e9" in machine
    kept = next(place.folder.glob("data/tomodesk/machines/*.txt"))
    kept.write_text(machine + " shared:1")
    planned = place.run(*plan)
    kept.write_text(machine)
    assert "only back-project is predicted" in planned.stderr, planned
    assert " back-project " in planned.stdout and " filter 0" not in planned.stdout, planned


def tells_that_no_rank_comes(place, kind):
    """A launcher that hangs: nobody else would ever know. Then some ranks begin, and others do not."""
    launcher = place.folder / "launcher"
    launcher.write_text("#!/bin/sh\necho no slots are free >&2\nsleep 8\nmkdir log/ranks\n"
                        "for rank in 0-4-a 2-4-b-c; do : > log/ranks/$rank; done\nsleep 600\n")
    launcher.chmod(0o755)
    place.profile("idle", **dict(place.keys[kind], launcher=launcher))
    job_id = place.submit("idle", f"{kind}-idle.tif")
    follower = place.start("follow", job_id)
    yield
    job = await_job(place, job_id, lambda job: re.match("the ranks have not met in [1-9][0-9]*0 s: ", job["why"] or ""))
    assert job and job["state"] == "running", place.job(job_id)
    assert place.run("cancel", job_id).returncode == 0
    _, said = follower.communicate(timeout=PATIENCE)
    assert re.search("running: the ranks have not met in (6|10) s: no slots are free, and (no rank has begun|of 4 ranks .*)[.] If ",
                     said) and "was cancelled" in said, said
    assert "have not met in 10 s: no slots are free, and of 4 ranks 2 have begun, on a, b-c, and not 1, 3. If " in said, said
    assert not place.processes(job["folder"]), "no process is left"


# ── This computer ──

def finds_jobs_started_by_hand(place, kind):
    job_id = place.submit(kind, "hand.tif")
    job = ended(place, job_id)
    by_hand = pathlib.Path(job["folder"]).parent / "my_job ä"
    text = (pathlib.Path(job["folder"]) / "job.json").read_text()
    for folder in (by_hand, by_hand.parent / "my_job ä 2"):
        folder.mkdir()
        (folder / "job.json").write_text(text.replace("hand.tif", "hand2-slow.tif"))
    child = place.spawn("hand", place.fake, "run", by_hand)
    assert await_job(place, by_hand.name, lambda job: job["state"] == "running"), place.job(by_hand.name)
    clocks, path = place.folder / "clocks", place.environment["PATH"]
    clocks.mkdir()
    (clocks / "date").write_text("#!/bin/sh\nexec /bin/date -d '1 hour' \"$@\"\n")
    (clocks / "date").chmod(0o755)
    place.environment["PATH"] = f"{clocks}:{path}"
    assert place.job(by_hand.name)["state"] == "running", "whatever the clock of the host says"
    place.environment["PATH"] = path
    done = place.run("cancel", by_hand.name)
    assert done.returncode == 0, done
    assert child.wait(PATIENCE) == 75
    assert place.job(by_hand.name)["state"] == "cancelled"
    deaf = by_hand.parent / "my_job ä 2"
    (deaf / "job.json").write_text(text.replace("hand.tif", "hand3-slow-deaf.tif"))
    child = place.spawn("deaf", place.fake, "run", deaf)
    assert await_job(place, deaf.name, lambda job: job["state"] == "running"), place.job(deaf.name)
    done = place.run("cancel", deaf.name)
    assert done.returncode == 1 and "has not said that it did" in done.stderr, done
    place.stop(child)


def knows_jobs_of_other_computers(place, kind):
    """Whose folders it sees, too: they are running, and are not started here once more."""
    job_id = place.submit(kind, "elsewhere-slow.tif")
    job = await_slice(place, job_id)
    launch = pathlib.Path(job["folder"]) / "launch.json"
    record = json.loads(launch.read_text())
    launch.write_text(json.dumps(dict(record, host="elsewhere", boot="another")))
    assert place.job(job_id)["state"] == "running", place.job(job_id)
    again = place.run("submit", "--again", job_id)
    assert again.returncode == 1 and "is running" in again.stderr, again
    done = place.run("cancel", job_id)
    assert done.returncode == 0 and place.job(job_id)["state"] == "cancelled", done


def keeps_jobs_that_cannot_be_looked_at(place, kind):
    """Where a command of the host fails they run on: they are listed, with what it said, and are not lost."""
    job_id = place.submit(kind, "unseen-slow.tif")
    commands = place.folder / "broken"
    commands.mkdir()
    path = place.environment["PATH"]
    follower = place.start("follow", job_id)
    place.environment["PATH"] = f"{commands}:{path}"
    (commands / "ps").write_text("#!/bin/sh\necho ps: no processes can be read >&2\nexit 1\n")
    (commands / "ps").chmod(0o755)
    done = place.run("jobs", "--json")
    listed = json.loads(done.stdout)
    job = next(job for job in listed["jobs"] if job["id"] == job_id)
    assert job["state"] != "lost" and "ps: no processes can be read" in job["why"] and job["why"] in listed["problems"] and job["why"] in done.stderr, done
    done = place.run("cancel", job_id)
    assert done.returncode == 1 and "ps: no processes can be read" in done.stderr, done
    place.environment["PATH"] = path
    assert follower.poll() is None
    assert place.run("cancel", job_id).returncode == 0
    follower.communicate(timeout=PATIENCE)
    assert place.job(job_id)["state"] == "cancelled"


def sorts_jobs_by_their_age(place, kind):
    """Wherever they were submitted."""
    submitted = []
    for zone in ("AAA-12", "BBB+12", "AAA-12"):
        place.environment["TZ"] = zone
        submitted.insert(0, place.submit(kind, f"{zone}-{len(submitted)}.tif"))
    del place.environment["TZ"]
    listed = [job["id"] for job in json.loads(place.run("jobs", "--json").stdout)["jobs"]]
    assert [job for job in listed if job in submitted] == submitted, (listed, submitted)
    for job in submitted:
        assert ended(place, job)


def quotes_whatever_it_is_given(place, kind):
    """Names that a shell would take apart."""
    name = "a b'c\"d $(touch pwned) `x` ;&|*"
    output = place.folder / name
    place.profile("odd", **dict(place.keys[kind], jobs_folder=f"{place.folder}/jobs $HOME 'x'"))
    done = place.run("submit", place.scan, "--output", output, "--profile", "odd")
    assert done.returncode == 0, done.stderr
    assert output.read_text() == "a volume\n"
    assert not list(place.folder.rglob("pwned"))


def fills_in_a_template(place, kind):
    (place.profiles / "t.sh").write_text(
        "#!/usr/bin/env bash\n#SBATCH --nodes=@NODES@\n#SBATCH --partition=@PARTITION@\n"
        "words=(ranks @RANKS@ cards @CARDS_PER_RANK@.)\necho ${words[@]}\nexec @COMMAND@\n")
    place.profile("templated", **dict(place.keys[kind], template_cpu="t.sh"))
    job_id = place.submit("templated", "templated.tif")
    job = ended(place, job_id)
    assert job["state"] == "done", job
    script = (pathlib.Path(job["folder"]) / "run.sh").read_text()
    assert "#SBATCH --nodes=1\n" in script and "partition" not in script, script
    assert "ranks 2 cards .\n" in place.run("follow", job_id, "--log").stdout
    (place.profiles / "t.sh").write_text("echo @NO_SUCH@\n")
    done = place.run("submit", place.scan, "--output", place.folder / "x.tif", "--profile", "templated")
    assert done.returncode == 1 and "@NO_SUCH@, which is no variable" in done.stderr, done


BAD = [
    ("kind = tape\n", "line 2: \"kind\" is local, ssh or slurm"),
    ("description = x\n", "has no line \"kind ="),
    ("kind = local\nranks-per-node = many\n", "line 3: \"ranks-per-node\" is a whole number from 1"),
    ("kind = local\nranks-per-node = 0\n", "line 3"),
    ("kind = local\npartition = x\n", "line 3: \"partition\" is not used with kind = local"),
    ("kind = ssh\n", "needs a \"host\""),
    ("kind = ssh\nhost = -oProxyCommand=x\n", "line 3: \"host\" is no host"),
    ("kind = ssh\nhost = a\npassword = b\n", "line 4: \"password\" is not kept here"),
    ("kind = ssh\nhost = a\nmap = data\n", "line 4: \"map\" is a list of LOCAL=REMOTE"),
    ("kind = local\ncolour = red\n", "line 3: \"colour\" is no key of a profile"),
    ("kind = local\nmode = fast\n", "line 3: \"mode\" is slab, ifdk or slices"),
    ("kind = local\nmemory = much\n", "line 3: \"memory\" is no size"),
    ("kind = local\nworker =\n", "line 3: \"worker\" is empty"),
    ("kind = local\ntemplate-cpu = nowhere.sh\n", "line 3: \"template-cpu\" names"),
    ("kind = slurm\nstaging = rsync\n", "line 3: \"staging\" is for profiles with a \"host\""),
    ("kind = local\nworker = a\\nb\n", "line 3: \"worker\" is one line"),
    ("nonsense\n", "is not written as [Profile] and lines"),
]


def refuses_bad_profiles(place, kind):
    for lines, words in BAD:
        (place.profiles / "bad.ini").write_text("[Profile]\n" + lines)
        done = place.run("submit", place.scan, "--output", place.folder / "x.tif", "--profile", "bad")
        assert done.returncode == 1 and done.stderr.count("\n") == 1, (lines, done)
        assert "bad.ini" in done.stderr and words in done.stderr, (lines, done.stderr)
        assert "bad.ini" in place.run("profiles").stderr
    (place.profiles / "bad.ini").unlink()
    os.mkfifo(place.profiles / "bad.ini")
    done = place.run("submit", place.scan, "--output", place.folder / "x.tif", "--profile", "bad")
    (place.profiles / "bad.ini").unlink()
    assert done.returncode == 1 and "is not a file" in done.stderr, done
    done = place.run("submit", place.scan, "--output", place.folder / "x.tif", "--profile", "nowhere")
    assert done.returncode == 2 and "there is no profile \"nowhere\"" in done.stderr, done


def refuses_what_ranks_would(place, kind):
    """Before a folder is made and a scheduler asked."""
    for words, said in ((("--method", "sirt"), "These slices cannot be shared out: every ray passes the whole volume"),
                        (("--cluster-mode", "slices"), "this scan is a cone beam's")):
        done = place.run("submit", place.scan, "--output", place.folder / "no.tif", "--profile", kind, *words)
        assert done.returncode == 2 and said in done.stderr, done
    assert "no.tif" not in place.run("jobs").stdout, "no folder is left"
    done = place.run("submit", place.scan, "--output", place.folder / "no.tif", "--profile", kind,
                     "--device-memory-limit", "2G")
    assert done.returncode == 2 and "--memory-limit is that of a rank and of its device" in done.stderr, done


def the_user_s_profile_wins(place, kind):
    site = place.folder / "site"
    (site / "tomodesk" / "profiles").mkdir(parents=True)
    for name in ("shared", "mine"):
        (site / "tomodesk" / "profiles" / f"{name}.ini").write_text(
            "[Profile]\nkind = local\ndescription = the site's\n")
    place.environment["XDG_DATA_DIRS"] = str(site)
    place.profile("mine", kind="local", description="the user's")
    listed = place.run("profiles").stdout
    del place.environment["XDG_DATA_DIRS"]
    assert re.search(r"^mine .*the user's$", listed, re.M), listed
    assert re.search(r"^shared .*the site's$", listed, re.M), listed


# ── ssh ──

def goes_on_after_a_cut(place, kind):
    job_id = place.submit(kind, "cut-slow.tif")
    follower = place.start("follow", job_id)
    assert await_slice(place, job_id)
    folder = place.job(job_id)["folder"]
    place.sshd.cut()
    done = place.run("jobs")
    assert "cannot be reached" in done.stderr, done
    time.sleep(FAULTS - 4)
    assert follower.poll() is None, "the follower waits"
    assert place.processes(folder), "the job goes on"
    place.sshd.start()
    assert await_job(place, job_id, lambda job: job["state"] == "running")
    assert place.run("cancel", job_id).returncode == 0
    _, said = follower.communicate(timeout=PATIENCE)
    assert follower.returncode == 130 and "cannot be reached" in said and "was cancelled" in said, said


def stages_and_fetches(place, kind):
    cluster.need("rsync")
    place.profile("staged", **dict(place.keys[kind], staging="rsync", map=""))
    output, linked = place.folder / "fetched.tif", place.folder / "linked.nxs"
    linked.symlink_to(place.scan)
    done = place.run("submit", linked, "--output", output, "--profile", "staged")
    assert done.returncode == 0, done.stderr
    assert output.read_text() == "a volume\n"
    job = json.loads(place.run("jobs", "--json").stdout)["jobs"][0]
    scan = pathlib.Path(json.loads((pathlib.Path(job["folder"]) / "job.json").read_text())["scan"]["path"])
    assert str(scan).startswith(job["folder"]) and scan.read_bytes() == place.scan.read_bytes()
    assert not scan.is_symlink(), "what it names is not there"
    output.unlink()
    done = place.run("follow", job["id"])
    assert done.returncode == 0 and output.read_text() == "a volume\n", done
    mine = place.folder / "mine.tif"
    mine.write_text("mine\n")
    done = place.run("submit", place.scan, "--output", mine, "--profile", "staged", "--overwrite")
    assert done.returncode == 1 and "was not written by this program" in done.stderr, done
    mine.write_text("")  # which this program may have written
    done = place.run("submit", place.scan, "--output", mine, "--profile", "staged")
    assert done.returncode == 1 and "exists already" in done.stderr, done
    done = place.run("submit", place.scan, "--output", mine, "--profile", "staged", "--overwrite")
    assert done.returncode == 0 and mine.read_text() == "a volume\n", done


def goes_on_with_a_cut_fetch(place, kind):
    """What was copied of a file is not copied again."""
    cluster.need("rsync")
    place.profile("staged", **dict(place.keys[kind], staging="rsync", map=""))
    output = place.folder / "cut.tif"
    job_id = place.submit("staged", output.name)
    job = ended(place, job_id)
    volume = os.urandom(4 << 20)
    (pathlib.Path(job["folder"]) / "output" / "cut.tif").write_bytes(volume)
    wrapper = place.folder / "slow"
    wrapper.mkdir()
    (wrapper / "rsync").write_text(f"#!/bin/sh\nexec timeout -s INT 3 {shutil.which('rsync')} --bwlimit=500 \"$@\"\n")
    (wrapper / "rsync").chmod(0o755)
    path = place.environment["PATH"]
    place.environment["PATH"] = f"{wrapper}:{path}"
    done = place.run("follow", job_id)
    place.environment["PATH"] = path
    assert done.returncode == 1 and "What was copied is kept" in done.stderr, done
    part = place.folder / f"cut.tif.{job_id}.part"
    assert 0 < part.stat().st_size < len(volume) and not output.exists()
    assert volume.startswith(part.read_bytes()), "the beginning of it"
    done = place.run("follow", job_id)
    assert done.returncode == 0 and output.read_bytes() == volume and not part.exists(), done


def reaches_a_host_that_is_for_terminals(place, kind):
    """Its configuration has a command of its own, and a port that is taken."""
    place.profile("terminal", **dict(place.keys[kind], host="terminal"))
    done = place.run("profiles", "test", "terminal")
    assert done.returncode == 0 and done.stdout.endswith("terminal: ready\n"), done


def refuses_what_the_host_does_not_see(place, kind):
    place.profile("unmapped", **dict(place.keys[kind], map="/nowhere=/nowhere"))
    done = place.run("submit", place.scan, "--output", place.folder / "u.tif", "--profile", "unmapped")
    assert done.returncode == 1 and "\"map\" of the profile \"unmapped\"" in done.stderr, done


def tells_that_nobody_answers(place, kind):
    config = place.folder / "closed"
    config.write_text(f"Host closed\n  HostName 127.0.0.1\n  Port {cluster.free_port()}\n")
    place.profile("closed", **dict(place.keys[kind], host="closed", ssh_config=config))
    start = time.monotonic()
    done = place.run("submit", place.scan, "--output", place.folder / "c.tif", "--profile", "closed")
    (place.profiles / "closed.ini").unlink()
    assert time.monotonic() - start < faults_s(place)
    assert done.returncode == 1 and "closed cannot be reached" in done.stderr and "refused" in done.stderr, done


def probes_with_any_mpi(place, kind):
    """Each MPI has its own word for one process a node, and refuses the others'."""
    launcher = place.folder / "mpi exec"
    for says, word in (("HYDRA build details:\\n    Version: 4.0.2", "-ppn 1"),
                       ("mpirun (Open MPI) 4.1.4", "-npernode 1"), ("slurm 22.05.8", "--ntasks-per-node=1")):
        launcher.write_text(
            f"#!/bin/sh\n[ \"$1\" != --version ] || {{ printf '{says}\\n'; exit; }}\n"
            f"case \"$*\" in \"-n 2 {word} \"*) ;; *) echo no such option >&2; exit 1;; esac\n"
            f"while [ \"$1\" != {place.fake} ]; do shift; done\n\"$@\" && \"$@\"\n")
        launcher.chmod(0o755)
        place.profile("two", **dict(place.keys[kind], nodes=2, launcher=launcher))
        done = place.run("profiles", "test", "two")
        assert done.returncode == 0 and done.stdout.endswith("two: ready\n"), (word, done)


# ── Slurm ──

def shows_the_scheduler_s_words(place, kind):
    place.profile("nowhere", **dict(place.keys[kind], partition="nowhere"))
    done = place.run("submit", place.scan, "--output", place.folder / "r.tif", "--profile", "nowhere")
    (place.profiles / "nowhere.ini").unlink()
    assert done.returncode == 1 and "refuses the job" in done.stderr, done
    assert "invalid partition specified: nowhere" in done.stderr, done


def finds_its_output_in_odd_folders(place, kind):
    """Slurm reads a % in the names of a job's output as its own."""
    place.profile("odd", **dict(place.keys[kind], jobs_folder=f"{place.folder}/jobs 50%j x"))
    job = ended(place, place.submit("odd", "odd.tif"))
    assert job and job["state"] == "done" and "50%j x" in job["folder"], job
    assert (pathlib.Path(job["folder"]) / "log" / "stdout").exists(), job


def tells_of_an_scancel_from_outside(place, kind):
    job_id = place.submit(kind, "outside-slow-deaf.tif")
    assert await_slice(place, job_id)
    follower = place.start("follow", job_id)
    time.sleep(1)
    subprocess.run(["scancel", place.job(job_id)["scheduler_id"]], env=place.environment, check=True)
    start = time.monotonic()
    _, said = follower.communicate(timeout=PATIENCE)
    assert time.monotonic() - start < faults_s(place) + 2, "with KillWait=2"
    assert "cancelled outside this program" in said, said
    folder = place.job(job_id)["folder"]
    assert cluster.wait_for(lambda: not place.processes(folder), PATIENCE), "no process is left"


def goes_on_when_slurm_queues_a_job_again(place, kind):
    """The number stays, the run is another one, and what the run before said last is not the end."""
    job_id = place.submit(kind, "requeued-slow.tif")
    assert await_slice(place, job_id), place.job(job_id)
    number = place.job(job_id)["scheduler_id"]
    follower = place.start("follow", job_id)
    time.sleep(1)
    assert "Can" not in place.slurm.ask("scontrol", "requeue", number)
    job = await_job(place, job_id, lambda job: job["state"] == "queued")
    assert job and job["scheduler_id"] == number and re.match("Slurm says .*: the job was ended and queued again", job["why"]), \
        place.job(job_id)
    said = read_until(follower, "ended and queued again")
    assert follower.poll() is None, said
    # Slurm itself waits for minutes: a node launches no job in the second in which it has ended it ("credential revoked").
    time.sleep(2)
    place.slurm.ask("scontrol", "update", f"JobId={number}", "StartTime=now")
    said += follower.stderr.read()
    assert follower.wait(PATIENCE) == 0 and "was not done" not in said, said
    job = place.job(job_id)
    assert job["state"] == "done" and any("began it anew" in note for note in job["notes"]), job


def cancels_what_slurm_queued_again(place, kind):
    job_id = place.submit(kind, "requeued-slow-2.tif")
    assert await_slice(place, job_id), place.job(job_id)
    place.slurm.ask("scontrol", "requeue", place.job(job_id)["scheduler_id"])
    assert await_job(place, job_id, lambda job: job["state"] == "queued"), place.job(job_id)
    assert place.run("cancel", job_id).returncode == 0
    assert place.job(job_id)["state"] == "cancelled", place.job(job_id)


FAR = {
    "sbatch": """for script; do :; done
cd "${script%/*}"
export SLURM_JOB_ID=7
setsid sh "$script" >log/stdout 2>log/stderr &
echo $! > ../../7
echo "$ANSWER"
""",
    "squeue": """[ "$1" = --clusters=far ] || { echo '7|FAILED|None'; exit; }
if kill -0 -$(cat 7); then echo '7|RUNNING|None'; else echo '7|COMPLETED|None'; fi
""",
    "scontrol": """[ "$1" = --clusters=far ] || { echo 'JobId=7 JobName=x JobState=FAILED Reason=None x'; exit; }
if kill -0 -$(cat 7); then echo 'JobId=7 JobName=x JobState=RUNNING Reason=None Restarts=0 x'
else echo 'JobId=7 JobName=x JobState=COMPLETED Reason=None Restarts=0 x'; fi
""",
    "scancel": """[ "$1" = --clusters=far ] || exit
kill -KILL -$(cat 7)
""",
}


def asks_the_cluster_that_took_the_job(place, kind):
    """Where Slurm has several; the host's own has another job of that number."""
    commands = place.folder / "far"
    commands.mkdir()
    for name, text in FAR.items():
        (commands / name).write_text("#!/bin/sh\nexec 2>/dev/null\n" + (
            "" if name == "sbatch" else f"cd {place.folder}/data/tomodesk\n") + text)
        (commands / name).chmod(0o755)
    place.profile("far", kind="slurm", worker=place.fake, launcher="env", scheduler_options="--clusters=far")
    path = place.environment["PATH"]
    place.environment["PATH"] = f"{commands}:{path}"
    try:
        for answer in ("7;far", "Submitted batch job 7 on cluster far"):
            place.environment["ANSWER"] = answer
            job_id = place.submit("far", f"far {len(answer)}-slow.tif")
            folder = place.folder / "data" / "tomodesk" / "jobs" / job_id
            record = json.loads((folder / "launch.json").read_text())
            assert (record["id"], record["cluster"]) == ("7", "far"), record
            assert cluster.wait_for((folder / "preview").exists, 60)
            if answer == "7;far":
                place.run("cancel", job_id)
                shutil.rmtree(folder)
        job = place.job(job_id)
        assert job["state"] == "running" and job["scheduler_id"] == "7", job
        (commands / "squeue").rename(commands / "kept")
        (commands / "squeue").write_text("#!/bin/sh\necho squeue: nobody answers >&2\nexit 1\n")
        (commands / "squeue").chmod(0o755)
        job = place.job(job_id)
        assert job["state"] == "running" and job["why"].endswith("says: squeue: nobody answers"), job
        (commands / "kept").rename(commands / "squeue")
        done = place.run("cancel", job_id)
        assert done.returncode == 0 and place.job(job_id)["state"] == "cancelled", (done, place.job(job_id))
        assert not place.processes(job["folder"]), "no process is left"
        place.environment["ANSWER"] = "welcome to far"
        done = place.run("submit", place.scan, "--output", place.folder / "no.tif", "--profile", "far")
        assert done.returncode == 1 and "sbatch names no job, but says: welcome to far" in done.stderr, done
    finally:
        place.environment["PATH"] = path
        (place.profiles / "far.ini").unlink()


def asks_the_queue_rarely(place, kind):
    """One squeue in 15 s, while a job waits for its turn."""
    blocker = place.submit(kind, "blocker-slow.tif")
    assert await_slice(place, blocker), place.job(blocker)
    place.profile("all", **dict(place.keys[kind], scheduler_options="--exclusive"))
    waiting = place.submit("all", "waiting.tif")
    calls = place.folder / "calls"
    wrapper = place.folder / "bin"
    wrapper.mkdir()
    program = next(f"{folder}/squeue" for folder in os.environ["PATH"].split(":")
                   if os.path.exists(f"{folder}/squeue"))
    (wrapper / "squeue").write_text(f"#!/bin/sh\necho x >> {calls}\nexec {program} \"$@\"\n")
    (wrapper / "squeue").chmod(0o755)
    path = place.environment["PATH"]
    place.environment["PATH"] = f"{wrapper}:{path}"
    start = time.monotonic()
    follower = place.start("follow", waiting)
    place.environment["PATH"] = path
    assert cluster.wait_for(calls.exists, 30), "it asks"
    time.sleep(6)
    n = len(calls.read_text().splitlines())
    most = 1 + int((time.monotonic() - start) / 15)
    job = await_job(place, waiting, lambda job: job["why"])
    assert job and job["state"] == "queued", place.job(waiting)
    assert place.run("cancel", waiting).returncode == 0
    _, said = follower.communicate(timeout=PATIENCE)
    assert follower.returncode == 130 and "was cancelled" in said, said
    assert place.run("cancel", blocker).returncode == 0
    assert n <= most, f"{n} calls of squeue instead of {most}"


def tells_that_the_wall_time_was_reached(place, kind):
    place.profile("short", **dict(place.keys[kind], time="0:05"))
    job_id = place.submit("short", "short-slow-deaf.tif")
    job = cluster.wait_for(lambda: ended(place, job_id), 2 * PATIENCE)
    assert job["state"] == "failed" and "wall time" in job["why"], job


# ── The real worker ──

def computes_what_one_process_does(place, kind):
    """The volume, and the slice that is computed first."""
    alone, shared, early = (place.folder / name for name in ("one.tif", "real", "early.tif"))
    caches = place.folder / "caches"
    place.environment["XDG_CACHE_HOME"] = str(caches)
    done = place.run("reconstruct", place.scan, "--output", alone, "--device", "host")
    assert done.returncode == 0, done.stderr
    rates = caches / "tomodesk" / "rates.ini"  # as if storing took longer than computing
    rates.write_text(re.sub("^write bigtiff (.*)=.*$", r"write tiff \1=1000", rates.read_text(), flags=re.M))
    job_id = place.submit(kind, shared.name, "--device", "host", "--ordered", "--view-slice", 20, "--format", "tiff")
    done = place.run("follow", job_id, "--slice", early)
    assert done.returncode == 0, done.stderr
    for ours, theirs in ((shared, alone), (early, shared / "slice_00020.tif")):
        figures = json.loads(place.run("compare", ours, theirs, "--json").stdout)
        assert figures["relative_rms"] == 0, (ours, figures)
    job = place.job(job_id)
    assert job["slices"] == [20] and [re.search("slices ([0-9]+) to", line)[1] for line in job["rank_lines"]] == ["0", "16"], \
        "ranks of one device do the same"


def hold_a_rank(place, kind, output):
    """A job that cannot end, since one of its ranks stops once the job has started: its id, its folder, the rank.

    It does not stop if there is a file "quick".
    """
    (place.folder / "quick").unlink(missing_ok=True)
    place.profile("held", **dict(
        place.keys[kind], setup=f"[ -e {place.folder}/quick ] || export LD_PRELOAD={os.environ['TOMODESK_STOP_AT']} "
        "STOP_AT=MPI_Ibcast:3 STOP_RANK=1"))
    job_id = place.submit("held", output, "--device", "host")
    folder = place.folder / "data" / "tomodesk" / "jobs" / job_id
    events = folder / "events.jsonl"

    ranks = cluster.wait_for(lambda: place.processes(folder, "tomodesk-worker", "T"), PATIENCE, 0.05)
    assert ranks and cluster.wait_for(lambda: '"start"' in events.read_text(), PATIENCE, 0.05), (ranks, events.read_text())
    return job_id, folder, int(ranks[0])


def cancels_a_rank_that_hangs(place, kind):
    job_id, folder, _ = hold_a_rank(place, kind, f"{kind}-held.tif")
    start = time.monotonic()
    done = place.run("cancel", job_id)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - start < faults_s(place) + 2, "the looking included"
    assert place.job(job_id)["state"] == "cancelled", place.job(job_id)
    assert not place.processes(folder), "no process is left"
    assert not (place.folder / f"{kind}-held.tif").exists(), "nothing half done has the name"


def tells_that_a_real_rank_was_killed(place, kind):
    job_id, folder, rank = hold_a_rank(place, kind, f"{kind}-killed.tif")
    os.kill(rank, signal.SIGKILL)
    _, took = await_killed(place, job_id, "rank 1 .* exited on signal 9 .Killed")
    assert took < faults_s(place), took
    assert cluster.wait_for(lambda: not place.processes(folder), PATIENCE), "no process is left"
    (place.folder / "quick").touch()
    done = place.run("submit", "--again", job_id)
    assert done.returncode == 0, done.stderr
    assert (place.folder / f"{kind}-killed.tif").exists()


def tells_that_a_rank_was_killed_as_mpi_began(place, kind):
    place.profile("early", **dict(
        place.keys[kind], setup=f"export LD_PRELOAD={os.environ['TOMODESK_STOP_AT']} STOP_AT=MPI_Init_thread:1 "
        "STOP_RANK=1 STOP_BY=9"))
    start = time.monotonic()
    job_id = place.submit("early", f"{kind}-early.tif", "--device", "host")
    job, _ = await_killed(place, job_id, "illed")
    assert time.monotonic() - start < 2 * faults_s(place), "the start of the job included"
    assert cluster.wait_for(lambda: not place.processes(job["folder"]), PATIENCE), "no process is left"


def tells_that_a_rank_hangs_as_mpi_begins(place, kind):
    place.profile("hung", **dict(
        place.keys[kind], setup=f"export LD_PRELOAD={os.environ['TOMODESK_STOP_AT']} STOP_AT=MPI_Init_thread:1 "
        "STOP_RANK=1 TOMODESK_START_S=14"))
    job_id = place.submit("hung", f"{kind}-hung.tif", "--device", "host")
    follower = place.start("follow", job_id)
    yield
    _, said = follower.communicate(timeout=PATIENCE)
    assert re.search(f"running: the ranks have not met in (6|[1-9]0) s: .*, and all 2 ranks have begun, on {os.uname().nodename}[.] If ",
                     said), said
    job = ended(place, job_id)
    assert job and job["state"] == "failed" and "had not found each other after 14 seconds" in job["why"], job
    assert cluster.wait_for(lambda: not place.processes(job["folder"]), PATIENCE), "no process is left"


def carries_out_the_guide(place, kind):
    """All commands of the guide, in their order, from an account that has nothing. Only what a site fills in is changed."""
    home, data = place.folder / "clean", place.folder / "clean" / "data"
    site = {"nodes": 1, "ranks-per-node": 2, "cards-per-rank": 0, "partition": "main", "setup": ":",
            "launcher": place.slurm.launcher, "worker": place.keys[kind]["worker"]}
    text = GUIDE.read_text()
    profile = next(block for block in re.findall(r"(?:^    .*\n)+", text, re.M) if block.startswith("    [Profile]"))
    keys = [line.strip().split(" = ", 1) for line in profile.splitlines()[1:]]
    assert set(site) <= {key for key, _ in keys}, keys
    data.mkdir(parents=True)
    (home / ".config" / "tomodesk" / "profiles").mkdir(parents=True)
    (home / ".config" / "tomodesk" / "profiles" / "hall.ini").write_text(
        "[Profile]\n" + "".join(f"{key} = {site.get(key, value)}\n" for key, value in keys if key not in ("host", "map")))
    environment = {key: value for key, value in place.environment.items() if not key.startswith("XDG_")}
    environment.update(HOME=str(home), PATH=f"{pathlib.Path(place.cli).parent}:{environment['PATH']}")
    job_id = None
    for line in re.findall(r"^    (tomodesk-cli .*)$", text, re.M):
        words = line.replace("/data/", f"{data}/").replace("ID", job_id or "ID")
        done = subprocess.run(words, shell=True, cwd=home, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500, check=False)
        assert done.returncode == 0, (words, done.stdout)
        if " phantom " in words:
            shutil.copy(home / "scan.nxs", data)
        if " submit " in words:
            listed = subprocess.run([place.cli, "jobs", "--json"], env=environment, stdout=subprocess.PIPE, check=True)
            job_id = json.loads(listed.stdout)["jobs"][0]["id"]
    assert (home / "volume.tif").exists() and (data / "volume.h5").exists()


COMMON = [measures_its_machine, submits_and_follows, shows_a_slice_and_cancels, cancels_the_deaf, tells_that_a_rank_was_killed,
          tells_the_worker_s_words, tells_that_the_worker_is_missing, tells_that_no_rank_comes]
CASES = {
    "local": COMMON + [cancels_what_is_left, goes_on_with_a_failed_job, refuses_a_worker_of_another_version, probes_its_nodes,
                       asks_the_cluster_that_took_the_job, keeps_jobs_that_cannot_be_looked_at, sorts_jobs_by_their_age, knows_jobs_of_other_computers, finds_jobs_started_by_hand, quotes_whatever_it_is_given, fills_in_a_template,
                       refuses_bad_profiles, refuses_what_ranks_would, the_user_s_profile_wins],
    "ssh": COMMON + [reaches_a_host_that_is_for_terminals, goes_on_after_a_cut, stages_and_fetches, goes_on_with_a_cut_fetch, refuses_what_the_host_does_not_see,
                     tells_that_nobody_answers, probes_its_nodes, probes_with_any_mpi, quotes_whatever_it_is_given],
    "slurm": COMMON + [cancels_what_is_left, goes_on_with_a_failed_job, shows_the_scheduler_s_words, probes_its_nodes,
                       finds_its_output_in_odd_folders, tells_of_an_scancel_from_outside, goes_on_when_slurm_queues_a_job_again,
              cancels_what_slurm_queued_again],
}
# Each fault and each way of launching once.
QUICK = {
    "local": [measures_its_machine, submits_and_follows, tells_that_a_rank_was_killed,
              tells_that_the_worker_is_missing, cancels_what_is_left, goes_on_with_a_failed_job, refuses_a_worker_of_another_version, sorts_jobs_by_their_age, knows_jobs_of_other_computers, finds_jobs_started_by_hand, asks_the_cluster_that_took_the_job,
              keeps_jobs_that_cannot_be_looked_at,
              fills_in_a_template, refuses_bad_profiles, refuses_what_ranks_would, the_user_s_profile_wins],
    "ssh": [reaches_a_host_that_is_for_terminals, shows_a_slice_and_cancels, goes_on_after_a_cut, stages_and_fetches, refuses_what_the_host_does_not_see,
            tells_that_nobody_answers, probes_with_any_mpi, quotes_whatever_it_is_given],
    "slurm": [submits_and_follows, tells_the_worker_s_words, shows_the_scheduler_s_words, probes_its_nodes,
              tells_of_an_scancel_from_outside, goes_on_when_slurm_queues_a_job_again],
}
# The probe comes first: it makes the jobs' folder, as on a cluster that is new.
REAL = [probes_its_nodes, computes_what_one_process_does, cancels_a_rank_that_hangs]
REAL_DEATHS = {"local": [tells_that_a_rank_hangs_as_mpi_begins, tells_that_a_real_rank_was_killed],
               "slurm": [tells_that_a_rank_was_killed_as_mpi_began]}
GUIDED = {"slurm": [carries_out_the_guide]}
SLOW = {"slurm": [tells_that_the_wall_time_was_reached, asks_the_queue_rarely]}


def prepare(place, kind):
    """The profile of that kind, named after it, and its keys for those that change one."""
    keys = {"kind": kind, "worker": place.fake, "ranks_per_node": 2}
    if kind != "slurm":
        cluster.need("mpirun")
    if kind == "ssh":
        place.sshd = cluster.Sshd(place)
        keys.update(host="loopback", ssh_config=place.sshd.config, map=f"{place.folder}={place.folder}")
    if kind == "slurm":
        place.slurm = cluster.Slurm(place)
        keys.update(launcher=place.slurm.launcher)
    place.keys = {kind: keys}
    place.profile(kind, **keys)


def main():
    cli, fake, kind = sys.argv[1:4]
    cases = (SLOW[kind] if "--slow" in sys.argv else GUIDED[kind] if "--guide" in sys.argv else REAL[:1] + REAL_DEATHS.get(kind, []) + REAL[1:] if "--real" in sys.argv
             else CASES[kind] if "--all" in sys.argv else QUICK[kind])
    only = [word for word in sys.argv[4:] if not word.startswith("--")]
    cases = CASES[kind] if only and cases is QUICK[kind] else cases
    cases = [case for case in cases if not only or case.__name__ in only]
    cluster.run(cases, kind, cluster.Place(cli, fake), prepare)


main()
