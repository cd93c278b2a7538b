// Janks merged into families, ranked.
import { useGet, useList } from '../lib/api';
import { day, num, percent, span } from '../lib/format';
import { t } from '../lib/i18n';
import { Link, setQuery, url, useQuery } from '../lib/router';
import { causeName } from '../lib/terms';
import { tierChoices, type Tiers } from '../lib/tiers';
import type { Family, FamilyOf } from '../lib/families';
import { className, familyTitle, ticketState } from '../lib/families';
import { Badge, Card, Empty, Failed, Head, Meter, Select, Waiting } from '../ui/pieces';
import { BuildSelect } from '../ui/more';
import { Csv, ShowMore, Table, type Column } from '../ui/table';

export const familyColumns = (build: string | null): Column<Family>[] => [
    {
        key: 'title',
        label: t('Family'),
        cell: (f) => (
            <span>
                <Link class="mono break" href={url(`/janks/${f.id}`, { build })}>
                    {familyTitle(f.title)}
                </Link>
                <span class="row" style={{ gap: '.3rem', marginTop: '.1rem' }}>
                    {f.kind === 'crash' && <Badge tone="bad">{t('crash')}</Badge>}
                    {f.class !== 'in_app' && <Badge>{className(f.class)}</Badge>}
                    {f.ignored && <Badge>{t('ignored')}</Badge>}
                    {f.provisional && <Badge tone="warn">{t('symbols missing')}</Badge>}
                    {f.ticket && (
                        <a class="small" href={f.ticket.url} target="_blank" rel="noreferrer">
                            {t('ticket')} {f.ticket.id} ({ticketState(f.ticket.state)})
                        </a>
                    )}
                </span>
            </span>
        ),
        value: (f) => f.title,
    },
    {
        key: 'rate',
        label: t('Of sessions'),
        term: 'rate',
        right: true,
        cell: (f) => (
            <span class="nowrap">
                <Meter share={f.rate ?? 0} label={percent(f.rate)} /> {percent(f.rate)}
            </span>
        ),
        value: (f) => f.rate,
    },
    { key: 'sessions', label: t('Sessions'), right: true, cell: (f) => num(f.sessions), value: (f) => f.sessions },
    { key: 'installs', label: t('Installs'), right: true, cell: (f) => num(f.installs), value: (f) => f.installs },
    { key: 'events', label: t('Events'), right: true, cell: (f) => num(f.events), value: (f) => f.events },
    { key: 'time', label: t('Time in janks'), unit: 'ms', right: true, cell: (f) => (f.kind === 'crash' ? '–' : span(f.jank_ms * 1000)), value: (f) => f.jank_ms },
    { key: 'stacks', label: t('Stacks'), term: 'stacks', right: true, cell: (f) => num(f.stacks), value: (f) => f.stacks },
    { key: 'owner', label: t('Owner'), cell: (f) => f.owner ?? <span class="soft">–</span>, value: (f) => f.owner },
    {
        key: 'versions',
        label: t('Versions'),
        cell: (f) => (
            <span class="nowrap">
                {f.first_build?.version_name === f.last_build?.version_name ? f.last_build?.version_name : `${f.first_build?.version_name} – ${f.last_build?.version_name}`}
            </span>
        ),
        value: (f) => f.last_build?.version_name ?? '',
    },
    {
        key: 'last',
        label: t('Last seen'),
        cell: (f) => (
            <span class="nowrap" data-volatile>
                {day(f.last_day)}
            </span>
        ),
        value: (f) => f.last_day,
    },
];

const sorts = (): [string, string][] => [
    ['sessions', t('sessions affected')],
    ['installs', t('installs affected')],
    ['jank_ms', t('time in janks')],
    ['events', t('events')],
];
const causes = ['throttled', 'memory_pressure', 'thread_explosion', 'main_waiting', 'gpu_bound', 'cpu_bound', 'garbage_collection', 'unknown'];

export default function Janks() {
    const q = useQuery();
    const build = q.get('build');
    const query = Object.fromEntries(
        ['build', 'tier', 'scene', 'cause', 'model', 'os', 'kind', 'class', 'owner', 'ignored', 'below_rate', 'sort'].map((n) => [n, q.get(n)]),
    );
    const list = useList<Family>('/v1/families', { ...query, limit: 50 });
    const of = list.value as unknown as FamilyOf | null;
    const table = familyColumns(build);
    const tiers = useGet<Tiers>('/v1/tiers');
    return (
        <>
            <Head title={t('Janks')} says={t('Stacks of janks and crashes, merged into families by their first own frames. Work down the list.')}>
                <Link class="button" href={url('/janks/flame', { build })}>
                    {t('Flame graph')}
                </Link>
                <Link class="button" href="/rules">
                    {t('Rules')}
                </Link>
            </Head>
            <div class="stack">
                <form class="filters" onSubmit={(e) => e.preventDefault()} aria-label={t('Filters')}>
                    <BuildSelect name="build" label={t('Build')} any={t('all')} />
                    <Select
                        label={t('Tier')}
                        value={q.get('tier') ?? ''}
                        options={[['', t('all')], ...tierChoices(tiers.value, q.get('tier') ?? ''), ['0', t('untiered')]]}
                        onChange={(tier) => setQuery({ tier, cause: null, model: null, os: null })}
                    />
                    <Select
                        label={t('Cause')}
                        value={q.get('cause') ?? ''}
                        options={[['', t('all')], ...causes.map((c): [string, string] => [c, causeName(c)])]}
                        onChange={(cause) => setQuery({ cause, tier: null, scene: null, model: null, os: null })}
                    />
                    <label class="field">
                        {t('Scene')}
                        <input
                            size={14}
                            placeholder="battle/arena"
                            value={q.get('scene') ?? ''}
                            onChange={(e) => setQuery({ scene: e.currentTarget.value.trim(), cause: null, model: null, os: null })}
                        />
                    </label>
                    <Select
                        label={t('Kind')}
                        value={q.get('kind') ?? ''}
                        options={[['', t('janks and crashes')], ['jank', t('janks')], ['crash', t('crashes')]]}
                        onChange={(kind) => setQuery({ kind })}
                    />
                    <Select
                        label={t('Class')}
                        value={q.get('class') ?? ''}
                        options={[['', t('of the app')], ['system_only', className('system_only')], ['suspended', className('suspended')], ['mostly_unknown', className('mostly_unknown')], ['any', t('any')]]}
                        onChange={(value) => setQuery({ class: value })}
                    />
                    <Select label={t('Ranked by')} value={q.get('sort') ?? 'sessions'} options={sorts()} onChange={(sort) => setQuery({ sort: sort === 'sessions' ? null : sort, 'f.sort': null })} />
                    <label class="check">
                        <input type="checkbox" checked={q.get('below_rate') === '1'} onChange={(e) => setQuery({ below_rate: e.currentTarget.checked })} />
                        {t('rare ones too')}
                    </label>
                    <label class="check">
                        <input type="checkbox" checked={q.get('ignored') === '1'} onChange={(e) => setQuery({ ignored: e.currentTarget.checked })} />
                        {t('ignored ones too')}
                    </label>
                </form>
                <Card
                    flush
                    title={t('Families')}
                    note={
                        of && (
                            <>
                                {t('of {n} {n|session|sessions}, {installs} {installs|install|installs}', { n: num(of.sessions), installs: num(of.installs) })}
                                {of.pending && ` · ${t('counting goes on')}`}
                            </>
                        )
                    }
                    tools={list.items?.length ? <Csv name="families" columns={table} rows={list.items} /> : undefined}
                >
                    {list.problem ? (
                        <Failed problem={list.problem} again={list.again} />
                    ) : !list.items ? (
                        <Waiting rows={8} />
                    ) : list.items.length ? (
                        <>
                            <Table id="f" caption={t('Families')} columns={table} rows={list.items} href={(f) => url(`/janks/${f.id}`, { build })} few={(f) => f.sessions < 3} />
                            <ShowMore list={list} />
                        </>
                    ) : (
                        <Empty title={t('No family')}>
                            <p>{of?.pending ? t('Sessions were just analysed; their stacks are being counted.') : t('No session of this choice has a jank with a stack, or all of them are rare.')}</p>
                        </Empty>
                    )}
                </Card>
            </div>
        </>
    );
}
