// Alerts, open and past, and the channels they go to.
import { useList } from '../lib/api';
import { levelOf, stateOf, type Alert } from '../lib/alerts';
import { ago, change, num, when } from '../lib/format';
import { t } from '../lib/i18n';
import { metricName } from '../lib/report';
import { Link, setQuery, useQuery } from '../lib/router';
import { tierLabel } from '../lib/terms';
import { Badge, Card, Empty, Failed, Head, Toggle, Waiting } from '../ui/pieces';
import { Channels } from '../ui/channels';
import { buildName, BuildSelect, useBuilds } from '../ui/more';
import { Thresholds } from '../ui/thresholds';
import { Deliveries } from '../ui/deliveries';
import { Csv, ShowMore, Table, type Column } from '../ui/table';

const columns = (name: (id: number) => string): Column<Alert>[] => [
    {
        key: 'what',
        label: t('What'),
        cell: (a) => (
            <span>
                <Link href={`/alerts/${a.id}`}>{metricName(a.metric)}</Link>
                <span class="soft small">
                    {' '}
                    {tierLabel(a.tier_name)}
                    {a.scene ? `, ${a.scene}` : ''}
                </span>
            </span>
        ),
        value: (a) => a.metric,
    },
    {
        key: 'state',
        label: t('State'),
        cell: (a) => {
            const [tone, text] = a.state === 'quiet' ? levelOf(a.level) : stateOf(a.state);
            return <Badge tone={tone}>{text}</Badge>;
        },
        value: (a) => a.state,
    },
    {
        key: 'change',
        label: t('Change'),
        term: 'interval',
        right: true,
        full: true,
        cell: (a) => (
            <span>
                <b>{change(a.change)}</b>{' '}
                <span class="soft small">
                    {change(a.low)} … {change(a.high)}
                </span>
            </span>
        ),
        value: (a) => a.change,
    },
    {
        key: 'n',
        label: t('Compared sessions'),
        term: 'compared',
        right: true,
        cell: (a) => <span class="nowrap">{`${num(a.evidence.sessions ?? a.sessions)} / ${num(a.evidence.baseline_sessions)}`}</span>,
        value: (a) => a.evidence.sessions ?? a.sessions,
    },
    { key: 'build', label: t('Build'), full: true, cell: (a) => `${name(a.build_id)} ${t('against')} ${name(a.baseline_id)}`, value: (a) => name(a.build_id) },
    {
        key: 'opened',
        label: t('Opened'),
        cell: (a) => (
            <span class="nowrap" title={when(a.opened_at)} data-volatile>
                {ago(a.opened_at)}
            </span>
        ),
        value: (a) => a.opened_at,
    },
];

export default function Alerts() {
    const q = useQuery();
    const builds = useBuilds();
    const name = (id: number) => {
        const b = builds.value?.items.find((x) => x.id === id);
        return b ? buildName(b) : `#${id}`;
    };
    const state = q.get('state') ?? 'live';
    const list = useList<Alert>('/v1/alerts', { state: state === 'all' ? null : state, build: q.get('build'), watch: q.get('watch') === '1' ? 'true' : null, limit: 50 });
    const table = columns(name);
    return (
        <>
            <Head title={t('Alerts')} says={t('What became surely worse in a build, on one tier, by more than its threshold. One alert a build, tier, scene and metric.')} />
            <div class="stack">
                <div class="filters">
                    <Toggle
                        label={t('State')}
                        value={state}
                        options={[
                            ['live', t('live')],
                            ['silenced', t('silenced')],
                            ['resolved', t('resolved')],
                            ['all', t('all')],
                        ]}
                        onChange={(s) => setQuery({ state: s === 'live' ? null : s })}
                    />
                    <BuildSelect name="build" label={t('Build')} any={t('all')} />
                    <label class="check">
                        <input type="checkbox" checked={q.get('watch') === '1'} onChange={(e) => setQuery({ watch: e.currentTarget.checked, state: e.currentTarget.checked ? 'all' : null })} />
                        {t('warnings and improvements too')}
                    </label>
                </div>
                <Card flush title={t('Alerts')} tools={list.items?.length ? <Csv name="alerts" columns={table} rows={list.items} /> : undefined}>
                    {list.problem ? (
                        <Failed problem={list.problem} again={list.again} />
                    ) : !list.items ? (
                        <Waiting />
                    ) : list.items.length ? (
                        <>
                            <Table id="a" caption={t('Alerts')} columns={table} rows={list.items} href={(a) => `/alerts/${a.id}`} />
                            <ShowMore list={list} />
                        </>
                    ) : (
                        <Empty title={state === 'live' ? t('Nothing is alarming') : t('None')}>
                            <p>{t('A first look at a tier takes 50 sessions of 30 installs; nothing is judged before.')}</p>
                        </Empty>
                    )}
                </Card>
                <Channels />
                <Thresholds />
                <Deliveries title={t('Delivery log')} />
            </div>
        </>
    );
}
