// Scenes by tiers: how each runs, how it changed, where on the map, and what parts the tiers.
import { useGet } from '../lib/api';
import { num } from '../lib/format';
import { t } from '../lib/i18n';
import { figure, metricName, metricSays, sliceTier, unitName, type Report, type Slice } from '../lib/report';
import { setQuery, url, useQuery } from '../lib/router';
import { Card, Empty, Failed, Head, Select, Tip, Waiting } from '../ui/pieces';
import { BuildSelect } from '../ui/more';
import { SceneCsv, SceneMatrix } from '../ui/matrix';
import { Csv, Table, type Column } from '../ui/table';
import { metricOptions, useChosenBuild } from './compare';
import { HeatCard } from '../ui/heat';

// So many sessions of a tier, that its figure stands for it; the API's `gaps` ask for as many.
const GAP_SESSIONS = 50;

interface Gap {
    scene: string;
    fast: Slice | null;
    slow: Slice | null;
    factor: number | null;
}

// The fastest and the slowest tier that have sessions enough, whichever runs the scene better.
function gaps(r: Report, metric: string): Gap[] {
    return [...new Set(r.slices.map((s) => s.scene))].map((scene) => {
        const own = r.slices
            .filter((s) => s.scene === scene && s.tier !== null && s.tier > 0 && (s.figures[metric]?.n ?? 0) >= GAP_SESSIONS && s.figures[metric].value !== null)
            .sort((a, b) => a.tier! - b.tier!);
        const fast = own[0] ?? null;
        const slow = own.length > 1 ? own[own.length - 1] : null;
        const [of, to] = [fast, slow].map((s) => s?.figures[metric].value ?? 0);
        return { scene, fast, slow, factor: slow && of > 0 ? to / of : null };
    });
}

export default function Scenes() {
    const q = useQuery();
    const build = useChosenBuild();
    const metric = q.get('metric') ?? 'p90';
    const report = useGet<Report>(build ? '/v1/report' : null, { build });
    const r = report.value;
    const rows = r ? gaps(r, metric) : [];
    const side = (s: Slice | null) =>
        s ? (
            <span class="nowrap">
                {`${sliceTier(s)} ${figure(s.figures[metric].value)}`} <span class="soft small">{t('n {n}', { n: num(s.figures[metric].n) })}</span>
            </span>
        ) : (
            '–'
        );
    const columns: Column<Gap>[] = [
        { key: 'scene', label: t('Scene'), cell: (g) => g.scene || t('whole sessions'), value: (g) => g.scene },
        { key: 'fast', label: t('Fastest tier'), right: true, cell: (g) => side(g.fast), value: (g) => g.fast?.figures[metric].value },
        { key: 'slow', label: t('Slowest tier'), right: true, cell: (g) => side(g.slow), value: (g) => g.slow?.figures[metric].value },
        { key: 'factor', label: t('Gap'), term: 'gap', right: true, cell: (g) => (g.factor === null ? '–' : `× ${num(g.factor, 2)}`), value: (g) => g.factor },
    ];
    const unit = unitName(r?.metrics.find((m) => m.name === metric)?.unit);
    const what = [metricName(metric), unit].filter(Boolean).join(', ');
    return (
        <>
            <Head title={t('Scenes')} says={t('Where in the game it is slow, for whom, and where on the map.')} />
            <div class="stack">
                <div class="filters">
                    <BuildSelect name="build" label={t('Build')} value={build ?? ''} />
                    <Select label={t('Metric')} value={metric} options={r ? metricOptions(r) : [[metric, metricName(metric)]]} onChange={(m) => setQuery({ metric: m === 'p90' ? null : m })} />
                </div>
                {report.problem ? (
                    <Card>
                        <Failed problem={report.problem} again={report.again} />
                    </Card>
                ) : !r ? (
                    <Card>
                        <Waiting rows={8} />
                    </Card>
                ) : r.slices.length ? (
                    <>
                        <Card
                            flush
                            title={
                                <>
                                    {t('Scenes by tiers')} <Tip name={metricName(metric)} text={metricSays(metric)} />
                                </>
                            }
                            note={`${what}${r.baseline ? ` · ${t('orange is worse, blue better, grey cannot be told')}` : ''}`}
                            tools={<SceneCsv r={r} metric={metric} />}
                        >
                            <SceneMatrix r={r} metric={metric} href={(s) => url('/compare', { build, metric: q.get('metric'), tier: s.tier, scene: s.scene })} />
                        </Card>
                        <Card flush title={t('Gap between tiers')} note={what} tools={<Csv name="gaps" columns={columns} rows={rows} />}>
                            <Table id="g" caption={t('Gap between tiers')} columns={columns} rows={rows} few={(g) => g.factor === null} />
                        </Card>
                        {build && <HeatCard build={build} scenes={[...new Set(r.slices.map((s) => s.scene))].filter(Boolean)} />}
                    </>
                ) : (
                    <Card>
                        <Empty title={t('No session of this build yet')} />
                    </Card>
                )}
            </div>
        </>
    );
}
