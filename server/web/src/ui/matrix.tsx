// Scenes by tiers, coloured by the change against the baseline or by the figure itself.
import { change, num } from '../lib/format';
import { t } from '../lib/i18n';
import { Link } from '../lib/router';
import { compared, figure, judge, metricName, sliceTier, type Report, type Slice } from '../lib/report';
import { Csv, type Column } from './table';

// Blue is better, orange worse, as strong as the change; grey: cannot be told. Text says the same.
function background(s: Slice | undefined, metric: string, scale: number): string {
    const f = s?.figures[metric];
    if (judge(f) === 'unknown' || judge(f) === 'same') return 'var(--sunk)';
    const strong = Math.round(18 + 62 * Math.min(1, Math.abs(f!.change!) / scale));
    return `color-mix(in srgb, var(${f!.change! > 0 ? '--normal' : '--c1'}) ${Math.round(strong * 0.55)}%, var(--card))`;
}

// One row a scene and tier: what the cells show, and what they say under the mouse.
export function SceneCsv({ r, metric }: { r: Report; metric: string }) {
    const of = (s: Slice) => s.figures[metric];
    const columns: Column<Slice>[] = [
        { key: 'scene', label: t('Scene'), cell: (s) => s.scene, value: (s) => s.scene },
        { key: 'tier', label: t('Tier'), cell: sliceTier, value: sliceTier },
        { key: 'base', label: t('Baseline'), cell: () => '', value: (s) => of(s).baseline },
        { key: 'value', label: t('This build'), cell: () => '', value: (s) => of(s).value },
        { key: 'change', label: t('Change'), cell: () => '', value: (s) => of(s).change },
        { key: 'low', label: t('between'), cell: () => '', value: (s) => of(s).low },
        { key: 'high', label: t('and'), cell: () => '', value: (s) => of(s).high },
        { key: 'n', label: t('Compared sessions'), cell: () => '', value: (s) => compared(of(s))[0] },
    ];
    return <Csv name={`scenes-${metric}`} columns={columns} rows={r.slices.filter(of)} />;
}

export function SceneMatrix({ r, metric, href }: { r: Report; metric: string; href?: (s: Slice) => string }) {
    const scenes = [...new Set(r.slices.map((s) => s.scene))].sort((a, b) => (a === '' ? -1 : b === '' ? 1 : a.localeCompare(b)));
    const tiers = [...new Set(r.slices.map((s) => s.tier))].sort((a, b) => (a === null ? 99 : a === 0 ? 98 : a) - (b === null ? 99 : b === 0 ? 98 : b));
    const at = (scene: string, tier: number | null) => r.slices.find((s) => s.scene === scene && s.tier === tier);
    const biggest = Math.max(0.05, ...r.slices.map((s) => Math.abs(s.figures[metric]?.change ?? 0)));
    return (
        <div class="scroll" tabIndex={0} role="region" aria-label={t('Scenes by tiers')}>
            <table class="heat">
                <caption class="sr">{t('{metric}: scenes by tiers', { metric: metricName(metric) })}</caption>
                <thead>
                    <tr>
                        <th scope="col">{t('Scene')}</th>
                        {tiers.map((tier) => (
                            <th scope="col" style={{ textAlign: 'center' }}>
                                {sliceTier(r.slices.find((s) => s.tier === tier)!)}
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {scenes.map((scene) => (
                        <tr>
                            <th scope="row" style={{ color: 'var(--text)', fontWeight: scene ? 400 : 600 }}>
                                {scene || t('whole sessions')}
                            </th>
                            {tiers.map((tier) => {
                                const s = at(scene, tier);
                                const f = s?.figures[metric];
                                if (!s || !f) return <td style={{ color: 'var(--faint)' }}>–</td>;
                                const told = judge(f) !== 'unknown';
                                const text = (
                                    <>
                                        {r.baseline && told ? change(f.change, 1) : figure(f.value)}
                                        <small>{r.baseline && told ? `${figure(f.baseline)} → ${figure(f.value)}` : `n ${num(f.n)}`}</small>
                                    </>
                                );
                                return (
                                    <td
                                        style={{ background: background(s, metric, biggest), color: told ? 'var(--text)' : 'var(--soft)' }}
                                        title={
                                            told
                                                ? t('between {low} and {high}; {n} sessions against {base}', { low: change(f.low), high: change(f.high), n: num(compared(f)[0]), base: num(compared(f)[1]) })
                                                : t('too little data for a comparison: {n} sessions against {base}', { n: num(f.n), base: num(f.baseline_n ?? 0) })
                                        }
                                    >
                                        {href ? (
                                            <Link href={href(s)} style={{ color: 'inherit' }}>
                                                {text}
                                            </Link>
                                        ) : (
                                            text
                                        )}
                                    </td>
                                );
                            })}
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}
