// A build against its baseline as the API tells it.
import { num } from './format';
import { t } from './i18n';

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

export const figure = (v: number | null | undefined) => (v === null || v === undefined ? '–' : num(v, Math.abs(v) >= 100 ? 0 : Math.abs(v) >= 10 ? 1 : 2));

// More of any of these is worse.
export type Judgement = 'worse' | 'better' | 'same' | 'unknown';
export function judge(f: Figure | undefined): Judgement {
    if (!f || f.low === null || f.low === undefined || f.high === null || f.high === undefined) return 'unknown';
    return f.low > 0 ? 'worse' : f.high < 0 ? 'better' : 'same';
}

// Slices of one tier and scene for which something is certainly worse, the largest first.
export function worst(r: Report, judged: Judgement = 'worse'): { slice: Slice; metric: string; figure: Figure }[] {
    const watched = new Set(r.metrics.filter((m) => m.watched).map((m) => m.name));
    return r.slices
        .filter((s) => s.tier !== null && s.tier > 0)
        .flatMap((slice) =>
            Object.entries(slice.figures)
                .filter(([name, f]) => watched.has(name) && judge(f) === judged)
                .map(([metric, figure]) => ({ slice, metric, figure })),
        )
        .sort((a, b) => Math.abs(b.figure.change!) - Math.abs(a.figure.change!));
}
