// Is a release well observed: the findings, the gravest first, or a clear "nothing to do".
import { useGet } from '../lib/api';
import { num, percent } from '../lib/format';
import { t } from '../lib/i18n';
import { metricName } from '../lib/report';
import { Link, useParam } from '../lib/router';
import { platformName } from '../lib/terms';
import { Badge, Card, Loaded, Tip, Toggle, type Tone } from './pieces';
import { Csv, type Column } from './table';

interface Finding {
    check: string;
    status: string;
    text: string;
    value: number | null;
    expected: number | null;
    metric?: string;
    days?: number;
    excluded?: number;
    models?: number;
}
interface Check {
    build: { id: number; platform: string; version_name: string };
    baseline_id: number | null;
    day: number;
    age_days: number;
    sessions: number;
    nothing_to_do: boolean;
    findings: Finding[];
    checks: Finding[];
}

const tones: Record<string, [Tone, () => string]> = {
    serious: ['bad', () => t('serious')],
    warning: ['warn', () => t('warning')],
    note: ['accent', () => t('note')],
    unknown: ['', () => t('cannot be told yet')],
    ok: ['good', () => t('well')],
};
const checkName = (c: string) =>
    ({
        volume: t('volume'),
        channel: t('missing figures'),
        untiered: t('untiered models'),
        symbols: t('unreadable stacks'),
        invalid: t('invalid values'),
        flagged: t('flagged environments'),
        clock_skew: t('clocks that go wrong'),
        crashes: t('crashes'),
    })[c] ?? c;

const share = (f: Finding, what: string) =>
    f.value === null
        ? t('{what}: too few sessions to tell', { what })
        : f.expected === null
          ? t('{what}: {share}', { what, share: percent(f.value) })
          : t('{what}: {share}, on the baseline {base}', { what, share: percent(f.value), base: percent(f.expected) });

function volume(f: Finding): string {
    if (!f.days) return t('It is not a whole day old yet.');
    const values = { n: num(f.value), days: f.days, excluded: num(f.excluded), base: num(f.expected) };
    return f.expected === null
        ? t('{n} sessions in the first {days} days, {excluded} of them in no statistic; the baseline had none in as many', values)
        : t('{n} sessions in the first {days} days, {excluded} of them in no statistic; the baseline had {base} in as many', values);
}

function channel(f: Finding): string {
    const what = metricName(f.metric!);
    return f.value === null || f.expected === null
        ? t('{what}: too few sessions to tell', { what })
        : t('{what}: told by {share} of sessions, on the baseline by {base}', { what, share: percent(f.value, 0), base: percent(f.expected, 0) });
}

function untiered(f: Finding): string {
    const models = { models: num(f.models) };
    return f.value === null
        ? t('Too few sessions to tell which are from models without a tier; {models} such models in all', models)
        : t('{share} of sessions are from device models without a tier; {models} such models in all', { ...models, share: percent(f.value) });
}

const sentences: Record<string, (f: Finding) => string> = {
    volume,
    channel,
    untiered,
    symbols: (f) => (f.value === null ? t('Too few jank samples to tell whether their frames have names') : t('{share} of jank samples have frames without a name', { share: percent(f.value) })),
    invalid: (f) => share(f, t('Sessions with values out of bounds')),
    flagged: (f) => share(f, t('Sessions from flagged environments')),
    clock_skew: (f) => share(f, t('Sessions whose clock was wrong')),
    crashes: (f) => share(f, t('Sessions with a crash')),
};

// In the reader's language, from the numbers. A check that was kept by an earlier server may lack some, and one
// by a later server have another name: then as the server says it.
export function sentenceOf(f: Finding): string | null {
    const lacks = (f.check === 'volume' && f.days === undefined) || (f.check === 'channel' && !f.metric) || (f.check === 'untiered' && f.models === undefined);
    return lacks ? null : (sentences[f.check]?.(f) ?? null);
}

const columns = (): Column<Finding>[] => [
    { key: 'status', label: t('State'), cell: () => '', value: (f) => f.status },
    { key: 'check', label: t('Check'), cell: () => '', value: (f) => f.check },
    { key: 'metric', label: t('Metric'), cell: () => '', value: (f) => f.metric },
    { key: 'value', label: t('This build'), cell: () => '', value: (f) => f.value },
    { key: 'expected', label: t('Baseline'), cell: () => '', value: (f) => f.expected },
    { key: 'says', label: t('Finding'), cell: () => '', value: (f) => sentenceOf(f) ?? f.text },
];

function List({ of }: { of: Finding[] }) {
    return (
        <table class="fold">
            <caption class="sr">{t('Findings')}</caption>
            <tbody>
                {of.map((f) => {
                    const [tone, name] = tones[f.status] ?? ['', () => f.status];
                    return (
                        <tr>
                            <td style={{ width: '11rem' }}>
                                <Badge tone={tone}>{name()}</Badge>
                            </td>
                            <td class="says nowrap">
                                {checkName(f.check)}
                            </td>
                            <td class="says break" style={{ width: '100%' }}>
                                {sentenceOf(f) ?? <span lang="en">{f.text}</span>}
                            </td>
                        </tr>
                    );
                })}
            </tbody>
        </table>
    );
}

export function CheckCard({ build }: { build?: string }) {
    const [day, setDay] = useParam('day');
    const data = useGet<Check>('/v1/health-check', { build, day });
    const v = data.value;
    return (
        <Card
            flush
            id="check"
            title={t('Check after the release')}
            note={
                v && (
                    <>
                        {!build && <Link href={`/builds/${v.build.id}`}>{`${v.build.version_name} (${platformName(v.build.platform)})`}</Link>} {t('{n} sessions', { n: num(v.sessions) })} <Tip term="check" />
                    </>
                )
            }
            tools={
                <>
                    <Toggle
                        label={t('Day')}
                        value={day}
                        options={[
                            ['', t('today')],
                            ['3', t('day {n}', { n: 3 })],
                            ['7', t('day {n}', { n: 7 })],
                            ['14', t('day {n}', { n: 14 })],
                        ]}
                        off={['3', '7', '14'].filter((d) => v && Number(d) > v.age_days && d !== day)}
                        onChange={setDay}
                    />
                    {v && <Csv name={`check-${v.build.id}`} columns={columns()} rows={[...v.findings, ...v.checks]} />}
                </>
            }
        >
            <Loaded data={data} rows={3}>
                {(c) => (
                    <>
                        {c.nothing_to_do && (
                            <p style={{ padding: '.2rem 1rem .6rem' }}>
                                <Badge tone="good">{t('nothing to do')}</Badge> {t('The release is observed as well as the one before it.')}
                            </p>
                        )}
                        <List of={[...c.findings, ...c.checks]} />
                    </>
                )}
            </Loaded>
        </Card>
    );
}
