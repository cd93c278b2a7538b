// A build against its baseline as the API tells it.
import { num } from './format';
import { t } from './i18n';
import { define, tierLabel, type Term } from './terms';

export interface ReportBuild {
    id: number;
    platform: string;
    version_name: string;
    version_code: number;
    registered: boolean;
    released_at: string | null;
}
export interface Figure {
    n: number;
    value: number | null;
    baseline_n?: number;
    baseline?: number | null;
    change?: number | null;
    low?: number | null;
    high?: number | null;
    mix?: number | null;
    basis?: 'none' | 'installs' | 'models';
    compared_n?: number;
    compared_baseline_n?: number;
    same_time?: boolean;
}
export interface Slice {
    tier: number | null;
    tier_name: string;
    scene: string;
    sessions: number;
    installs: number;
    baseline_installs?: number;
    figures: Record<string, Figure>;
}
export interface Report {
    made_at: string;
    build: ReportBuild;
    baseline: ReportBuild | null;
    expectation: { frozen_at: string; sessions: number } | null;
    tiers: { tier: number; name: string }[];
    metrics: { name: string; kind: string; unit: string; watched: boolean }[];
    slices: Slice[];
}

export const metricName = (m: string) =>
    ({
        p50: t('P50 frame time'),
        p90: t('P90 frame time'),
        p95: t('P95 frame time'),
        p99: t('P99 frame time'),
        mean: t('Mean frame time'),
        memory_pss: t('Peak memory (Android PSS)'),
        memory_footprint: t('Peak memory (iOS footprint)'),
        memory_rss: t('Peak memory (RSS)'),
        temperature: t('Battery temperature'),
        janks: t('Janks'),
        janks_minor: t('Minor janks'),
        janks_normal: t('Normal janks'),
        janks_severe: t('Severe janks'),
        jank_ms: t('Jank time'),
        perfdog_janks: t('PerfDog janks'),
        perfdog_big_janks: t('PerfDog big janks'),
        stutter: t('Stutter'),
        missed_frames: t('Missed frames'),
        throttled: t('Throttled time'),
        slow_sessions: t('Slow sessions'),
    })[m] ?? m;

const metricTerms: Record<string, Term> = {
    p50: 'p50',
    p90: 'p90',
    p95: 'p95',
    p99: 'p99',
    mean: 'mean',
    memory_pss: 'pss',
    memory_footprint: 'footprint',
    memory_rss: 'rss',
    temperature: 'meanTemperature',
    janks: 'janks',
    janks_minor: 'minor',
    janks_normal: 'normal',
    janks_severe: 'severe',
    jank_ms: 'jankTime',
    perfdog_janks: 'perfdogJank',
    perfdog_big_janks: 'bigJank',
    stutter: 'stutter',
    missed_frames: 'missed',
    throttled: 'throttled',
    slow_sessions: 'slow',
};
const means = ['p50', 'p90', 'p95', 'p99', 'mean', 'memory_pss', 'memory_footprint', 'memory_rss', 'temperature'];

// What a metric of a build is: of a session, and of all of them. The report to print says the same.
export const metricSays = (m: string): string =>
    metricTerms[m]
        ? `${define(metricTerms[m]).says} ${means.includes(m) ? t('Of a build: the geometric mean over its sessions, each counted once.') : t('Of a build: all that its sessions counted, by all of their time, frames or number.')}`
        : '';

export const unitName = (unit: string | undefined): string =>
    unit === undefined
        ? ''
        : ({
              'per 10 min': t('per 10 min'),
              'ms per min': t('ms per min'),
              '% of time': t('% of time'),
              '% of frames': t('% of frames'),
              '% of sessions': t('% of sessions'),
          })[unit] ?? unit;

export const sliceTier = (s: Slice) => (s.tier === null ? t('all tiers') : tierLabel(s.tier_name));

// What a change rests on; without one, the sessions that have the figure.
export const compared = (f: Figure | undefined): [number | undefined, number | undefined] =>
    f && judge(f) !== 'unknown' ? [f.compared_n ?? f.n, f.compared_baseline_n ?? f.baseline_n] : [f?.n, f?.baseline_n];

export const figure = (v: number | null | undefined) => (v === null || v === undefined ? '–' : num(v, Math.abs(v) >= 100 ? 0 : Math.abs(v) >= 10 ? 1 : 2));

// More of any of these is worse.
export type Judgement = 'worse' | 'better' | 'same' | 'unknown';
export function judge(f: Figure | undefined): Judgement {
    if (!f || f.low === null || f.low === undefined || f.high === null || f.high === undefined) return 'unknown';
    return f.low > 0 ? 'worse' : f.high < 0 ? 'better' : 'same';
}

interface Judged {
    slice: Slice;
    metric: string;
    figure: Figure;
}
// All watched figures of one tier and scene that have an interval.
export function watched(r: Report): Judged[] {
    const names = new Set(r.metrics.filter((m) => m.watched).map((m) => m.name));
    return r.slices
        .filter((s) => s.tier !== null && s.tier > 0)
        .flatMap((slice) =>
            Object.entries(slice.figures)
                .filter(([name, f]) => names.has(name) && judge(f) !== 'unknown')
                .map(([metric, figure]) => ({ slice, metric, figure })),
        );
}
// Those whose whole interval is worse or better, the largest change first.
export function worst(r: Report, judged: Judgement = 'worse'): Judged[] {
    return watched(r)
        .filter((w) => judge(w.figure) === judged)
        .sort((a, b) => Math.abs(b.figure.change!) - Math.abs(a.figure.change!));
}
