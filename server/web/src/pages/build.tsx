// One build: how it runs, which symbols its stacks wait for.
import { useGet } from '../lib/api';
import { day, num, percent } from '../lib/format';
import { t } from '../lib/i18n';
import { figure, metricName, metricSays, unitName, type Report } from '../lib/report';
import { Link, url } from '../lib/router';
import { platformName } from '../lib/terms';
import type { Build } from '../lib/types';
import { Badge, Card, Chip, Empty, Failed, Head, Loaded, Meter, Stat, Tip, Waiting, type Tone } from '../ui/pieces';
import { CheckCard } from '../ui/check';
import { Csv, Table, type Column } from '../ui/table';

interface Need {
    kind: string;
    debug_id: string;
    module: string;
    state: 'present' | 'missing' | 'system';
    declared: boolean;
    events_waiting: number;
    stacks_waiting: number;
}
interface Symbols {
    events: number;
    events_waiting: number;
    stacks_waiting: number;
    needs: Need[];
}
const needColumns = (): Column<Need>[] => [
    { key: 'module', label: t('Module'), cell: (n) => n.module || <span class="soft">{t('declared only')}</span>, value: (n) => n.module },
    {
        key: 'state',
        label: t('Symbols'),
        term: 'symbols',
        cell: (n) => {
            const [tone, text] = ({ present: ['good', t('present')], missing: ['bad', t('missing')], system: ['', t('system library')] } as Record<string, [Tone, string]>)[n.state];
            return <Badge tone={n.state === 'missing' && !n.events_waiting ? 'warn' : tone}>{text}</Badge>;
        },
        value: (n) => n.state,
    },
    { key: 'events', label: t('Janks and crashes waiting'), right: true, cell: (n) => num(n.events_waiting), value: (n) => n.events_waiting },
    { key: 'stacks', label: t('Stacks waiting'), right: true, cell: (n) => num(n.stacks_waiting), value: (n) => n.stacks_waiting },
    { key: 'id', label: t('Debug id'), cell: (n) => <code class="break">{n.debug_id}</code>, value: (n) => n.debug_id },
];

function SymbolNeeds({ id }: { id: string }) {
    const data = useGet<Symbols>(`/v1/builds/${id}/symbols`);
    const table = needColumns();
    const v = data.value;
    return (
        <Card
            flush
            title={t('Symbols')}
            tools={v?.needs.length ? <Csv name={`symbols-${id}`} columns={table} rows={v.needs} /> : undefined}
        >
            <Loaded data={data}>
                {(s) => (
                    <>
                        <p class="in" style={{ padding: '.2rem 1rem .6rem' }}>
                            {s.events ? (
                                <>
                                    <Meter share={1 - s.events_waiting / s.events} label={t('readable')} />{' '}
                                    {t('{share} of {n} janks and crashes with a stack can be read whole.', {
                                        share: percent(1 - s.events_waiting / s.events),
                                        n: num(s.events),
                                    })}
                                </>
                            ) : (
                                t('No jank or crash with a stack has arrived from this build.')
                            )}
                        </p>
                        {s.needs.length ? (
                            <Table id="n" caption={t('Symbols')} columns={table} rows={s.needs} />
                        ) : (
                            <Empty title={t('Nothing is needed')} />
                        )}
                        {s.events_waiting > 0 && (
                            <p class="small soft" style={{ padding: '.6rem 1rem 1rem' }}>
                                <code>framewatch symbols upload FILE…</code> {t('sends them; stacks that came earlier are read again by themselves.')}
                            </p>
                        )}
                    </>
                )}
            </Loaded>
        </Card>
    );
}

interface Counts {
    counts: { sessions: number; excluded_sessions: number };
}

// As Compare has them: of sessions, each counted once.
const shown = ['p50', 'p90', 'p99', 'janks', 'jank_ms', 'slow_sessions'];

function Figures({ id }: { id: string }) {
    const data = useGet<Report>(`/v1/report?build=${id}&tier=all&scene=`);
    const counts = useGet<Counts>('/v1/slices', { build: id }).value?.counts;
    const r = data.value;
    if (data.problem) return <Failed problem={data.problem} again={data.again} />;
    if (!r) return <Waiting rows={2} />;
    const figures = r.slices[0]?.figures ?? {};
    const unit = (name: string) => r.metrics.find((m) => m.name === name)?.unit;
    return (
        <div class="stats">
            <Stat name={t('Sessions')} value={num(counts?.sessions)} n={t('{n} excluded', { n: num(counts?.excluded_sessions) })} />
            {shown.map((name) => (
                <Stat
                    name={
                        <>
                            {metricName(name)} <Tip name={metricName(name)} text={metricSays(name)} />
                        </>
                    }
                    value={figure(figures[name]?.value)}
                    unit={unitName(unit(name))}
                    n={t('n {n}', { n: num(figures[name]?.n ?? 0) })}
                />
            ))}
        </div>
    );
}

export default function BuildPage({ id }: { id: string }) {
    const build = useGet<Build>(`/v1/builds/${id}`);
    if (build.problem) return <Failed page problem={build.problem} again={build.again} />;
    const b = build.value;
    if (!b) return <Waiting />;
    return (
        <>
            <Head title={`${b.version_name || t('unnamed')} (${b.version_code})`}>
                <Link class="button" href={url('/compare', { build: id })}>
                    {t('Compare')}
                </Link>
                <Link class="button" href={url('/sessions', { build: id })}>
                    {t('Sessions')}
                </Link>
            </Head>
            <div class="stack">
                <div class="chips">
                    <Chip name={t('Platform')}>{platformName(b.platform)}</Chip>
                    {b.package && <Chip name={t('Package')}>{b.package}</Chip>}
                    <Chip name={t('Build id')}>{b.build_uid || '–'}</Chip>
                    {b.git_commit && <Chip name={t('Commit')}>{b.git_commit}</Chip>}
                    <Chip name={t('Released')}>
                        <span data-volatile>{day(b.released_at)}</span>
                    </Chip>
                    {!b.registered && <Badge tone="warn">{t('not registered: never a baseline')}</Badge>}
                </div>
                <Figures id={id} />
                <CheckCard build={id} />
                <SymbolNeeds id={id} />
            </div>
        </>
    );
}
