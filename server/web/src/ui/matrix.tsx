// Scenes by tiers, coloured by the change against the baseline or by the figure itself.
import { change, num } from '../lib/format';
import { t } from '../lib/i18n';
import { Link } from '../lib/router';
import { figure, judge, metricName, type Report, type Slice } from '../lib/report';

// Blue is better, orange worse, as strong as the change; grey: cannot be told. Text says the same.
function background(s: Slice | undefined, metric: string, scale: number): string {
    const f = s?.figures[metric];
    if (judge(f) === 'unknown' || judge(f) === 'same') return 'var(--sunk)';
    const strong = Math.round(18 + 62 * Math.min(1, Math.abs(f!.change!) / scale));
    return `color-mix(in srgb, var(${f!.change! > 0 ? '--normal' : '--c1'}) ${Math.round(strong * 0.55)}%, var(--card))`;
}

export function SceneMatrix({ r, metric, href }: { r: Report; metric: string; href?: (s: Slice) => string }) {
    const scenes = [...new Set(r.slices.map((s) => s.scene))].sort((a, b) => (a === '' ? -1 : b === '' ? 1 : a.localeCompare(b)));
    const tiers = [...new Set(r.slices.map((s) => s.tier))].sort((a, b) => (a === null ? 99 : a === 0 ? 98 : a) - (b === null ? 99 : b === 0 ? 98 : b));
    const at = (scene: string, tier: number | null) => r.slices.find((s) => s.scene === scene && s.tier === tier);
    const name = (tier: number | null) => r.slices.find((s) => s.tier === tier)?.tier_name ?? '';
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
                                {tier === null ? t('all tiers') : tier === 0 ? t('untiered') : name(tier)}
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
                                                ? t('between {low} and {high}; {n} sessions against {base}', { low: change(f.low), high: change(f.high), n: num(f.compared_n), base: num(f.compared_baseline_n) })
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
