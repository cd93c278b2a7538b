// Pieces that several of the statistics pages share.
import type { ComponentChildren } from 'preact';
import { useGet, type Page } from '../lib/api';
import { change, day, num } from '../lib/format';
import { t } from '../lib/i18n';
import { setQuery, useQuery } from '../lib/router';
import { platformName } from '../lib/terms';
import type { Build } from '../lib/types';
import { Select } from './pieces';

export const useBuilds = () => useGet<Page<Build>>('/v1/builds', { limit: 100 });
export const buildName = (b: { version_name: string; version_code: number; platform: string }) => `${b.version_name} (${b.version_code}, ${platformName(b.platform)})`;

export function BuildSelect({ name, label, any, value }: { name: string; label: string; any?: string; value?: string }) {
    const q = useQuery();
    const builds = useBuilds();
    const options = (builds.value?.items ?? []).map((b): [string, string] => [String(b.id), buildName(b)]);
    return (
        <Select
            label={label}
            value={value ?? q.get(name) ?? ''}
            options={any === undefined ? options : [['', any], ...options]}
            onChange={(v) => setQuery({ [name]: v })}
        />
    );
}

export function Tabs<T extends string>({
    label,
    value,
    options,
    onChange,
}: {
    label: string;
    value: T;
    options: [T, string][];
    onChange: (v: T) => void;
}) {
    const step = (e: KeyboardEvent) => {
        const d = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
        if (!d) return;
        const at = options.findIndex(([v]) => v === value);
        onChange(options[(at + d + options.length) % options.length][0]);
        const tabs = (e.currentTarget as HTMLElement).querySelectorAll('button');
        tabs[(at + d + options.length) % options.length].focus();
    };
    return (
        <div class="tabs" role="tablist" aria-label={label} onKeyDown={step}>
            {options.map(([v, name]) => (
                <button type="button" role="tab" aria-selected={v === value} tabIndex={v === value ? 0 : -1} onClick={() => onChange(v)}>
                    {name}
                </button>
            ))}
        </div>
    );
}

// Values by day as columns.
export function DayBars({ days, label }: { days: { day: string; value: number }[]; label: string }) {
    const most = Math.max(1, ...days.map((d) => d.value));
    if (!days.length) return null;
    return (
        <div role="img" aria-label={`${label}: ${days.map((d) => `${day(d.day)} ${num(d.value)}`).join(', ')}`}>
            <div class="bars">
                {days.map((d) => (
                    <span style={{ height: `${(100 * d.value) / most}%` }} title={`${day(d.day)}: ${num(d.value)}`} />
                ))}
            </div>
            <div class="bars-axis" style={{ '--n': days.length } as Record<string, string | number>}>
                <span data-volatile>{day(days[0].day)}</span>
                {days.length > 3 && <span data-volatile>{day(days[days.length - 1].day)}</span>}
            </div>
        </div>
    );
}

// A change with its interval on a scale that all rows share: a dot, a line, a mark at no change.
export function Whisker({ low, mid, high, scale, worse = 1 }: { low: number; mid: number; high: number; scale: number; worse?: 1 | -1 }) {
    const W = 150;
    const H = 18;
    const x = (v: number) => W / 2 + (Math.max(-scale, Math.min(scale, v)) / scale) * (W / 2 - 6);
    const tone = low * worse > 0 && high * worse > 0 ? 'var(--bad)' : low * worse < 0 && high * worse < 0 ? 'var(--good)' : 'var(--faint)';
    return (
        <svg class="whisker" width={W} height={H} role="img" aria-label={t('{mid}, between {low} and {high}', { mid: change(mid), low: change(low), high: change(high) })}>
            <line x1={W / 2} x2={W / 2} y1="1" y2={H - 1} stroke="var(--line)" />
            <line x1={x(low)} x2={x(high)} y1={H / 2} y2={H / 2} stroke={tone} stroke-width="2" stroke-linecap="round" />
            <circle cx={x(mid)} cy={H / 2} r="4" fill={tone} />
        </svg>
    );
}

export function Facts({ items }: { items: [string, ComponentChildren][] }) {
    return (
        <div class="chips">
            {items.map(([name, value]) => (
                <span class="chip">
                    <span>{name}</span>
                    <span>{value}</span>
                </span>
            ))}
        </div>
    );
}
