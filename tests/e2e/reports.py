"""A report, cell by cell: every figure recomputed from the raw files that the server gives back. Started
by reports.sh; needs nothing but Python's library and the zstd program. Shares no code with the product:
reads the files as session.proto says, and computes by docs/metrics.md, docs/reports.md, docs/statistics.md.

    reports.py URL PRIVATE FOLDER BIN    PRIVATE: as deploy/private.sh has it; FOLDER: what
                                         `framewatch demo --out` wrote

Sends the baseline's first sessions, then two of the new build, has tiers fitted and the expectation frozen,
sends the rest, and compares JSON, CSV, HTML and the CLI's text with the recomputation.
"""
import base64
import bisect
import collections
import csv
import html.parser
import io
import json
import math
import os
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request

URL, PRIVATE, FOLDER, BIN = sys.argv[1:5]
KEYS, ROOT = f"{PRIVATE}/keys", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GROUPS, ALL = 64, "all"
LN = ["p50", "p90", "p95", "p99", "mean", "memory_pss", "memory_footprint", "memory_rss", "temperature"]
# name: what a count / exposure is multiplied by
COUNT = {"janks": 6e5, "janks_minor": 6e5, "janks_normal": 6e5, "janks_severe": 6e5, "jank_ms": 6e4,
         "perfdog_janks": 6e5, "perfdog_big_janks": 6e5, "stutter": 100, "missed_frames": 100,
         "throttled": 100, "slow_sessions": 100}
WATCHED = {"p50", "p90", "mean", "memory_pss", "memory_footprint", "memory_rss", "janks"}
METRICS = LN + list(COUNT)


def key(role):
    with open(os.path.join(KEYS, role)) as f:
        return f.read().strip()


def call(method, path, body=None, role="admin", headers=None):
    request = urllib.request.Request(path if path.startswith("http") else URL + path, data=body,
                                     method=method, headers={"Authorization": f"Bearer {key(role)}",
                                                             **(headers or {})})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return answer.read()


def get(path):
    return json.loads(call("GET", path, role="read"))


# Files ---------------------------------------------------------------------------------------------


def fields(data):
    """(number, value) of a protobuf message: ints, floats as 4 bytes, bytes."""
    at, out = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            out.append((tag >> 3, varint()))
        elif tag & 7 == 2:
            n = varint()
            out.append((tag >> 3, data[at:at + n]))
            at += n
        else:
            n = {1: 8, 5: 4}[tag & 7]
            out.append((tag >> 3, data[at:at + n]))
            at += n
    return out


def packed(data):
    out, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            out.append(value)
            value = shift = 0
    return out


def zigzag(v):
    return v >> 1 ^ -(v & 1)


def text(fields_of, number):
    return fields_of.get(number, b"").decode()


class Session:
    """The packets of all parts, as lists by kind."""

    def __init__(self, parts):
        self.rows, self.hardware, self.scenes, self.life = [], [], [], []
        self.covered = []
        for part in parts:
            self.add(part)
        self.covered.sort()

    def add(self, data):
        log = fields(data)
        header = dict(fields(dict(fields(log[0][1]))[1]))
        self.id = header[1]
        self.platform = header.get(4, 0)
        self.build = header.get(6, 0), text(header, 5), text(header, 7), header.get(4, 0)
        self.code = self.build[0]
        device = dict(fields(header[10]))
        self.model = (self.platform, text(device, 1), text(device, 2))
        self.refresh = device.get(8, 0)
        environment = dict(fields(header.get(11, b"")))
        self.excluded = any(environment.get(n) for n in (1, 2, 3, 5))
        moments = [header.get(12, 0)]
        for _, packet in log:
            kind, body = fields(packet)[0]
            m = fields(body)
            one = dict(m)
            if kind == 2:
                moments += self.add_row(one)
            elif kind == 3:
                moments.append(self.add_hardware(one))
            elif kind == 4:
                self.scenes.append((one.get(1, 0), self.scene_key(text(one, 2), text(one, 3))))
                moments.append(one.get(1, 0))
            elif kind == 6:
                self.life.append((one.get(1, 0), one.get(2, 0)))
                moments.append(one.get(1, 0))
            elif kind == 8:
                moments += [one.get(1, 0), one.get(1, 0) + one.get(2, 0)]
                moments += [self.add_hardware(dict(fields(v))) for n, v in m if n == 5]
            elif kind in (5, 7, 11, 12, 13, 14):
                moments.append(one.get(1, 0))
        self.covered.append([header.get(2, 0), min(moments), max(moments)])

    def add_row(self, one):
        at, before, intervals = one.get(1, 0), 0, []
        for delta in packed(one.get(2, b"")):
            before += zigzag(delta)
            intervals.append(before * 10)
        target = one.get(3, 0)
        refresh = one.get(4, 0) or self.refresh
        if not target and refresh:
            target = 10 ** 9 // refresh
        if intervals:
            self.rows.append((at, target, intervals))
        return [at, at + sum(intervals)]

    def add_hardware(self, one):
        self.hardware.append((one.get(1, 0), {
            "memory_pss": one.get(8), "memory_footprint": one.get(13), "memory_rss": one.get(21),
            "battery": zigzag(one[5]) if 5 in one else None, "status": one.get(7)}, tuple(sorted(
                (k, bytes(v) if isinstance(v, (bytes, bytearray)) else v) for k, v in one.items()))))
        return one.get(1, 0)

    @staticmethod
    def scene_key(mode, place):
        if not mode and not place:
            return ""
        return mode.replace("%", "%25").replace("/", "%2F") + "/" + place


# Metrics of a session --------------------------------------------------------------------------------

BOUND = []
low = 1000
for k in range(552):  # floor(1000 (101/99)^k + 1/2), exactly
    BOUND.append((2 * 1000 * 101 ** k + 99 ** k) // (2 * 99 ** k))


def quantile_us(times, q):
    counts = collections.Counter(min(bisect.bisect_left(BOUND, t), 551) for t in times)
    rank, before = q * (len(times) - 1) + 0.5, 0.0
    for bucket in sorted(counts):
        n = counts[bucket]
        if before + n > rank:
            under = BOUND[bucket - 1] if bucket else BOUND[0] * 99.0 / 101.0
            return under * (BOUND[bucket] / under) ** ((rank - before) / n)
        before += n
    return BOUND[-1]


def foreground(s):
    spans = []
    for i, (number, start, end) in enumerate(s.covered):
        if i + 1 < len(s.covered) and number + 1 == s.covered[i + 1][0]:
            end = max(end, s.covered[i + 1][1])
        spans.append([start, end])
    joined = []
    for a, b in sorted(spans):
        if joined and a <= joined[-1][1]:
            joined[-1][1] = max(b, joined[-1][1])
        elif a < b:
            joined.append([a, b])
    away, since = [], None
    for t, kind in sorted(s.life, key=lambda v: v[0]):
        if kind == 1 and since is None:
            since = t
        elif kind == 2 and since is not None:
            away.append((since, t))
            since = None
    if since is not None:
        away.append((since, math.inf))
    out = []
    for a, b in joined:
        for x, y in away:
            if y <= a or x >= b:
                continue
            if x > a:
                out.append((a, x))
            a = y
        if a < b:
            out.append((a, b))
    return out, away


class Slice:
    def __init__(self):
        self.times, self.missed, self.pd, self.big, self.pd_us = [], 0, 0, 0, 0
        self.late = self.slow = 0
        self.fg = 0
        self.hot_us, self.told, self.battery, self.memory = 0, False, [], 0


def frames_of(s):
    """(start, interval, target, state) by time; state as docs/metrics.md has it."""
    _, away = foreground(s)
    sleeps = sorted(t for t, kind in s.life if kind == 4)
    out, covered = [], 0
    for at, target, intervals in sorted(s.rows, key=lambda r: r[0]):
        before = covered
        for us in intervals:
            to = at + us
            i = bisect.bisect_left(sleeps, at)
            if i < len(sleeps) and sleeps[i] < to:
                state = "suspended"
            elif any(x < to and y > at for x, y in away):
                state = "background"
            elif us < 100 or us > 60000000:
                state = "invalid"
            elif at + 100 < before:
                state = "overlap"
            else:
                state = "valid"
            out.append((at, us, target, state))
            at = to
        covered = max(covered, at)
    out.sort(key=lambda f: f[0])
    return out


def add_frames(s, scene_at, slices):
    last, end, jank, big = [], 0, False, False
    for start, us, target, state in frames_of(s):
        if state != "valid":
            if state != "overlap":
                last = []
            continue
        if not last or start > end + 1000:
            last, jank, big = [], False, False
        few = len(last) < 3
        is_jank = us > 84000 and (few or 3 * us > 2 * sum(last))
        is_big = us > 125000 and (few or 3 * us > 3 * sum(last))
        for c in {"", scene_at(start)}:
            v = slices[c]
            v.times.append(us)
            v.missed += bool(target) and us + target // 20 >= 2 * target
            v.pd += is_jank and not jank
            v.pd_us += us if is_jank and not jank else 0
            v.big += is_big and not big
            if start >= 60000000:
                v.late += 1
                v.slow += us > 50000
        last, end, jank, big = ([us] + last)[:3], start + us, is_jank, is_big


def add_hardware(s, spans, scene_at, slices, cuts):
    memory = {1: "memory_pss", 2: "memory_footprint", 3: "memory_rss"}.get(s.platform, "memory_pss")
    samples = []
    for sample in sorted(s.hardware, key=lambda h: h[0]):
        if not samples or samples[-1][2] != sample[2]:
            samples.append(sample)
    for i, (t, h, _) in enumerate(samples):
        span = next(((a, b) for a, b in spans if a <= t <= b), None)
        if span is None:
            continue
        until = min(t + 10000000, span[1])
        if i + 1 < len(samples):
            until = min(until, max(t, samples[i + 1][0]))
        for c in {"", scene_at(t)}:
            if h[memory] is not None and 1 <= h[memory] <= 33554432:
                slices[c].memory = max(slices[c].memory, h[memory])
            if h["battery"] is not None and 1 <= h["battery"] <= 90000:
                slices[c].battery.append(h["battery"])
        if h["status"] is None or h["status"] > 6:
            continue
        slices[""].told = True
        slices[""].hot_us += until - t if h["status"] >= 3 else 0
        edges = [t] + [x for x in cuts if t < x < until] + [until]
        for a, b in zip(edges, edges[1:]):
            c = scene_at(a)
            if c:
                slices[c].told = True
                slices[c].hot_us += b - a if h["status"] >= 3 else 0
    return memory


def metrics_of(s):
    """scene: {metric: (value or count, exposure)}; LN: ln in 1e-6 and 0."""
    changes = sorted(s.scenes, key=lambda c: c[0])
    cuts = [t for t, _ in changes]
    slices = collections.defaultdict(Slice)
    spans, _ = foreground(s)

    def scene_at(t):
        i = bisect.bisect_right(cuts, t)
        return changes[i - 1][1] if i else ""

    add_frames(s, scene_at, slices)
    for a, b in spans:
        edges = [a] + [x for x in cuts if a < x < b] + [b]
        for x, y in zip(edges, edges[1:]):
            for c in {"", scene_at(x)}:
                slices[c].fg += y - x
    memory = add_hardware(s, spans, scene_at, slices, cuts)
    out = {}
    for scene, v in slices.items():
        if scene and not v.times and not v.fg:
            continue
        out[scene] = figures_of(v, memory)
    return out


def llround(x):
    return math.floor(x + 0.5) if x >= 0 else -math.floor(-x + 0.5)


def figures_of(v, memory):
    m, ms, n = {}, v.fg // 1000, len(v.times)

    def ln(name, value):
        if value > 0:
            m[name] = (llround(1e6 * math.log(value)), 0)

    def count(name, x, exposure):
        if exposure > 0:
            m[name] = (x, exposure)

    if n >= 60:
        for name, q in (("p50", .5), ("p90", .9), ("p95", .95), ("p99", .99)):
            ln(name, quantile_us(v.times, q) / 1000)
        ln("mean", sum(v.times) / n / 1000)
    ln(memory, v.memory / 1024)
    if v.battery:
        ln("temperature", (sum(v.battery) // len(v.battery)) / 1000)
    janks = [us for us in v.times if us > 100000]
    count("janks", len(janks), ms)
    count("janks_minor", sum(us <= 250000 for us in janks), ms)
    count("janks_normal", sum(250000 < us <= 500000 for us in janks), ms)
    count("janks_severe", sum(us > 500000 for us in janks), ms)
    count("jank_ms", sum(janks) // 1000, ms)
    count("perfdog_janks", v.pd, ms)
    count("perfdog_big_janks", v.big, ms)
    count("stutter", v.pd_us // 1000, ms)
    count("missed_frames", v.missed, n)
    if v.told:
        count("throttled", v.hot_us // 1000, ms)
    count("slow_sessions", int(v.slow * 100 > v.late * 25), int(v.late > 0))
    return m


# Expectation and comparison ------------------------------------------------------------------------------


def clamp(x, limit):
    return max(-limit, min(limit, x))


def measured(sums, past, name, value, exposure):
    """(x_n, x_value, x_expected), (own_n, own_value, own_weight) of one session."""
    every, tier, model = sums
    x, own = (0, 0, 0), (0, 0, 0)
    if name in LN:
        prior = tier if tier[0] else every
        if not prior[0]:
            return x, own
        mu = llround((model[1] + 20 * (prior[1] / prior[0])) / (model[0] + 20))
        x = (1, clamp(value - mu, 2000000), mu)
        if past[0]:
            weight = llround(1000 * past[0] / (past[0] + 2))
            own = (1, weight * clamp(value - llround(past[1] / past[0]), 2000000), weight)
        return x, own
    prior = tier if tier[1] else every
    if prior[1] > 0 and prior[2] > 0:
        expected = llround(1e6 * exposure * ((20 + model[1]) / (20 * prior[2] / prior[1] + model[2])))
        if expected > 0:
            x = (1, value, expected)
    if past[0] and past[2] >= (exposure + 3) // 4:
        own = (1, value, llround(1e6 * exposure * past[1] / past[2]))
    return x, own


def offs(sums, ratio):
    return {g: v - ratio * n for g, (n, v) in sums.items()}


def overdispersion(groups, x, n):
    filled = sum(v[0] > 0 for v in groups.values())
    if x <= 0 or filled < 2:
        return 1
    return max(1, filled / (filled - 1) * sum((v - x / n * e) ** 2 for e, v in groups.values()) / x)


def compare(now, base, name):
    """D and V of {group: (weight or exposure, sum or count)}."""
    n1, n0 = sum(v[0] for v in now.values()), sum(v[0] for v in base.values())
    x1, x0 = sum(v[1] for v in now.values()), sum(v[1] for v in base.values())
    filled = len({g for d in (now, base) for g, v in d.items() if v[0] > 0})
    if n1 <= 0 or n0 <= 0:
        return None
    a, b = offs(now, x1 / n1), offs(base, x0 / n0)
    if name in LN:
        if min(sum(v[0] > 0 for v in d.values()) for d in (now, base)) < 2:
            return None
        off = [1e-6 * (a.get(g, 0) / n1 - b.get(g, 0) / n0) for g in range(GROUPS)]
        var = max(1e-12, sum(v * v for v in off) * filled / (filled - 1))
        return 1e-6 * (x1 / n1 - x0 / n0), var
    phi = max(overdispersion(now, x1, n1), overdispersion(base, x0, n0))
    if x1 + x0 < 20 * phi:
        return None
    off = [a.get(g, 0) / (x1 + .5) - b.get(g, 0) / (x0 + .5) for g in range(GROUPS)]
    least = 1 / (x1 + .5) + 1 / (x0 + .5)
    var = max(least, sum(v * v for v in off) * filled / (filled - 1)) if filled > 1 else least
    return math.log((x1 + .5) / (x0 + .5)) + math.log(n0 / n1), var


class Sums:
    """Of one slice and metric: by arm and group n, value, exposure, x and own."""

    def __init__(self):
        self.arm = collections.defaultdict(lambda: collections.defaultdict(lambda: [0] * 9))

    def add(self, arm, g, row):
        to = self.arm[arm][g]
        for k, v in enumerate(row):
            to[k] += v

    def total(self, arm, k):
        return sum(row[k] for row in self.arm[arm].values())

    def part(self, arms, n, v):
        out = {}
        for arm in arms:
            for g, row in self.arm[arm].items():
                a, b = out.get(g, (0, 0))
                out[g] = (a + row[n], b + row[v])
        return out

    def value(self, arm, name):
        n, v, e = (self.total(arm, k) for k in range(3))
        if name in LN:
            return math.exp(1e-6 * v / n) if n else None
        return v / e * COUNT[name] if e > 0 else None

    def figure(self, name):
        f = {"n": self.total("now", 0), "baseline_n": self.total("base", 0),
             "value": self.value("now", name), "baseline": self.value("base", name),
             "change": None, "low": None, "high": None, "mix": None, "basis": "none"}
        for basis, at in (("installs", 6), ("models", 3)):
            beside = self.total("beside", at) >= 50
            arms = ["beside"] if beside else ["beside", "before"]
            n = self.total("now", at), sum(self.total(arm, at) for arm in arms)
            if min(n) < 50:
                continue
            # LN by models: weight is the number of sessions; all else has its weight beside it
            k = (at, at + 1) if name in LN and basis == "models" else (at + 2, at + 1)
            found = compare(self.part(["now"], *k), self.part(arms, *k), name)
            if not found:
                continue
            d, v = found
            t2 = (0.08 if name in LN else 0.25) ** 2
            half = math.sqrt(v * (v + t2) / t2 * (-2 * math.log(.05) + math.log((v + t2) / v)))
            f.update(change=math.expm1(d), low=math.expm1(d - half), high=math.expm1(d + half),
                     basis=basis, same_time=beside, compared_n=n[0], compared_baseline_n=n[1])
            if f["value"] and f["baseline"]:
                f["mix"] = f["value"] / f["baseline"] / math.exp(d) - 1
            break
        return f


def recompute(sessions, tier_of):
    """{(tier name or ALL, scene): {metric: figure}} and installs of both builds, by slice."""
    cells = collections.defaultdict(lambda: [0, 0, 0])
    pasts = collections.defaultdict(lambda: [0, 0, 0])
    for s in sessions:
        if s.arm != "before" or s.excluded:
            continue
        for scene, m in s.metrics.items():
            for name, (value, exposure) in m.items():
                where = [(0, 0), (1, tier_of[s.model]), (2, s.model)]
                for to in [cells[w + (scene, name)] for w in where] + (
                        [pasts[s.install, scene, name]] if name in WATCHED else []):
                    for k, v in enumerate((1, value, exposure)):
                        to[k] += v
    slices = collections.defaultdict(lambda: collections.defaultdict(Sums))
    installs = collections.defaultdict(lambda: (set(), set()))
    for s in sessions:
        if s.excluded:
            continue
        g, tier = s.id[15] & 63, tier_of[s.model]
        for scene, m in s.metrics.items():
            for t in (tier, ALL):
                if m.keys() & WATCHED:
                    installs[t, scene][s.arm != "now"].add(s.install)
                for name, (value, exposure) in m.items():
                    x, own = measured([cells[w + (scene, name)] for w in
                                       ((0, 0), (1, tier), (2, s.model))],
                                      pasts[s.install, scene, name], name, value, exposure)
                    row = (1, value, exposure)
                    if s.arm == "now":
                        slices[t, scene][name].add("now", g, row + x + own)
                    else:
                        slices[t, scene][name].add("base", g, row + (0,) * 6)
                        slices[t, scene][name].add(s.arm, g, (0, 0, 0) + x + own)
    return {w: {name: sums.figure(name) for name, sums in by.items()} for w, by in slices.items()}, installs


# The run -----------------------------------------------------------------------------------------------


def jobs_done(*kinds):
    """Asked of the database: /metrics may be some moments old."""
    which = ", ".join(f"'{k}'" for k in kinds)
    script = (f'. "{ROOT}/deploy/private.sh"; private_begin "{PRIVATE}" && private_psql -d framewatch -Atc '
              f'"SELECT count(*) FROM job WHERE kind IN ({which})"')
    end = time.monotonic() + 1800
    while time.monotonic() < end:
        if int(subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, check=True).stdout) == 0:
            return
        time.sleep(0.2)
    raise SystemExit(f"jobs are not done: {kinds}")


def send(file, install, name):
    def b64(v):
        return base64.b64encode(v.encode()).decode()

    with open(file, "rb") as f:
        body = f.read()
    call("POST", "/v1/uploads", body, "ingest", {
        "Tus-Resumable": "1.0.0", "Upload-Length": str(len(body)),
        "Content-Type": "application/offset+octet-stream",
        "Upload-Metadata": f"kind {b64('session')},fileid {b64(name)},install {b64(install)}"})


class Checks:
    passed = failed = shown = 0

    @classmethod
    def that(cls, ok, what):
        cls.passed += bool(ok)
        cls.failed += not ok
        if not ok and cls.shown < 40:
            cls.shown += 1
            print(f"FAIL  {what}")


def close(a, b, digits=5e-6):
    if a is None or b is None:
        return a is None and b is None
    return math.isclose(a, b, rel_tol=digits, abs_tol=1e-9)


class Tables(html.parser.HTMLParser):
    """{(heading, row, column): text of the cell}"""

    def __init__(self):
        super().__init__()
        self.cells, self.heads, self.at, self.row = {}, [], "", ""
        self.column, self.in_head, self.into = 0, False, []

    def handle_starttag(self, tag, attrs):
        if tag in ("h2", "th", "td"):
            self.into = []
        elif tag == "small":
            self.into.append("|")
        elif tag == "thead":
            self.heads, self.in_head = [], True
        elif tag == "tr":
            self.column = 0

    def handle_data(self, data):
        self.into.append(data)

    def handle_endtag(self, tag):
        said = "".join(self.into)
        if tag == "h2":
            self.at = said.split("|")[0]
        elif tag == "th" and self.in_head:
            self.heads.append(said)
        elif tag == "th":
            self.row = said.split("|")[0]
        elif tag == "td":
            self.column += 1
            self.cells[self.at, self.row, self.heads[self.column]] = said
        elif tag == "thead":
            self.in_head = False


# What a page for people calls them.
SPOKEN = {"p50": "P50 frame time", "p90": "P90 frame time", "p95": "P95 frame time", "p99": "P99 frame time",
          "mean": "Mean frame time", "memory_pss": "Peak memory (Android PSS)",
          "memory_footprint": "Peak memory (iOS footprint)", "memory_rss": "Peak memory (RSS)",
          "temperature": "Battery temperature", "janks": "Janks", "janks_minor": "Minor janks",
          "janks_normal": "Normal janks", "janks_severe": "Severe janks", "jank_ms": "Jank time",
          "perfdog_janks": "PerfDog janks", "perfdog_big_janks": "PerfDog big janks", "stutter": "Stutter",
          "missed_frames": "Missed frames", "throttled": "Throttled time", "slow_sessions": "Slow sessions"}


def percent(change):
    return "over +1000" if change > 10 else "%+.1f" % (100 * change)


def expected_html(f):
    if f["value"] is None:
        return "–"
    said = "%.4g" % f["value"]
    if f.get("baseline") is not None:
        said += "|was %.4g" % f["baseline"]
    compared = f.get("change") is not None
    if compared:
        said += " %s %%|%s … %s %%" % tuple(percent(f[k]) for k in ("change", "low", "high"))
    if f.get("mix") is not None:
        said += "|mix %s %%" % percent(f["mix"])
    n = ("compared_n", "compared_baseline_n") if compared else ("n", "baseline_n")
    return said + "|n = %d / %d" % tuple(f[k] for k in n)


def check_json(report, truth, installs):
    told = {(s["tier_name"] if s["tier"] is not None else ALL, s["scene"]): s for s in report["slices"]}
    Checks.that(set(told) == set(truth), f"slices: {set(told) ^ set(truth)}")
    kinds = collections.Counter()
    for where, figures in truth.items():
        slice_ = told.get(where, {"figures": {}, "installs": 0, "baseline_installs": 0})
        Checks.that((slice_["installs"], slice_["baseline_installs"]) == tuple(map(len, installs[where])),
                    f"{where}: installs {slice_['installs']}, {slice_['baseline_installs']}")
        for name in METRICS:
            f, is_ = figures.get(name), slice_["figures"].get(name)
            if not f or not (f["n"] or f["baseline_n"]):
                Checks.that(is_ is None, f"{where} {name}: told, and there is none")
                continue
            kinds[name, "scene" if where[1] else "whole", f["basis"]] += 1
            for k, v in f.items():
                got = (is_ or {}).get(k)
                same = close(got, v) if k in ("value", "baseline", "change", "low", "high", "mix") else got == v
                Checks.that(same, f"{where} {name} {k}: {got}, recomputed {v}")
    return told, kinds


def check_csv(report, told):
    text_ = call("GET", f"/v1/report?build={report['build']['id']}&format=csv", role="read").decode()
    rows = {(r["tier"], r["scene"], r["metric"]): r for r in csv.DictReader(io.StringIO(text_))}
    n = 0
    for (tier, scene), s in told.items():
        for name, f in s["figures"].items():
            row = rows.get((tier, scene, name), {})
            n += 1
            for k in ("n", "value", "baseline_n", "baseline", "change", "low", "high", "mix"):
                v = row.get(k, "none")
                Checks.that(v == "" if f[k] is None else v != "none" and close(float(v or "nan"), f[k], 1e-8),
                            f"csv {tier} {scene} {name} {k}: {v}, JSON {f[k]}")
            Checks.that(row.get("basis") == f["basis"], f"csv {tier} {scene} {name} basis")
    Checks.that(n == len(rows), f"csv: {len(rows)} rows, {n} figures")


def check_html(report, told):
    page = Tables()
    page.feed(call("GET", f"/v1/report?build={report['build']['id']}&format=html", role="read").decode())
    for (tier, scene), s in told.items():
        for name in METRICS:
            f = s["figures"].get(name)
            where = (f"{SPOKEN[name]} by scene", scene, tier) if scene else ("Whole sessions", SPOKEN[name], tier)
            if not f and where not in page.cells:
                continue
            got, want = page.cells.get(where), expected_html(f) if f else "–"
            Checks.that(got == want, f"html {where}: {got!r}, JSON {want!r}")


def check_cli(report, told):
    said = subprocess.run([f"{BIN}/server/framewatch", "report", "--all", str(report["build"]["id"])],
                          env={**os.environ, "FW_URL": URL, "FW_KEY_FILE": f"{KEYS}/read"},
                          stdout=subprocess.PIPE, check=True, timeout=300).stdout.decode()
    lines, where = {}, None
    for line in said.splitlines():
        head = re.fullmatch(r"(\S+)  (.+)  \d+ sessions, \d+ installs", line)
        if head:
            where = head[1], "" if head[2] == "whole sessions" else head[2]
        elif where and line.startswith("  "):
            lines[where + (line.split()[0],)] = " ".join(line.split())
    for (tier, scene), s in told.items():
        for name, f in s["figures"].items():
            unit = next(m["unit"] for m in report["metrics"] if m["name"] == name)
            want = [name, "%.4g" % f["value"] if f["value"] is not None else "–", unit, "was",
                    "%.4g" % f["baseline"] if f["baseline"] is not None else "–"]
            if f["change"] is None:
                want.append("too few sessions to compare")
            else:
                want.append("%+.1f %% (%+.1f … %s %%)" % (100 * f["change"], 100 * f["low"], "over +1000.0" if f["high"] > 10
                                                           else "%+.1f" % (100 * f["high"])))
                if f["mix"] is not None:
                    want.append("mix %+.1f %%" % (100 * f["mix"]))
            want.append("n = %d / %d" % (f["n"], f["baseline_n"]))
            got = lines.get((tier, scene, name))
            Checks.that(got == " ".join(want), f"cli {tier} {scene} {name}: {got!r}, JSON {' '.join(want)!r}")


def read_session(session):
    out = []
    for p in get(f"/v1/sessions/{session}/raw")["items"]:
        packed_ = call("GET", p["href"], role="read")
        out.append(subprocess.run(["zstd", "-dcq"], input=packed_, stdout=subprocess.PIPE, check=True).stdout)
    return Session(out)


PLATFORMS = {1: "android", 2: "ios", 3: "linux"}


def read_manifest():
    """Files of each session by part, its install, and its build by the first of them."""
    files, install, build = collections.defaultdict(list), {}, {}
    with open(f"{FOLDER}/manifest.tsv") as f:
        for line in f:
            name, install_, session, part = line.rstrip("\n").split("\t")
            files[session].append((int(part), name))
            install[session] = install_
    for session, parts in files.items():
        with open(f"{FOLDER}/{sorted(parts)[0][1]}.fws", "rb") as f:
            first = subprocess.run(["zstd", "-dcq"], stdin=f, stdout=subprocess.PIPE, check=True).stdout
        build[session] = Session([first]).build
    return files, install, build


def release(files, install, build):
    """The baseline alone, two sessions of the new build and the freeze, then both; who was before it."""
    for code, name, uid, platform in sorted(set(build.values())):
        call("POST", "/v1/builds", json.dumps({"platform": PLATFORMS[platform], "version_name": name,
                                               "version_code": code, "build_uid": uid}).encode(),
             headers={"Content-Type": "application/json"})
    old = min(build.values())[0]
    by = {new: [s for s in files if (build[s][0] != old) == new] for new in (False, True)}
    before, first = by[False][:len(by[False]) * 3 // 5], []
    for platform in {b[3] for b in build.values()}:
        first += [s for s in by[True] if build[s][3] == platform][:2]
    after = [s for s in files if s not in set(before) | set(first)]
    for phase in (before, first, after):
        for session in phase:
            for _, name in sorted(files[session]):
                send(f"{FOLDER}/{name}.fws", install[session], name)
        jobs_done("part", "finish")
        for kind in ("tiers", "expect") if phase is first else ():
            call("POST", f"/v1/schedule/{kind}", b"")
            jobs_done(kind)
    return set(before)


def read_tiers():
    tiers, cursor = collections.defaultdict(lambda: "untiered"), ""
    while cursor is not None:
        page = get("/v1/tiers/models?limit=200" + (f"&cursor={urllib.parse.quote(cursor)}" if cursor else ""))
        number = {v: k for k, v in PLATFORMS.items()}
        for m in page["items"]:
            tiers[number[m["platform"]], m["manufacturer"], m["model"]] = m["tier_name"]
        cursor = page["next"]
    return tiers


def check_report(build, sessions, tiers):
    truth, installs = recompute(sessions, tiers)
    report = get(f"/v1/report?build={build}")
    told, kinds = check_json(report, truth, installs)
    check_csv(report, told)
    check_html(report, told)
    check_cli(report, told)
    for name in METRICS:
        print(" ", name, ", ".join(f"{n} {where} by {basis}" for (m, where, basis), n in sorted(kinds.items())
                                   if m == name) or "not told by these phones")


def main():
    files, install, build = read_manifest()
    old = min(build.values())[0]
    before = release(files, install, build)
    sessions = []
    for session in files:
        s = read_session(session)
        s.install, s.metrics = install[session], metrics_of(s)
        s.arm = "now" if s.code != old else "before" if session in before else "beside"
        sessions.append(s)
    for b in get("/v1/builds")["items"]:
        if b["version_code"] != old:
            of = [s for s in sessions if PLATFORMS[s.platform] == b["platform"]]
            print(f"{b['platform']}: {len(of)} sessions")
            check_report(b["id"], of, read_tiers())
    print(f"{Checks.passed} passed, {Checks.failed} failed, 0 skipped")
    sys.exit(Checks.failed > 0)


main()
