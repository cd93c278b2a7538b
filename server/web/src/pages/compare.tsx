// A build against its baseline: what changed, on which tier, in which scene, and how sure that is.
import { useEffect } from 'preact/hooks';
import { useGet } from '../lib/api';
import { change, day, num, percent } from '../lib/format';
import { t } from '../lib/i18n';
import { Link, setQuery, url, useQuery } from '../lib/router';
import { compared, figure, judge, metricName, metricSays, sliceTier, unitName, watched, worst, type Figure, type Report, type Slice } from '../lib/report';
import { Badge, Card, Empty, Failed, Head, Meter, Select, Tip, Waiting } from '../ui/pieces';
import { BuildSelect, useBuilds, Whisker } from '../ui/more';
import { SceneCsv, SceneMatrix } from '../ui/matrix';
import { FlameCard } from '../ui/flame';
import { Csv, Table, type Column } from '../ui/table';
import { Adoption } from '../ui/adoption';

const wide = (figures: (Figure | undefined)[]) =>
    Math.min(0.6, Math.max(0.02, ...figures.flatMap((f) => (f && judge(f) !== 'unknown' ? [Math.abs(f.low!), Math.abs(f.high!)] : []))) * 1.05);

function Change({ f, scale }: { f: Figure | undefined; scale: number }) {
    if (!f || judge(f) === 'unknown') return <span class="soft small">{t('too little data')}</span>;
    return (
        <span class="row nowrap" style={{ flexWrap: 'nowrap', gap: '.6rem' }}>
            <b class="num" style={{ minWidth: '4.6rem', textAlign: 'right', color: judge(f) === 'worse' ? 'var(--bad)' : judge(f) === 'better' ? 'var(--good)' : 'inherit' }}>
                {change(f.change)}
            </b>
            <Whisker low={f.low!} mid={f.change!} high={f.high!} scale={scale} />
        </span>
    );
}

const figureColumns = <T,>(of: (row: T) => Figure | undefined, scale: number): Column<T>[] => [
    { key: 'base', label: t('Baseline'), right: true, cell: (r) => figure(of(r)?.baseline), value: (r) => of(r)?.baseline },
    { key: 'value', label: t('This build'), right: true, cell: (r) => figure(of(r)?.value), value: (r) => of(r)?.value },
    { key: 'change', label: t('Change'), term: 'interval', full: true, cell: (r) => <Change f={of(r)} scale={scale} />, value: (r) => of(r)?.change },
    { key: 'low', label: t('between'), right: true, cell: (r) => change(of(r)?.low), value: (r) => of(r)?.low },
    { key: 'high', label: t('and'), right: true, cell: (r) => change(of(r)?.high), value: (r) => of(r)?.high },
    { key: 'mix', label: t('Mix removed'), term: 'mix', right: true, cell: (r) => change(of(r)?.mix), value: (r) => of(r)?.mix },
    {
        key: 'n',
        label: t('Compared sessions'),
        term: 'compared',
        right: true,
        cell: (r) => <span class="nowrap">{compared(of(r)).map((n) => num(n)).join(' / ')}</span>,
        value: (r) => compared(of(r))[0],
    },
];

function ByTier({ r, metric }: { r: Report; metric: string }) {
    const rows = r.slices.filter((s) => s.scene === '').sort((a, b) => (a.tier === null ? 99 : a.tier || 98) - (b.tier === null ? 99 : b.tier || 98));
    const scale = wide(rows.map((s) => s.figures[metric]));
    const unit = r.metrics.find((m) => m.name === metric)?.unit ?? '';
    const columns: Column<Slice>[] = [
        {
            key: 'tier',
            label: t('Tier'),
            term: 'tier',
            cell: (s) => (
                <span class="nowrap">
                    {sliceTier(s)}
                    {s.tier === null && <> <Tip text={t('Never judged alone: who updates first shifts the mix of devices, and that moves it by itself.')} /></>}
                </span>
            ),
            value: (s) => s.tier_name,
        },
        ...figureColumns<Slice>((s) => s.figures[metric], scale),
        {
            key: 'adoption',
            label: t('Adoption'),
            term: 'adoption',
            right: true,
            cell: (s) => {
                const all = s.installs + (s.baseline_installs ?? 0);
                return (
                    <span class="nowrap">
                        <Meter share={all ? s.installs / all : 0} label={percent(all ? s.installs / all : 0)} /> {num(s.installs)}
                    </span>
                );
            },
            value: (s) => s.installs,
        },
    ];
    return (
        <Card
            flush
            title={
                <>
                    {t('{metric} by tier', { metric: metricName(metric) })} <Tip name={metricName(metric)} text={metricSays(metric)} />
                </>
            }
            note={unitName(unit)}
            tools={<Csv name={`compare-${metric}`} columns={columns} rows={rows} />}
        >
            <Table id="t" caption={t('By tier')} columns={columns} rows={rows} sortable={false} few={(s) => judge(s.figures[metric]) === 'unknown'} />
        </Card>
    );
}

function AllMetrics({ r }: { r: Report }) {
    const q = useQuery();
    const tier = q.get('tier') ?? 'all';
    const scene = q.get('scene') ?? '';
    const slice = r.slices.find((s) => s.scene === scene && String(s.tier ?? 'all') === tier) ?? r.slices.find((s) => s.scene === '' && s.tier === null);
    const rows = slice ? r.metrics.filter((m) => slice.figures[m.name]) : [];
    const scale = wide(rows.map((m) => slice?.figures[m.name]));
    const columns: Column<Report['metrics'][number]>[] = [
        { key: 'metric', label: t('Metric'), cell: (m) => (<span>{metricName(m.name)} <span class="soft small">{unitName(m.unit)}</span> <Tip name={metricName(m.name)} text={metricSays(m.name)} /></span>), value: (m) => m.name },
        ...figureColumns<Report['metrics'][number]>((m) => slice?.figures[m.name], scale),
    ];
    const tiers = [...new Set(r.slices.map((s) => s.tier))];
    const scenes = [...new Set(r.slices.map((s) => s.scene))];
    return (
        <Card
            flush
            id="metrics"
            title={t('All metrics')}
            tools={
                <>
                    <select aria-label={t('Tier')} value={tier} onChange={(e) => setQuery({ tier: e.currentTarget.value === 'all' ? null : e.currentTarget.value })}>
                        {tiers.map((v) => (
                            <option value={String(v ?? 'all')}>{sliceTier(r.slices.find((s) => s.tier === v)!)}</option>
                        ))}
                    </select>
                    <select aria-label={t('Scene')} value={scene} onChange={(e) => setQuery({ scene: e.currentTarget.value })}>
                        {scenes.map((v) => (
                            <option value={v}>{v || t('whole sessions')}</option>
                        ))}
                    </select>
                    <Csv name="metrics" columns={columns} rows={rows} />
                </>
            }
        >
            <Table id="m" caption={t('All metrics')} columns={columns} rows={rows} sortable={false} few={(m) => judge(slice?.figures[m.name]) === 'unknown'} />
        </Card>
    );
}

function Summary({ r }: { r: Report }) {
    if (!r.baseline)
        return (
            <Card>
                <Empty title={t('Nothing to compare with')}>
                    <p>{t('A baseline is the registered build before this one on the same platform. Choose one above, or register builds in CI.')}</p>
                </Empty>
            </Card>
        );
    const bad = worst(r);
    const good = worst(r, 'better');
    const all = watched(r).length;
    const line = (w: (typeof bad)[number]) => (
        <li>
            <Link href={url('/compare', { build: r.build.id, baseline: r.baseline!.id, metric: w.metric, tier: w.slice.tier, scene: w.slice.scene })}>
                {`${metricName(w.metric)}, ${sliceTier(w.slice)}${w.slice.scene ? `, ${w.slice.scene}` : ''}`}
            </Link>
            : <b>{change(w.figure.change)}</b> <span class="soft">{t('between {low} and {high}; {n} sessions against {base}', { low: change(w.figure.low), high: change(w.figure.high), n: num(compared(w.figure)[0]), base: num(compared(w.figure)[1]) })}</span>
        </li>
    );
    return (
        <Card
            title={
                bad.length ? (
                    <span>
                        <Badge tone="bad">{t('worse')}</Badge> {t('{n} of {all} watched figures are worse, with 95 % each', { n: num(bad.length), all: num(all) })} <Tip term="chance" />
                    </span>
                ) : (
                    <span>
                        <Badge tone="good">{t('nothing worse')}</Badge> {t('None of {all} watched figures is worse with 95 %', { all: num(all) })} <Tip term="chance" />
                    </span>
                )
            }
            note={r.expectation ? t('against the expectation frozen {when} from {n} sessions', { when: day(r.expectation.frozen_at), n: num(r.expectation.sessions) }) : t('no frozen expectation: figures stand side by side, changes are not judged')}
        >
            {bad.length > 0 && <ul id="worse" style={{ margin: 0, paddingLeft: '1.2rem' }}>{bad.map(line)}</ul>}
            {good.length > 0 && (
                <details style={{ marginTop: '.5rem' }}>
                    <summary class="soft">{t('{n} are better, with 95 % each', { n: num(good.length) })}</summary>
                    <ul style={{ margin: '.3rem 0 0', paddingLeft: '1.2rem' }}>{good.map(line)}</ul>
                </details>
            )}
        </Card>
    );
}

export const metricOptions = (r: Report): [string, string][] => r.metrics.filter((m) => r.slices.some((s) => s.figures[m.name])).map((m) => [m.name, metricName(m.name)]);

// The newest registered build stands in until one is chosen.
export function useChosenBuild(): string | null {
    const q = useQuery();
    const builds = useBuilds();
    const first = builds.value?.items.find((b) => b.registered) ?? builds.value?.items[0];
    return q.get('build') ?? (first ? String(first.id) : null);
}

export default function Compare() {
    const q = useQuery();
    const build = useChosenBuild();
    const builds = useBuilds();
    const baseline = q.get('baseline');
    const report = useGet<Report>(build ? '/v1/report' : null, { build, baseline });
    const metric = q.get('metric') ?? 'p90';
    const r = report.value;

    useEffect(() => {
        if (q.get('tier') && q.get('metric') && r) document.getElementById('metrics')?.scrollIntoView({ block: 'nearest' });
    }, [r !== null]);
    return (
        <>
            <Head
                title={r ? `${r.build.version_name}${r.baseline ? ` ${t('against')} ${r.baseline.version_name}` : ''}` : t('Compare')}
                says={t('Each session is compared with what its own device, or its own player, showed before. The mix of devices is taken out.')}
            >
                {r && (
                    <>
                        <a class="button no-print" href={url('/v1/report', { build, baseline, format: 'html' })} target="_blank" rel="noreferrer">
                            {t('Report to print')}
                        </a>
                        <a class="button no-print" href={url('/v1/report', { build, baseline, format: 'csv' })} download={`report-${build}.csv`}>
                            CSV
                        </a>
                    </>
                )}
            </Head>
            <div class="stack">
                <div class="filters no-print">
                    <BuildSelect name="build" label={t('Build')} value={build ?? ''} />
                    <BuildSelect name="baseline" label={t('Baseline')} any={t('the build before it')} />
                    <Select label={t('Metric')} value={metric} options={r ? metricOptions(r) : [[metric, metricName(metric)]]} onChange={(m) => setQuery({ metric: m === 'p90' ? null : m })} />
                </div>
                {builds.value && !builds.value.items.length ? (
                    <Card>
                        <Empty title={t('No build yet')} />
                    </Card>
                ) : report.problem ? (
                    <Card>
                        <Failed problem={report.problem} again={report.again} />
                    </Card>
                ) : !r ? (
                    <Card>
                        <Waiting rows={8} />
                    </Card>
                ) : (
                    <>
                        <Summary r={r} />
                        <ByTier r={r} metric={metric} />
                        <Adoption build={r.build.id} />
                        <Card
                            flush
                            title={t('Scenes by tiers')}
                            note={`${metricName(metric)} · ${t('orange is worse, blue better, grey cannot be told')}`}
                            tools={<SceneCsv r={r} metric={metric} />}
                        >
                            <SceneMatrix r={r} metric={metric} href={(s) => url('/compare', { build, baseline, metric: q.get('metric'), tier: s.tier, scene: s.scene })} />
                        </Card>
                        <AllMetrics r={r} />
                        {r.baseline && <FlameCard build={String(r.build.id)} against={String(r.baseline.id)} />}
                    </>
                )}
            </div>
        </>
    );
}
