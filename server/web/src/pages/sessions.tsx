import { useEffect, useState } from 'preact/hooks';
import { useGet, useList, type Page } from '../lib/api';
import { ago, celsius, jankRate, megabytes, ms, num, span, when } from '../lib/format';
import { deviceName } from '../lib/device';
import { t } from '../lib/i18n';
import { type MemoryKind, memoryKind, memoryKinds, memoryName, memoryOf } from '../lib/memory';
import { Link, setQuery, useQuery } from '../lib/router';
import { flagName, platformName, tierName } from '../lib/terms';
import type { Build, SessionRow } from '../lib/types';
import { Badge, Card, Empty, Failed, Head, Select, Waiting } from '../ui/pieces';
import { Csv, ShowMore, Table, type Column } from '../ui/table';

const columns = (rows: SessionRow[]): Column<SessionRow>[] => [
    {
        key: 'id',
        label: t('Session'),
        cell: (s) => (
            <span class="row" style={{ gap: '.4rem' }}>
                <Link href={`/sessions/${s.id}`} class="mono">
                    {s.id.slice(0, 12)}…
                </Link>
                <Marks of={s} />
            </span>
        ),
        value: (s) => s.id,
    },
    {
        key: 'received',
        label: t('Arrived'),
        cell: (s) => (
            <time dateTime={s.received_at} title={when(s.received_at)} class="nowrap" data-volatile>
                {ago(s.received_at)}
            </time>
        ),
        value: (s) => s.received_at,
    },
    { key: 'version', label: t('Version'), cell: (s) => <span class="nowrap">{s.version_name}</span>, value: (s) => s.version_name },
    {
        key: 'device',
        full: true,
        label: t('Device'),
        cell: (s) => (
            <span>
                {deviceName(s)} <span class="soft small nowrap">{tierName(s)}</span>
            </span>
        ),
        value: deviceName,
    },
    { key: 'length', label: t('Foreground'), term: 'foreground', unit: 's', right: true, cell: (s) => span(s.foreground_us), value: (s) => s.foreground_us / 1e6 },
    { key: 'frames', label: t('Frames'), right: true, cell: (s) => num(s.frames), value: (s) => s.frames },
    { key: 'p50', label: 'P50 ms', term: 'p50', right: true, cell: (s) => ms(s.p50_us), value: (s) => s.p50_us / 1000 },
    { key: 'p90', label: 'P90 ms', term: 'p90', right: true, cell: (s) => ms(s.p90_us), value: (s) => s.p90_us / 1000 },
    {
        key: 'janks',
        label: t('Janks per 10 min'),
        term: 'jankRate',
        right: true,
        cell: (s) => num(jankRate(janks(s), s.foreground_us), 1),
        value: (s) => jankRate(janks(s), s.foreground_us),
    },
    {
        key: 'temperature',
        label: t('Peak temperature, °C'),
        term: 'temperature',
        right: true,
        cell: (s) => celsius(s.peak_battery_millicelsius).replace(' °C', ''),
        value: (s) => (s.peak_battery_millicelsius ? s.peak_battery_millicelsius / 1000 : null),
    },
    {
        key: 'memory',
        label: t('Peak memory, MB'),
        term: 'memory',
        right: true,
        cell: (s) => (
            <span class="nowrap">
                {megabytes(s.peak_memory_kb).replace(' MB', '')} {s.peak_memory_kb ? <span class="soft small">{memoryName[memoryKind(s.platform)]}</span> : null}
            </span>
        ),
    },
    ...memoryKinds(rows).map(memoryColumn),
];

// What is not one quantity is not one column to sort by or to calculate with.
const memoryColumn = (kind: MemoryKind): Column<SessionRow> => ({
    key: `memory_${kind}`,
    label: t('Peak {kind}', { kind: memoryName[kind] }),
    unit: 'MB',
    csvOnly: true,
    cell: () => null,
    value: (s) => {
        const kb = memoryOf(s, kind);
        return kb && kb / 1024;
    },
});

const janks = (s: SessionRow) => s.janks_minor + s.janks_normal + s.janks_severe;

function Marks({ of: s }: { of: SessionRow }) {
    return (
        <>
            {s.has_crash && <Badge tone="bad">{t('crash')}</Badge>}
            {s.has_feedback && <Badge tone="accent">{t('feedback')}</Badge>}
            {s.throttled_us > 0 && <Badge tone="warn">{t('throttled')}</Badge>}
            {s.environment.map((e) => (
                <Badge>{flagName(e)}</Badge>
            ))}
            {s.state === 'open' && <Badge>{t('still open')}</Badge>}
        </>
    );
}

// A text filter that is applied when typing pauses, or by Enter.
function Text({ name, label, placeholder }: { name: string; label: string; placeholder?: string }) {
    const q = useQuery();
    const now = q.get(name) ?? '';
    const [text, setText] = useState(now);
    useEffect(() => setText(now), [now]);
    useEffect(() => {
        if (text === now) return;
        const timer = setTimeout(() => setQuery({ [name]: text.trim() }), 400);
        return () => clearTimeout(timer);
    }, [text]);
    return (
        <label class="field">
            {label}
            <input
                value={text}
                placeholder={placeholder}
                size={14}
                onInput={(e) => setText(e.currentTarget.value)}
                onKeyDown={(e) => e.key === 'Enter' && setQuery({ [name]: text.trim() })}
            />
        </label>
    );
}

const two = (n: number) => String(n).padStart(2, '0');
const dayText = (d: Date) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
const moment = (text: string) => new Date(/^\d+$/.test(text) ? Number(text) : text);

// A day of this browser's calendar; in the address a moment: the day's begin, or, as the last day, its end.
function Day({ name, label, end, min, max }: { name: string; label: string; end?: boolean; min?: string; max?: string }) {
    const q = useQuery();
    const set = (day: string) => {
        const at = new Date(`${day}T00:00`);
        if (end) at.setDate(at.getDate() + 1);
        setQuery({ [name]: Number.isNaN(at.getTime()) ? null : at.toISOString().replace('.000', '') });
    };
    return (
        <label class="field">
            {label}
            <input type="date" value={shownDay(q.get(name), end)} min={min} max={max} onChange={(e) => set(e.currentTarget.value)} />
        </label>
    );
}
function shownDay(text: string | null, end?: boolean): string {
    const at = text ? moment(text) : null;
    return at && !Number.isNaN(at.getTime()) ? dayText(new Date(at.getTime() - (end ? 1 : 0))) : '';
}

const flags = () =>
    [
        ['has_jank', t('with janks')],
        ['has_crash', t('with a crash')],
        ['has_feedback', t('with feedback')],
        ['flagged', t('flagged environment')],
    ] as const;
const filters = ['build', 'model', 'manufacturer', 'scene', 'platform', 'min_p90_ms', 'has_jank', 'has_crash', 'has_feedback', 'flagged', 'from', 'to', 'version'];

export default function Sessions() {
    const q = useQuery();
    const asked = Object.fromEntries(filters.map((f) => [f, q.get(f)]));
    const list = useList<SessionRow>('/v1/sessions', { ...asked, limit: 50 });
    const builds = useGet<Page<Build>>('/v1/builds', { limit: 50 });
    const any = filters.some((f) => q.get(f));
    const table = columns(list.items ?? []);

    return (
        <>
            <Head
                title={t('Sessions')}
                says={t('What players went through, newest first. Open one for its whole trajectory.')}
            />
            <div class="stack">
                <form class="filters" onSubmit={(e) => e.preventDefault()} aria-label={t('Filters')}>
                    <Select
                        label={t('Build')}
                        value={q.get('build') ?? ''}
                        options={[
                            ['', t('all')],
                            ...(builds.value?.items ?? []).map((b): [string, string] => [String(b.id), `${b.version_name} (${platformName(b.platform)})`]),
                        ]}
                        onChange={(build) => setQuery({ build })}
                    />
                    <Select
                        label={t('Platform')}
                        value={q.get('platform') ?? ''}
                        options={[['', t('all')], ...['android', 'ios', 'linux'].map((p): [string, string] => [p, platformName(p)])]}
                        onChange={(platform) => setQuery({ platform })}
                    />
                    <Text name="version" label={t('Version name')} placeholder="2.14.0" />
                    <Day name="from" label={t('Arrived from')} max={shownDay(q.get('to'), true)} />
                    <Day name="to" label={t('Arrived until')} end min={shownDay(q.get('from'))} />
                    <Text name="manufacturer" label={t('Manufacturer')} placeholder="samsung" />
                    <Text name="model" label={t('Model')} placeholder="SM-A037F" />
                    <Text name="scene" label={t('Scene')} placeholder="battle/arena" />
                    <label class="field">
                        {t('P90 at least, ms')}
                        <input
                            type="number"
                            min="0"
                            max="3600000"
                            style={{ width: '7rem' }}
                            value={q.get('min_p90_ms') ?? ''}
                            onChange={(e) => setQuery({ min_p90_ms: e.currentTarget.value })}
                        />
                    </label>
                    <div class="row" role="group" aria-label={t('Only sessions')}>
                        {flags().map(([name, label]) => (
                            <button type="button" aria-pressed={q.get(name) === '1'} onClick={() => setQuery({ [name]: q.get(name) !== '1' })}>
                                {label}
                            </button>
                        ))}
                        {any && (
                            <button type="button" class="bare" onClick={() => setQuery(Object.fromEntries(filters.map((f) => [f, null])))}>
                                {t('Clear')}
                            </button>
                        )}
                    </div>
                </form>
                <Card
                    flush
                    title={list.items ? (list.more ? t('The newest {n}', { n: list.items.length }) : t('{n} {n|session|sessions}', { n: list.items.length })) : t('Sessions')}
                    tools={list.items?.length ? <Csv name="sessions" columns={table} rows={list.items} /> : undefined}
                >
                    {list.problem ? (
                        <Failed problem={list.problem} again={list.again} />
                    ) : !list.items ? (
                        <Waiting rows={10} />
                    ) : list.items.length ? (
                        <>
                            <Table id="s" caption={t('Sessions')} columns={table} rows={list.items} href={(s) => `/sessions/${s.id}`} few={(s) => s.frames < 600} />
                            <ShowMore list={list} />
                        </>
                    ) : any ? (
                        <Empty title={t('No session is like that')}>
                            <p>{t('Clear some of the filters above.')}</p>
                        </Empty>
                    ) : (
                        <Empty title={t('No session has arrived yet')}>
                            <p>{t('Build the SDK into a game with an ingest key, or send some made-up ones:')}</p>
                            <code>framewatch demo --sessions 100 --server {location.origin} --key-file …</code>
                        </Empty>
                    )}
                </Card>
            </div>
        </>
    );
}
