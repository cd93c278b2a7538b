"""Uploads under kill -9: the load, the ledger and the verdict. Started by crash.sh, which prepares the
services; needs nothing but Python's library.

Clients upload real session files in chunks, some files twice under other file ids, and write down what
the server acknowledged. Meanwhile framewatchd and PostgreSQL are killed at random moments and started
again. Afterwards every acknowledged byte must be stored, the queue must be empty, and sessions and
rollups must be those of a second server that took the same files undisturbed.
"""
import argparse
import base64
import ctypes
import http.client
import os
import random
import signal
import subprocess
import sys
import threading
import time

CLIENTS = 6
UPLOAD_PATH = "/v1/uploads"


class Results:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, ok, detail=""):
        if ok:
            self.passed += 1
            print(f"ok    {name}")
        else:
            self.failed += 1
            print(f"FAIL  {name} {detail}")


class Services:
    """The two services, by the functions of deploy/private.sh."""

    def __init__(self, root, folder, binaries, port):
        self.root, self.folder, self.bin, self.port = root, folder, binaries, port

    def shell(self, text, timeout=600):
        script = f'. "{self.root}/deploy/private.sh"; private_begin "{self.folder}" && {text}'
        return subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, timeout=timeout,
                              stdin=subprocess.DEVNULL, text=True)

    def sql(self, text, db="framewatch"):
        script = (f'. "{self.root}/deploy/private.sh"; private_begin "{self.folder}" && '
                  f"private_psql -d {db} -At -F '|' -f -")
        out = subprocess.run(["bash", "-c", script], input=text, text=True, stdout=subprocess.PIPE,
                             check=True, timeout=600)
        return [line.split("|") for line in out.stdout.splitlines()]

    def start_pg(self):
        if self.shell("private_pg_start 'shared_buffers = 64MB'").returncode:
            raise SystemExit("PostgreSQL did not come back")

    def start_server(self):
        # A worker's death is noticed when the lease of its job ends; each costs the job an attempt.
        options = "--job-lease-ms=10000 --job-attempts=100 --log-level=warn"
        if self.shell(f'private_server_start "{self.bin}/server/framewatchd" {self.port} {options}').returncode:
            raise SystemExit("framewatchd did not come back")

    def kill_server(self):
        pid = self.shell("private_server_pid").stdout.strip()
        if pid:
            os.kill(int(pid), signal.SIGKILL)
            wait_gone(int(pid))

    def kill_pg(self):
        pid = self.shell("private_pg_pid").stdout.strip()
        if not pid:
            return
        # Stopped first: it would start others. Gone last: a new one refuses memory that is still held.
        os.kill(int(pid), signal.SIGSTOP)
        while state(int(pid)) not in ("T", None):
            time.sleep(0.001)
        for p in children(int(pid)) + [int(pid)]:
            try:
                os.kill(p, signal.SIGKILL)
            except ProcessLookupError:
                pass
            wait_gone(p)

    def ready(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                c.request("GET", "/readyz")
                if c.getresponse().status == 200:
                    return True
            except OSError:
                pass
            except http.client.HTTPException:
                pass
            time.sleep(0.02)
        return False


def children(pid):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as f:
                    if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                        found.append(int(entry))
            except (OSError, IndexError, ValueError):
                pass
    return found


def adopt_orphans():
    """Daemons whose starter has ended become our children, so that we can bury them: a zombie still holds
    PostgreSQL's lock file, and not every init is quick about it."""
    pr_set_child_subreaper = 36
    if ctypes.CDLL(None, use_errno=True).prctl(pr_set_child_subreaper, 1, 0, 0, 0) != 0:
        raise SystemExit("prctl failed")


def state(pid):
    """As proc(5) has it: T stopped, Z ended and not waited for; None: there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def wait_gone(pid):
    """Of our own children nothing is left, for a zombie still holds a lock file; others may stay zombies
    until their parent waits, which one that is stopped never does."""
    for _ in range(12000):
        try:
            gone = os.waitpid(pid, os.WNOHANG)[0] == pid
        except ChildProcessError:
            gone = state(pid) in ("Z", None)
        if gone:
            return
        time.sleep(0.005)
    raise SystemExit(f"process {pid} survived SIGKILL")


class Upload:
    def __init__(self, file_id, install, session, content):
        self.file_id, self.install, self.session, self.content = file_id, install, session, content
        self.acked = 0
        self.url = None
        self.complete = False
        self.trouble = ""


def b64(text):
    return base64.b64encode(text.encode()).decode()


class Client(threading.Thread):
    """Takes uploads from the list until told to stop, finishing what it began."""

    def __init__(self, port, key, source, stop, seed, lock):
        super().__init__(daemon=True)
        self.port, self.key, self.source, self.stop, self.lock = port, key, source, stop, lock
        self.random = random.Random(seed)
        self.connection = None
        self.touched = []

    def run(self):
        while not self.stop.is_set():
            with self.lock:
                if not self.source:
                    return
                upload = self.source.pop()
            self.touched.append(upload)
            while not upload.complete and not upload.trouble:
                try:
                    self.step(upload)
                except (OSError, http.client.HTTPException):
                    self.drop()
                    time.sleep(0.03)

    def drop(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def ask(self, method, path, headers, body=None):
        if not self.connection:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        headers = {"Authorization": f"Bearer {self.key}", "Tus-Resumable": "1.0.0", **headers}
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        answer.read()
        if answer.getheader("Connection", "").lower() == "close":
            self.drop()
        return answer

    def step(self, u):
        if u.url is None:
            self.create(u)
            return
        head = self.ask("HEAD", u.url, {})
        if head.status >= 500 or head.status == 429:
            time.sleep(0.03)
            return
        if head.status != 200:
            u.trouble = f"HEAD {u.url}: {head.status} after {u.acked} acknowledged bytes"
            return
        self.at(u, int(head.getheader("Upload-Offset")), "HEAD")
        while not u.complete and not u.trouble:
            if not self.patch(u):
                return

    def at(self, u, offset, what):
        if offset < u.acked:
            u.trouble = f"{what} says {offset}, acknowledged were {u.acked}"
        u.acked = max(u.acked, offset)
        u.complete = u.acked == len(u.content)

    def create(self, u):
        n = self.random.randint(0, len(u.content))
        headers = {"Upload-Length": str(len(u.content)),
                   "Upload-Metadata": f"kind {b64('session')},fileid {b64(u.file_id)},install {b64(u.install)}"}
        body = None
        if n:
            headers["Content-Type"] = "application/offset+octet-stream"
            body = u.content[:n]
        answer = self.ask("POST", UPLOAD_PATH, headers, body)
        if answer.status >= 500 or answer.status == 429:
            time.sleep(0.03)
            return
        if answer.status not in (200, 201):
            u.trouble = f"POST: {answer.status}"
            return
        url = answer.getheader("Location")
        u.url = "/" + url.split("/", 3)[3]
        if answer.getheader("Upload-Offset") is not None:
            self.at(u, int(answer.getheader("Upload-Offset")), "POST")

    def patch(self, u):
        n = self.random.randint(1, max(1, (len(u.content) - u.acked + 1)))
        answer = self.ask("PATCH", u.url, {"Content-Type": "application/offset+octet-stream",
                                           "Upload-Offset": str(u.acked)},
                          u.content[u.acked:u.acked + n])
        if answer.status == 204:
            self.at(u, int(answer.getheader("Upload-Offset")), "PATCH")
            return True
        if answer.status in (409, 423, 429) or answer.status >= 500:
            time.sleep(0.03)
            return False
        u.trouble = f"PATCH at {u.acked}: {answer.status}"
        return False


def read_uploads(folder, rng):
    """Every file once, and a fifth of them again under another file id: the same part twice."""
    uploads = []
    with open(os.path.join(folder, "manifest.tsv")) as f:
        for line in f:
            file_id, install, session, _ = line.rstrip("\n").split("\t")
            with open(os.path.join(folder, file_id + ".fws"), "rb") as data:
                content = data.read()
            uploads.append(Upload(file_id, install, session, content))
            if rng.random() < 0.2:
                uploads.append(Upload("again-" + file_id, install, session, content))
    rng.shuffle(uploads)
    return uploads


def start_clients(services, key, source, stop, seed):
    lock = threading.Lock()
    clients = [Client(services.port, key, source, stop, seed + i, lock) for i in range(CLIENTS)]
    for c in clients:
        c.start()
    return clients


def crash_rounds(services, rounds, seconds, rng, results):
    came_back = 0
    for n in range(1, rounds + 1):
        began = time.monotonic()
        time.sleep(rng.uniform(0.05, seconds * 0.6))
        victim = rng.choice(["framewatchd", "framewatchd", "PostgreSQL", "PostgreSQL", "both"])
        if victim in ("framewatchd", "both"):
            services.kill_server()
        if victim in ("PostgreSQL", "both"):
            services.kill_pg()
            services.start_pg()
        if victim in ("framewatchd", "both"):
            services.start_server()
        up = services.ready(300)
        came_back += up
        print(f"round {n}/{rounds}: kill -9 of {victim}, ready after {time.monotonic() - began:.1f} s", flush=True)
        if not up:
            break
        time.sleep(max(0.0, seconds - (time.monotonic() - began)))
    results.check(f"the server was ready again after each of {rounds} kills", came_back == rounds, f"({came_back})")


def wait_for_queue(services, seconds=1200):
    end = time.monotonic() + seconds
    due = ["?"]
    while time.monotonic() < end:
        due = services.sql("SELECT count(*) FROM job WHERE state = 'running' OR (state = 'ready' AND kind = 'part')"
                           " OR (state = 'ready' AND run_after <= now());")[0]
        if due == ["0"]:
            return True
        time.sleep(0.2)
    print("jobs left:", due)
    return False


def check_ledger(services, touched, results):
    troubles = [u.trouble for u in touched if u.trouble]
    results.check("no answer contradicted an earlier acknowledgement", not troubles, "; ".join(troubles[:3]))
    stored = {}
    rows = services.sql("SELECT u.file_id, c.at, encode(c.bytes, 'hex') FROM upload u JOIN upload_chunk c "
                        "USING (shard, upload_id) ORDER BY u.file_id, c.at;")
    for file_id, at, content in rows:
        stored.setdefault(file_id, []).append((int(at), bytes.fromhex(content)))
    lost = []
    for u in touched:
        whole = bytearray()
        for at, content in stored.get(u.file_id, []):
            whole[at:at + len(content)] = content
        if bytes(whole[:u.acked]) != u.content[:u.acked]:
            lost.append(u.file_id)
    n = sum(u.acked for u in touched)
    results.check(f"each of {n} acknowledged bytes in {len(touched)} uploads is stored", not lost,
                  f"{len(lost)} uploads differ: {lost[:3]}")
    rows = dict(services.sql("SELECT file_id, at FROM upload;"))
    wrong = [u.file_id for u in touched if int(rows.get(u.file_id, -1)) < u.acked]
    results.check("no offset is behind its acknowledgement", not wrong, f"{wrong[:3]}")


ROLLUPS = ("SELECT r.shard, b.platform, b.version_code, b.build_uid, r.tier, r.scene, sum(sessions), "
           "sum(excluded_sessions), sum(slow_sessions), sum(frames), sum(frame_sum_us), sum(foreground_us), "
           "sum(janks_minor), sum(janks_normal), sum(janks_severe), sum(jank_us), sum(perfdog_janks), "
           "sum(missed_frames), string_agg(encode(sketch, 'hex'), ',' ORDER BY day) FROM frame_rollup r "
           "JOIN build b USING (build_id) GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6;")
MODELS = ("SELECT r.shard, b.platform, b.version_code, m.model, m.ram_gb, sum(r.sessions), sum(ln_p90_e6), "
          "sum(ln_p90_sq_e6), sum(median_mhz), sum(throttled_mhz) FROM model_rollup r JOIN build b USING (build_id) "
          "JOIN device_model m USING (model_id) GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5;")
SESSIONS = ("SELECT session_id, state, n_parts, ended, frames, foreground_us, p50_us, p90_us, p99_us, janks_minor, "
            "janks_normal, janks_severe, jank_us, perfdog_janks, excluded, has_crash, has_feedback, invalid "
            "FROM session ORDER BY 1;")
JANKS = "SELECT session_id, start_us, duration_us, level, scene, cause FROM jank_event ORDER BY 1, 2;"
CRASHES = "SELECT session_id, t_us, signal FROM crash ORDER BY 1, 2;"
SUMS = ("SELECT (SELECT count(*) FROM session WHERE state = 'final' AND NOT excluded), "
        "(SELECT coalesce(sum(frames), 0) FROM session WHERE state = 'final' AND NOT excluded), "
        "(SELECT coalesce(sum(janks_severe), 0) FROM session WHERE state = 'final' AND NOT excluded), "
        "(SELECT coalesce(sum(sessions), 0) FROM frame_rollup WHERE scene = ''), "
        "(SELECT coalesce(sum(frames), 0) FROM frame_rollup WHERE scene = ''), "
        "(SELECT coalesce(sum(janks_severe), 0) FROM frame_rollup WHERE scene = '');")


def snapshot(services):
    return {name: services.sql(q) for name, q in (("sessions", SESSIONS), ("frame_rollup", ROLLUPS),
                                                  ("model_rollup", MODELS), ("janks", JANKS), ("crashes", CRASHES))}


def check_counts(services, touched, results):
    a = services.sql(SUMS)[0]
    results.check("rollups are the sums of the final sessions", a[:3] == a[3:], str(a))
    sessions = {u.session for u in touched if u.complete}
    n = int(services.sql("SELECT count(*) FROM session;")[0][0])
    results.check(f"{len(sessions)} sessions were sent, as many are there", n == len(sessions), f"({n})")
    dead = services.sql("SELECT kind, last_error FROM job WHERE state = 'dead';")
    results.check("no job has died", not dead, str(dead[:3]))


def compare(got, expected, results):
    for name, rows in expected.items():
        same = got[name] == rows
        detail = ""
        if not same:
            missing = [r for r in rows if r not in got[name]][:2]
            extra = [r for r in got[name] if r not in rows][:2]
            detail = f"expected {missing}, got {extra}"
        results.check(f"{name}: {len(rows)} rows as on the undisturbed server", same and bool(rows), detail[:800])


def undisturbed(services, key, touched, results):
    """The same files once each, in another order, on a fresh server without kills."""
    sources = {}
    for u in touched:
        if u.complete:
            sources.setdefault(u.content, Upload(u.file_id, u.install, u.session, u.content))
    source = sorted(sources.values(), key=lambda u: u.file_id)
    n, stop = len(source), threading.Event()
    clients = start_clients(services, key, source, stop, 99)
    for c in clients:
        c.join(1200)
    done = sum(u.complete for c in clients for u in c.touched)
    results.check(f"the undisturbed server took all {n} files", done == n, f"({done})")
    results.check("the undisturbed server's queue drains", wait_for_queue(services))
    return snapshot(services)


def read_key(path):
    with open(path) as f:
        return f.read().strip()


def main():
    p = argparse.ArgumentParser()
    for name in ("root", "folder", "second", "bin", "files"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--port", type=int, required=True)
    p.add_argument("--second-port", type=int, required=True)
    p.add_argument("--rounds", type=int, default=50)
    p.add_argument("--seconds", type=float, default=1.6)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    rng, results = random.Random(a.seed), Results()
    adopt_orphans()
    services = Services(a.root, a.folder, a.bin, a.port)
    services.start_pg()
    services.start_server()
    source = read_uploads(a.files, rng)
    stop = threading.Event()
    clients = start_clients(services, read_key(f"{a.folder}/keys/ingest"), source, stop, a.seed * 1000)
    crash_rounds(services, a.rounds, a.seconds, rng, results)
    stop.set()
    for c in clients:
        c.join(1200)
    touched = [u for c in clients for u in c.touched]
    done = sum(u.complete for u in touched)
    results.check(f"all {len(touched)} uploads begun were finished", done == len(touched), f"({done})")
    results.check("uploads went on to the end", bool(source) or done > 100, "too few files for the load")
    results.check("the queue drains", wait_for_queue(services))
    check_ledger(services, touched, results)
    check_counts(services, touched, results)
    second = Services(a.root, a.second, a.bin, a.second_port)
    second.start_pg()
    second.start_server()
    compare(snapshot(services), undisturbed(second, read_key(f"{a.second}/keys/ingest"), touched, results), results)
    print(f"{results.passed} passed, {results.failed} failed, 0 skipped")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
