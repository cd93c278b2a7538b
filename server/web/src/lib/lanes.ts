// Which lanes a session's hardware values make.
import type { LaneData } from '../charts/timeline';
import { t } from './i18n';
import type { Core, Series, Timeline } from './types';

interface Kind {
    key: string;
    name: () => string;
    unit: string;
    by: number; // value × by is in the unit
    digits: number;
    fields: [string, () => string][];
    floor?: boolean;
    shown?: boolean; // unless chosen otherwise
    stepped?: boolean;
}

const kinds: Kind[] = [
    {
        key: 'temperature',
        name: () => t('Temperature'),
        unit: '°C',
        by: 0.001,
        digits: 1,
        fields: [
            ['battery_millicelsius', () => t('battery')],
            ['skin_millicelsius', () => t('skin')],
        ],
        shown: true,
    },
    { key: 'frequency', name: () => t('Core frequency'), unit: 'MHz', by: 0.001, digits: 0, fields: [], floor: true, shown: true, stepped: true },
    {
        key: 'memory',
        name: () => t('Memory'),
        unit: 'MB',
        by: 1 / 1024,
        digits: 0,
        fields: [
            ['pss_kb', () => 'PSS'],
            ['phys_footprint_kb', () => t('physical footprint')],
            ['rss_kb', () => 'RSS'],
            ['rss_anon_kb', () => 'RssAnon'],
            ['native_heap_kb', () => t('native heap')],
            ['java_heap_kb', () => t('Java heap')],
            ['swap_kb', () => t('swap')],
        ],
        floor: true,
        shown: true,
    },
    {
        key: 'cpu',
        name: () => t('CPU'),
        unit: '%',
        by: 0.1,
        digits: 0,
        fields: [
            ['process_cpu_permille', () => t('game')],
            ['total_cpu_permille', () => t('device')],
        ],
        floor: true,
    },
    { key: 'thermal', name: () => t('Thermal status'), unit: '', by: 1, digits: 0, fields: [['thermal_status', () => '']], floor: true, stepped: true },
    { key: 'gpu', name: () => t('GPU time'), unit: 'ms', by: 0.001, digits: 1, fields: [['gpu_time_us', () => '']], floor: true },
    { key: 'threads', name: () => t('Threads'), unit: '', by: 1, digits: 0, fields: [['thread_count', () => '']], floor: true },
    { key: 'battery', name: () => t('Battery charge'), unit: '%', by: 0.1, digits: 1, fields: [['battery_permille', () => '']] },
];

interface Line {
    name: string;
    at: Map<number, number | null>; // by microseconds
    stepped?: boolean;
}

// Lines over the moments of any of them: the SDK reads each value at its own pace. At a moment that is not
// its own a line is undefined, and the chart draws on; null, a value out of bounds, is a gap.
function together(lines: Line[]): Pick<LaneData, 'x' | 'series'> {
    const times = [...new Set(lines.flatMap((l) => [...l.at.keys()]))].sort((a, b) => a - b);
    return {
        x: times.map((v) => v / 1e6),
        series: lines.map(({ name, at, stepped }) => ({ name, y: times.map((v) => at.get(v)), stepped })),
    };
}

// Cores of one kind run at one frequency nearly always: their highest stands for them.
function clusters(cores: Core[], by: number): Line[] {
    const found = [...new Set(cores.map((c) => c.cluster_max_khz))].sort((a, b) => b - a);
    return found.map((max) => {
        const same = cores.filter((c) => c.cluster_max_khz === max);
        const at: Line['at'] = new Map();
        for (const c of same)
            c.t_us.forEach((t_us, i) => {
                const [v, most] = [c.khz[i] ?? null, at.get(t_us) ?? null];
                at.set(t_us, v === null ? most : Math.max(v * by, most ?? 0));
            });
        const name = max ? `${same.length} × ${(max / 1e6).toFixed(1)} GHz` : t('{n} {n|core|cores}', { n: same.length });
        return { name, at, stepped: true };
    });
}

function linesOf(kind: Kind, data: Timeline): Line[] {
    return kind.fields
        .map(([field, name]) => ({ name: name(), of: data.hardware.find((h) => h.name === field) }))
        .filter((f): f is { name: string; of: Series } => f.of !== undefined && f.of.value.some((v) => v !== null))
        .map(({ name, of }) => ({
            name,
            at: new Map(of.t_us.map((t_us, i) => [t_us, of.value[i] === null ? null : of.value[i]! * kind.by])),
            stepped: kind.stepped,
        }));
}

function lane(kind: Kind, data: Timeline): LaneData | null {
    const lines = kind.key === 'frequency' ? clusters(data.cores, kind.by) : linesOf(kind, data);
    if (!lines.length) return null;
    return { key: kind.key, name: kind.name(), unit: kind.unit, digits: kind.digits, floor: kind.floor, ...together(lines) };
}

export interface Lanes {
    all: { key: string; name: string }[];
    shown: LaneData[];
}

// `chosen`: keys with commas between them, or empty.
export function lanesOf(data: Timeline, chosen: string): Lanes {
    const have = kinds.map((k) => ({ kind: k, data: lane(k, data) })).filter((l) => l.data !== null);
    const keys = chosen ? chosen.split(',') : have.filter((l) => l.kind.shown).map((l) => l.kind.key);
    return {
        all: have.map((l) => ({ key: l.kind.key, name: l.data!.name })),
        shown: have.filter((l) => keys.includes(l.kind.key)).map((l) => l.data!),
    };
}

// The highest value of a series and when it was.
export function peak(data: Timeline, name: string): { value: number; t_us: number } | null {
    const s = data.hardware.find((h) => h.name === name);
    let best: { value: number; t_us: number } | null = null;
    s?.value.forEach((v, i) => {
        if (v !== null && (!best || v > best.value)) best = { value: v, t_us: s.t_us[i] };
    });
    return best;
}
