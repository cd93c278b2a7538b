// Which builds are played: their shares of the sessions, day by day.
import { useGet, type Page } from '../lib/api';
import { day, num, percent } from '../lib/format';
import { t } from '../lib/i18n';
import { Card, Empty, Loaded, Tip } from './pieces';
import { Csv, type Column } from './table';

interface Build {
    build_id: number;
    platform: string;
    version_name: string;
    version_code: number;
    registered: boolean;
    days: { day: string; sessions: number }[];
}
interface Line {
    name: string;
    build: number | null; // null: the others together
    sessions: number[]; // a day
    colour: string;
}
interface Row {
    day: string;
    total: number;
    of: number[]; // a line
}

const LINES = 6;
const WIDTH = 1000;
const HEIGHT = 150;
const DAY_MS = 86400000;

// Days without a session are there too, so that time runs evenly.
function daysOf(builds: Build[]): string[] {
    const told = builds.flatMap((b) => b.days.map((d) => d.day)).sort();
    if (!told.length) return [];
    const days: string[] = [];
    for (let at = Date.parse(told[0]); at <= Date.parse(told[told.length - 1]); at += DAY_MS) days.push(new Date(at).toISOString().slice(0, 10));
    return days;
}

function linesOf(builds: Build[], days: string[], chosen: number): Line[] {
    const sum = (b: Build) => b.days.reduce((n, d) => n + d.sessions, 0);
    const played = builds.filter((b) => sum(b) > 0 || b.build_id === chosen);
    const first = [...played].sort((a, b) => Number(b.build_id === chosen) - Number(a.build_id === chosen) || sum(b) - sum(a)).slice(0, LINES);
    const perDay = (some: Build[]) => {
        const by = new Map<string, number>();
        for (const b of some) for (const d of b.days) by.set(d.day, (by.get(d.day) ?? 0) + d.sessions);
        return days.map((d) => by.get(d) ?? 0);
    };
    const lines = first.map((b, i): Line => ({ name: `${b.version_name} (${b.version_code})`, build: b.build_id, sessions: perDay([b]), colour: `var(--c${1 + i})` }));
    const rest = played.filter((b) => !first.includes(b));
    return rest.length ? [...lines, { name: t('others'), build: null, sessions: perDay(rest), colour: 'var(--faint)' }] : lines;
}

// Shares over days, one line a build; days without a session are passed over. A single day is a level line.
function Curve({ line, rows, at }: { line: Line; rows: Row[]; at: number }) {
    const y = (r: Row) => (HEIGHT * (1 - r.of[at] / r.total)).toFixed(1);
    const points =
        rows.length > 1
            ? rows.flatMap((r, i) => (r.total ? [`${((i / (rows.length - 1)) * WIDTH).toFixed(1)},${y(r)}`] : []))
            : [`0,${y(rows[0])}`, `${WIDTH},${y(rows[0])}`];
    return <polyline points={points.join(' ')} fill="none" stroke={line.colour} stroke-width={at ? 1.8 : 3} vector-effect="non-scaling-stroke" stroke-linejoin="round" />;
}

function Chart({ lines, rows }: { lines: Line[]; rows: Row[] }) {
    const last = rows.reduce((n, r, i) => (r.total ? i : n), 0);
    const share = (l: number) => (rows[last].total ? rows[last].of[l] / rows[last].total : 0);
    const says = lines.map((l, i) => `${l.name}: ${percent(share(i))}`).join(', ');
    return (
        <>
            <div class="curve" role="img" aria-label={`${t('Shares of sessions on the last day')}: ${says}`}>
                <span class="curve-scale" aria-hidden="true">
                    <span>100 %</span>
                    <span>50 %</span>
                    <span>0 %</span>
                </span>
                <svg viewBox={`0 -4 ${WIDTH} ${HEIGHT + 8}`} preserveAspectRatio="none">
                    {[0, 0.5, 1].map((y) => (
                        <line x1="0" x2={WIDTH} y1={y * HEIGHT} y2={y * HEIGHT} stroke="var(--grid)" vector-effect="non-scaling-stroke" />
                    ))}
                    {lines.map((l, i) => (
                        <Curve line={l} rows={rows} at={i} />
                    )).reverse()}
                </svg>
            </div>
            <div class="curve-days">
                <span data-volatile>{day(rows[0].day)}</span>
                {rows.length > 1 && <span data-volatile>{day(rows[rows.length - 1].day)}</span>}
            </div>
            <ul class="legend">
                {lines.map((l, i) => (
                    <li>
                        <i style={{ background: l.colour }} /> {l.name} <b>{percent(share(i))}</b>{' '}
                        <span class="soft small">{t('n {n}', { n: num(l.sessions.reduce((a, b) => a + b, 0)) })}</span>
                    </li>
                ))}
            </ul>
        </>
    );
}

export function Adoption({ build }: { build: number }) {
    const data = useGet<Page<Build>>('/v1/adoption', { build, days: 60 });
    const days = daysOf(data.value?.items ?? []);
    const lines = linesOf(data.value?.items ?? [], days, build);
    const rows = days.map((d, i): Row => {
        const of = lines.map((l) => l.sessions[i]);
        return { day: d, of, total: of.reduce((a, b) => a + b, 0) };
    });
    const columns: Column<Row>[] = [
        { key: 'day', label: t('Day'), cell: (r) => r.day, value: (r) => r.day },
        ...lines.map((l, i): Column<Row> => ({ key: String(l.build), label: l.name, right: true, cell: (r) => num(r.of[i]), value: (r) => r.of[i] })),
    ];
    return (
        <Card
            id="adoption"
            title={
                <>
                    {t('Adoption by day')} <Tip text={t('Each build’s share of the sessions of a day, of its platform’s newest builds. Before a build has spread, who updates first is not who plays.')} />
                </>
            }
            note={t('share of sessions')}
            tools={rows.length ? <Csv name="adoption" columns={columns} rows={rows} /> : undefined}
        >
            <Loaded data={data} rows={3}>
                {() => (rows.length ? <Chart lines={lines} rows={rows} /> : <Empty title={t('No session in the last {n} days', { n: 60 })} />)}
            </Loaded>
        </Card>
    );
}
