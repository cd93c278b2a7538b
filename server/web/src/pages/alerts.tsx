// Alerts, open and past, and the channels they go to.
import { useState } from 'preact/hooks';
import { Problem, send, useGet, useList, type Page } from '../lib/api';
import { levelOf, stateOf, type Alert, type Channel } from '../lib/alerts';
import { ago, change, num, when } from '../lib/format';
import { t } from '../lib/i18n';
import { isAdmin } from '../lib/login';
import { metricName } from '../lib/report';
import { Link, setQuery, useQuery } from '../lib/router';
import { Badge, Card, Empty, Failed, Head, Loaded, Toggle, Waiting } from '../ui/pieces';
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
                    {a.tier_name}
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
    { key: 'n', label: t('Sessions'), right: true, cell: (a) => num(a.sessions), value: (a) => a.sessions },
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

function Channels() {
    const data = useGet<Page<Channel>>(isAdmin() ? '/v1/channels' : null, { limit: 100 });
    const [says, setSays] = useState<Record<number, string>>({});
    if (!isAdmin())
        return (
            <Card title={t('Channels')}>
                <Failed problem={new Problem(403, 'forbidden', '')} />
            </Card>
        );
    const test = async (c: Channel) => {
        setSays({ ...says, [c.id]: t('sending…') });
        try {
            await send('POST', `/v1/channels/${c.id}/test`);
            setSays({ ...says, [c.id]: t('queued: see the log below') });
        } catch (e) {
            setSays({ ...says, [c.id]: (e as Error).message });
        }
    };
    const list: Column<Channel>[] = [
        { key: 'name', label: t('Channel'), cell: (c) => c.name, value: (c) => c.name },
        { key: 'kind', label: t('Kind'), cell: (c) => c.kind, value: (c) => c.kind },
        { key: 'takes', label: t('Takes'), cell: (c) => (c.takes === 'alert' ? t('alerts and reports') : t('tickets')), value: (c) => c.takes },
        { key: 'target', label: t('To'), cell: (c) => <code class="break">{c.target}</code>, value: (c) => c.target },
        {
            key: 'state',
            label: t('State'),
            cell: (c) => (
                <span class="row" style={{ gap: '.3rem' }}>
                    {c.enabled ? <Badge tone="good">{t('on')}</Badge> : <Badge>{t('off')}</Badge>}
                    {c.dead > 0 && <Badge tone="bad">{t('{n} given up', { n: c.dead })}</Badge>}
                    {c.pending > 0 && <Badge>{t('{n} waiting', { n: c.pending })}</Badge>}
                </span>
            ),
        },
        {
            key: 'test',
            label: t('Test'),
            cell: (c) => (
                <span class="row">
                    <button type="button" onClick={() => void test(c)}>
                        {t('Send a test')}
                    </button>
                    {says[c.id] && (
                        <span class="small soft" role="status">
                            {says[c.id]}
                        </span>
                    )}
                </span>
            ),
        },
    ];
    return (
        <Card flush title={t('Channels')} note={t('framewatch channels makes and changes them')}>
            <Loaded data={data}>
                {(v) =>
                    v.items.length ? (
                        <Table id="c" caption={t('Channels')} columns={list} rows={v.items} />
                    ) : (
                        <Empty title={t('No channel yet')}>
                            <p>{t('Alerts are only shown here until there is one: Slack, Feishu, DingTalk, WeCom, Alertmanager or a webhook.')}</p>
                        </Empty>
                    )
                }
            </Loaded>
        </Card>
    );
}

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
                <div class="grid2">
                    <Channels />
                    <Thresholds />
                </div>
                <Deliveries title={t('Delivery log')} />
            </div>
        </>
    );
}
