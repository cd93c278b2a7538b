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

const seconds = (us: number[]) => us.map((v) => v / 1e6);

// Cores of one kind run at one frequency nearly always: their highest stands for them.
function clusters(cores: Core[]): LaneData['series'] {
    const found = [...new Set(cores.map((c) => c.cluster_max_khz))].sort((a, b) => b - a);
    return found.map((max) => {
        const same = cores.filter((c) => c.cluster_max_khz === max);
        const y = same[0].t_us.map((_, i) => {
            let most: number | null = null;
            for (const c of same) {
                const v = c.khz[i];
                if (v !== null && v !== undefined && (most === null || v > most)) most = v;
            }
            return most === null ? null : most / 1000;
        });
        const name = max ? `${same.length} × ${(max / 1e6).toFixed(1)} GHz` : t('{n} cores', { n: same.length });
        return { name, y, stepped: true };
    });
}

function lane(kind: Kind, data: Timeline): LaneData | null {
    const base = { key: kind.key, name: kind.name(), unit: kind.unit, digits: kind.digits, floor: kind.floor };
    if (kind.key === 'frequency') {
        if (!data.cores.length) return null;
        return { ...base, x: seconds(data.cores[0].t_us), series: clusters(data.cores) };
    }
    const found = kind.fields
        .map(([field, name]) => ({ name: name(), of: data.hardware.find((h) => h.name === field) }))
        .filter((f): f is { name: string; of: Series } => f.of !== undefined && f.of.value.some((v) => v !== null));
    if (!found.length) return null;
    const axis = found[0].of.t_us;
    const series = found.map(({ name, of }) => {
        const same = of.t_us.length === axis.length && of.t_us[0] === axis[0] && of.t_us[axis.length - 1] === axis[axis.length - 1];
        const at = same ? null : new Map(of.t_us.map((v, i) => [v, of.value[i]]));
        const y = axis.map((v, i) => {
            const value = at ? (at.get(v) ?? null) : of.value[i];
            return value === null ? null : value * kind.by;
        });
        return { name, y, stepped: kind.stepped };
    });
    return { ...base, x: seconds(axis), series };
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
