// Whether what the figures rest on is sound: what was refused, what waits, how the server does.
import { useEffect, useState } from 'preact/hooks';
import { ask, Problem, send, useGet, type Page } from '../lib/api';
import { ago, bytes, num, when } from '../lib/format';
import { t } from '../lib/i18n';
import { isAdmin } from '../lib/login';
import { readMetrics, total, within, type Sample } from '../lib/prometheus';
import { reasonName, refusalName, sourceName } from '../lib/reasons';
import { Link } from '../lib/router';
import { Badge, Card, Empty, Head, Loaded, Stat, Waiting } from '../ui/pieces';
import { CheckCard } from '../ui/check';
import { Csv, Table, type Column } from '../ui/table';

interface Reason {
    source: string;
    reason: string;
    count: number;
    things: number;
    last_at: string;
    recent: { ref: string; count: number; detail: string; at: string }[] | null;
}
interface Job {
    id: number;
    kind: string;
    ref: string;
    state: string;
    attempts: number;
    last_error: string;
    run_after: string;
    created_at: string;
}

const reasonColumns = (): Column<Reason>[] => [
    { key: 'reason', label: t('Reason'), cell: (r) => reasonName(r.reason), value: (r) => r.reason },
    { key: 'source', label: t('Where'), cell: (r) => sourceName(r.source), value: (r) => r.source },
    { key: 'count', label: t('Values'), right: true, cell: (r) => num(r.count), value: (r) => r.count },
    { key: 'things', label: t('Sessions or uploads'), right: true, cell: (r) => num(r.things), value: (r) => r.things },
    {
        key: 'last',
        label: t('Latest'),
        cell: (r) => (
            <time title={when(r.last_at)} dateTime={r.last_at} class="nowrap" data-volatile>
                {ago(r.last_at)}
            </time>
        ),
        value: (r) => r.last_at,
    },
    {
        key: 'recent',
        label: t('For example'),
        cell: (r) => {
            const first = r.recent?.[0];
            if (!first) return '–';
            return r.source === 'session' ? (
                <Link class="mono" href={`/sessions/${first.ref}`}>
                    {first.ref.slice(0, 12)}…
                </Link>
            ) : (
                <span class="break small" lang="en">
                    {first.detail || first.ref.slice(0, 12)}
                </span>
            );
        },
    },
];

function Quarantine() {
    const data = useGet<Page<Reason>>('/v1/quarantine', { recent: 1 });
    const table = reasonColumns();
    return (
        <Card flush title={t('Quarantine')} tools={data.value?.items.length ? <Csv name="quarantine" columns={table} rows={data.value.items} /> : undefined}>
            <Loaded data={data}>
                {(v) =>
                    v.items.length ? (
                        <Table id="r" caption={t('Quarantine')} columns={table} rows={v.items} />
                    ) : (
                        <Empty title={t('Nothing was refused or out of bounds')} />
                    )
                }
            </Loaded>
        </Card>
    );
}

function Ingest() {
    const [all, setAll] = useState<Sample[] | null>(null);
    const [problem, setProblem] = useState<Problem | null>(null);
    useEffect(() => {
        ask('/metrics')
            .then((a) => a.text())
            .then((text) => setAll(readMetrics(text)), setProblem);
    }, []);
    if (problem)
        return (
            <Empty title={t('The server’s own figures are kept from here')}>
                <p>{t('A proxy in front of it may keep /metrics to itself.')}</p>
            </Empty>
        );
    if (!all) return <Waiting rows={2} />;
    const refused = all.filter((s) => s.name === 'framewatch_http_refused_total' && s.value > 0);
    const p99 = within(all, 'commit_seconds', 0.99);
    const ready = all.filter((s) => s.name === 'framewatch_jobs' && s.labels.state === 'ready').reduce((n, s) => n + s.value, 0);
    const dead = all.filter((s) => s.name === 'framewatch_jobs' && s.labels.state === 'dead').reduce((n, s) => n + s.value, 0);
    return (
        <div class="stack" data-volatile>
            <div class="stats">
                <Stat name={t('Uploads completed')} value={num(total(all, 'uploads_completed_total'))} n={bytes(total(all, 'upload_bytes_total'))} />
                <Stat name={t('Uploads open')} value={num(total(all, 'uploads_open'))} n={bytes(total(all, 'uploads_open_bytes'))} />
                <Stat name={t('Commit, P99 within')} value={p99 === null ? '–' : num(p99 * 1000, p99 < 0.01 ? 1 : 0)} unit="ms" />
                <Stat name={t('Jobs waiting')} value={num(ready)} />
                <Stat name={t('Jobs for a person')} value={num(dead)} tone={dead ? 'bad' : ''} />
                <Stat name={t('Connections')} value={num(total(all, 'http_connections'))} />
            </div>
            {refused.length > 0 && (
                <p class="small soft">
                    {t('Requests refused since the start:')} {refused.map((s) => `${refusalName(s.labels.reason)} ${num(s.value)}`).join(', ')}
                </p>
            )}
            <p class="small soft">{t('Of the server process that answered, since it began. Prometheus gathers all of them from /metrics.')}</p>
        </div>
    );
}

function Jobs() {
    const data = useGet<Page<Job>>(isAdmin() ? '/v1/jobs' : null, { state: 'dead', limit: 50 });
    const [busy, setBusy] = useState(0);
    if (!isAdmin()) return null;
    const retry = async (id: number) => {
        setBusy(id);
        await send('POST', `/v1/jobs/${id}/retry`).catch(() => null);
        setBusy(0);
        data.again();
    };
    const columns: Column<Job>[] = [
        { key: 'kind', label: t('Job'), cell: (j) => <code>{j.kind}</code>, value: (j) => j.kind },
        { key: 'error', label: t('What went wrong'), cell: (j) => <span class="break" lang="en">{j.last_error}</span>, value: (j) => j.last_error },
        { key: 'attempts', label: t('Tries'), right: true, cell: (j) => j.attempts, value: (j) => j.attempts },
        { key: 'ref', label: t('Of'), cell: (j) => <code>{j.ref.slice(0, 12)}</code>, value: (j) => j.ref },
        {
            key: 'do',
            label: '',
            cell: (j) => (
                <button type="button" disabled={busy === j.id} onClick={() => void retry(j.id)}>
                    {t('Try again')}
                </button>
            ),
        },
    ];
    return (
        <Card flush title={t('Jobs that wait for a person')} tools={data.value?.items.length ? <Csv name="jobs" columns={columns} rows={data.value.items} /> : undefined}>
            <Loaded data={data}>
                {(v) =>
                    v.items.length ? (
                        <Table id="jobs" caption={t('Jobs that wait for a person')} columns={columns} rows={v.items} />
                    ) : (
                        <Empty title={t('None')}>
                            <p>{t('Every job ran, or will be tried again by itself.')}</p>
                        </Empty>
                    )
                }
            </Loaded>
        </Card>
    );
}

export default function Health() {
    return (
        <>
            <Head title={t('Health')} says={t('Whether the data is whole and the server keeps up.')}>
                <Badge>{isAdmin() ? t('Role admin') : t('Role read')}</Badge>
            </Head>
            <div class="stack">
                <CheckCard />
                <Card title={t('Ingest')}>
                    <Ingest />
                </Card>
                <Quarantine />
                <Jobs />
            </div>
        </>
    );
}
