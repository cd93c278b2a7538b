// One alert: what it rests on, what explains it, who was told, and what may be done about it.
import { useState } from 'preact/hooks';
import { send, useGet } from '../lib/api';
import { levelOf, stateOf, type Alert } from '../lib/alerts';
import { familyTitle } from '../lib/families';
import { change, num, when } from '../lib/format';
import { t } from '../lib/i18n';
import { isAdmin } from '../lib/login';
import { figure, metricName, metricSays, unitName } from '../lib/report';
import { Link, url } from '../lib/router';
import { tierLabel } from '../lib/terms';
import { Badge, Card, Empty, Failed, Stat, Tip, Waiting } from '../ui/pieces';
import { buildName, useBuilds, Whisker } from '../ui/more';
import { Deliveries } from '../ui/deliveries';
import { Csv, Table, type Column } from '../ui/table';

function Actions({ a, done }: { a: Alert; done: () => void }) {
    const [note, setNote] = useState('');
    const [days, setDays] = useState(3);
    const [says, setSays] = useState('');
    const over = a.state === 'resolved' || a.state === 'quiet';
    if (!isAdmin()) return <p class="soft small">{t('Acknowledging and silencing need a key of role admin.')}</p>;
    if (over) return <p class="soft">{t('It is over; there is nothing to do.')}</p>;
    const act = async (what: string, body: object) => {
        setSays('');
        try {
            await send('POST', `/v1/alerts/${a.id}/${what}`, body);
            setNote('');
            done();
        } catch (e) {
            setSays((e as Error).message);
        }
    };
    return (
        <div class="stack" style={{ gap: '.6rem' }}>
            <label class="field">
                {t('Note')}
                <input value={note} maxLength={500} placeholder={t('who looks at it, since when')} onInput={(e) => setNote(e.currentTarget.value)} />
            </label>
            <div class="row">
                <button type="button" class="primary" disabled={a.state === 'acknowledged'} onClick={() => void act('acknowledge', { note })}>
                    {t('Acknowledge')}
                </button>
                <span class="row">
                    <button type="button" onClick={() => void act('silence', { note, days })}>
                        {t('Silence for')}
                    </button>
                    <input type="number" min="1" max="90" style={{ width: '4.5rem' }} aria-label={t('Days')} value={days} onInput={(e) => setDays(Number(e.currentTarget.value))} />
                    {t('days')}
                </span>
                {a.state === 'silenced' && (
                    <button type="button" onClick={() => void act('silence', { note, days: 0 })}>
                        {t('Speak again')}
                    </button>
                )}
            </div>
            {says && (
                <p class="error-text" role="alert">
                    {says}
                </p>
            )}
        </div>
    );
}

// Who acknowledged and who silenced is one member of the answer: the state tells which it was, while it lasts.
function LastWord({ a }: { a: Alert }) {
    if (!a.acknowledged_by) return null;
    const key = { key: a.acknowledged_by };
    return (
        <p>
            {a.state === 'acknowledged' ? t('Acknowledged with key {key}…', key) : a.state === 'silenced' ? t('Silenced with key {key}…', key) : t('Somebody last saw to it with key {key}…', key)} {a.note}
        </p>
    );
}

type Look = NonNullable<Alert['evidence']['scenes']>[number];
type Family = NonNullable<Alert['evidence']['families']>[number];

export default function AlertPage({ id }: { id: string }) {
    const data = useGet<Alert>(`/v1/alerts/${id}`);
    const builds = useBuilds();
    if (data.problem) return <Failed page problem={data.problem} again={data.again} />;
    const a = data.value;
    if (!a) return <Waiting rows={6} />;
    const e = a.evidence;
    const name = (of: number) => {
        const b = builds.value?.items.find((x) => x.id === of);
        return b ? buildName(b) : `#${of}`;
    };
    const [tone, state] = a.state === 'quiet' ? levelOf(a.level) : stateOf(a.state);
    const looks = [...(e.scenes ?? [])];
    const scale = Math.max(0.05, ...looks.flatMap((l) => [Math.abs(l.low ?? 0), Math.abs(l.high ?? 0)]).filter((v) => v < 3));
    const lookColumns: Column<Look>[] = [
        {
            key: 'where',
            label: t('Scene'),
            cell: (l) => <Link href={url('/compare', { build: a.build_id, baseline: a.baseline_id, metric: l.metric, tier: a.tier, scene: l.scene })}>{l.scene || t('whole sessions')}</Link>,
            value: (l) => l.scene,
        },
        { key: 'change', label: t('Change'), right: true, cell: (l) => <b>{change(l.change)}</b>, value: (l) => l.change },
        {
            key: 'range',
            full: true,
            label: t('Interval'),
            term: 'interval',
            cell: (l) => (l.change === null || l.low === null || l.high === null ? '–' : <Whisker low={l.low} mid={l.change} high={l.high} scale={scale} />),
        },
        { key: 'low', label: t('between'), right: true, cell: (l) => change(l.low), value: (l) => l.low },
        { key: 'high', label: t('and'), right: true, cell: (l) => change(l.high), value: (l) => l.high },
    ];
    const familyColumns: Column<Family>[] = [
        { key: 'title', label: t('Family'), cell: (f) => <Link class="mono break" href={url(`/janks/${f.family}`, { build: a.build_id })}>{familyTitle(f.title)}</Link>, value: (f) => f.title },
        { key: 'now', label: t('A session'), term: 'perSession', right: true, cell: (f) => figure(f.per_session), value: (f) => f.per_session },
        { key: 'was', label: t('Before'), term: 'perSessionBefore', right: true, cell: (f) => figure(f.baseline_per_session), value: (f) => f.baseline_per_session },
        { key: 'owner', label: t('Owner'), cell: (f) => f.owner || '–', value: (f) => f.owner },
    ];
    return (
        <>
            <div class="head">
                <div>
                    <h1>{`${metricName(a.metric)}: ${change(a.change)}`}</h1>
                    <p>{`${tierLabel(a.tier_name)}${a.scene ? `, ${a.scene}` : ''} · ${name(a.build_id)} ${t('against')} ${name(a.baseline_id)}`}</p>
                </div>
                <div class="row">
                    <Badge tone={tone}>{state}</Badge>
                    <Link class="button" href={url('/compare', { build: a.build_id, baseline: a.baseline_id, metric: a.metric, tier: a.tier, scene: a.scene })}>
                        {t('Compare')}
                    </Link>
                </div>
            </div>
            <div class="stack">
                <div class="stats">
                    <Stat term="interval" name={t('Change')} value={change(a.change)} n={`${change(a.low)} … ${change(a.high)}`} tone={(a.change ?? 0) > 0 ? 'bad' : ''} />
                    <Stat
                        name={
                            <>
                                {t('This build')} <Tip name={metricName(a.metric)} text={metricSays(a.metric)} />
                            </>
                        }
                        value={figure(e.value)}
                        unit={unitName(e.unit)}
                        n={t('baseline {value}', { value: figure(e.baseline) })}
                    />
                    <Stat term="compared" value={num(e.sessions)} n={t('{n} of the baseline', { n: num(e.baseline_sessions) })} />
                    <Stat term="players" value={num(e.installs)} />
                    <Stat term="mix" value={change(e.mix)} />
                    <Stat term="theta" value={change(e.theta, 0)} n={e.pairs ? t('{n} {n|install|installs} with both builds: {change}', { n: num(e.pairs.installs), change: change(e.pairs.change) }) : undefined} />
                </div>
                <div class="grid2">
                    <Card title={t('What to do')}>
                        <div class="stack" style={{ gap: '.7rem' }}>
                            <LastWord a={a} />
                            {a.state === 'silenced' && a.silenced_until && <p data-volatile>{t('Silenced until {when}.', { when: when(a.silenced_until) })}</p>}
                            <Actions a={a} done={data.again} />
                            <p class="small soft" data-volatile>
                                {a.opened_at && t('Opened {when}', { when: when(a.opened_at) })}
                                {a.resolved_at && ` · ${t('resolved {when}', { when: when(a.resolved_at) })}`}
                                {a.looked_at && ` · ${t('looked at {when}', { when: when(a.looked_at) })}`}
                            </p>
                        </div>
                    </Card>
                    <Card flush title={t('In its scenes, the worst first')} tools={looks.length ? <Csv name={`alert-${id}-scenes`} columns={lookColumns} rows={looks} /> : undefined}>
                        {looks.length ? <Table id="l" caption={t('In its scenes, the worst first')} columns={lookColumns} rows={looks} sortable={false} /> : <Empty title={t('It is one scene alone')} />}
                    </Card>
                </div>
                <Card
                    flush
                    title={t('Families whose rate moved')}
                    tools={e.families?.length ? <Csv name={`alert-${id}-families`} columns={familyColumns} rows={e.families} /> : undefined}
                >
                    {e.families?.length ? (
                        <Table id="af" caption={t('Families whose rate moved')} columns={familyColumns} rows={e.families} />
                    ) : (
                        <Empty title={t('No family explains it')}>
                            <p>{t('Frames became slower without more janks with a stack, or their stacks are not counted yet.')}</p>
                        </Empty>
                    )}
                </Card>
                <Deliveries subject={id} title={t('Who was told')} />
            </div>
        </>
    );
}
