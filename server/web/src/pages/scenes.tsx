// Scenes by tiers: how each runs, how it changed, where on the map, and what parts the tiers.
import { useGet } from '../lib/api';
import { num } from '../lib/format';
import { t } from '../lib/i18n';
import { figure, metricName, type Report } from '../lib/report';
import { setQuery, url, useQuery } from '../lib/router';
import { Card, Empty, Failed, Head, Select, Waiting } from '../ui/pieces';
import { BuildSelect } from '../ui/more';
import { SceneMatrix } from '../ui/matrix';
import { Csv, Table, type Column } from '../ui/table';
import { metricOptions, useChosenBuild } from './compare';
import { HeatCard } from '../ui/heat';

interface Gap {
    scene: string;
    best: { name: string; value: number } | null;
    worst: { name: string; value: number } | null;
    factor: number | null;
    sessions: number;
}

function gaps(r: Report, metric: string): Gap[] {
    return [...new Set(r.slices.map((s) => s.scene))].map((scene) => {
        const own = r.slices
            .filter((s) => s.scene === scene && s.tier !== null && s.tier > 0 && (s.figures[metric]?.n ?? 0) >= 5 && s.figures[metric].value !== null)
            .map((s) => ({ name: s.tier_name, value: s.figures[metric].value! }))
            .sort((a, b) => a.value - b.value);
        const best = own[0] ?? null;
        const worst = own.length > 1 ? own[own.length - 1] : null;
        const all = r.slices.find((s) => s.scene === scene && s.tier === null);
        return { scene, best, worst, factor: best && worst && best.value > 0 ? worst.value / best.value : null, sessions: all?.sessions ?? 0 };
    });
}

export default function Scenes() {
    const q = useQuery();
    const build = useChosenBuild();
    const metric = q.get('metric') ?? 'p90';
    const report = useGet<Report>(build ? '/v1/report' : null, { build });
    const r = report.value;
    const rows = r ? gaps(r, metric) : [];
    const measured = [metricName(metric), r?.metrics.find((m) => m.name === metric)?.unit].filter(Boolean).join(', ');
    const columns: Column<Gap>[] = [
        { key: 'scene', label: t('Scene'), cell: (g) => g.scene || t('whole sessions'), value: (g) => g.scene },
        { key: 'best', label: t('Best tier'), right: true, cell: (g) => (g.best ? `${g.best.name} ${figure(g.best.value)}` : '–'), value: (g) => g.best?.value },
        { key: 'worst', label: t('Worst tier'), right: true, cell: (g) => (g.worst ? `${g.worst.name} ${figure(g.worst.value)}` : '–'), value: (g) => g.worst?.value },
        { key: 'factor', label: t('Gap'), right: true, cell: (g) => (g.factor === null ? '–' : `× ${num(g.factor, 2)}`), value: (g) => g.factor },
        { key: 'n', label: t('Sessions'), right: true, cell: (g) => num(g.sessions), value: (g) => g.sessions },
    ];
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
                        <Card flush title={t('Scenes by tiers')} note={`${measured} · ${r.baseline ? t('orange is worse, blue better, grey cannot be told') : ''}`}>
                            <SceneMatrix r={r} metric={metric} href={(s) => url('/compare', { build, metric: q.get('metric'), tier: s.tier, scene: s.scene })} />
                        </Card>
                        <Card flush title={t('Gap between tiers')} note={measured} tools={<Csv name="gaps" columns={columns} rows={rows} />}>
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
