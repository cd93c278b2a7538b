// From which change on an alert is one, by tier and metric.
import { useState } from 'preact/hooks';
import { send, useGet } from '../lib/api';
import { t } from '../lib/i18n';
import { isAdmin } from '../lib/login';
import { metricName } from '../lib/report';
import { tierChoices, type Tiers } from '../lib/tiers';
import { Card, Loaded, Tip } from './pieces';

interface Rule {
    tier: number;
    metric: string;
    theta: number;
    enabled: boolean;
}
interface Rules {
    default_theta: number;
    items: Rule[];
}

const watched = ['p50', 'p90', 'mean', 'janks', 'memory_pss', 'memory_footprint', 'memory_rss'];

function Form({ of, done }: { of: Rules; done: () => void }) {
    const [rules, setRules] = useState(of.items);
    const [says, setSays] = useState('');
    const admin = isAdmin();
    const tiers = useGet<Tiers>('/v1/tiers');
    const change = (i: number, to: Partial<Rule>) => setRules(rules.map((r, k) => (k === i ? { ...r, ...to } : r)));
    const save = async (e: Event) => {
        e.preventDefault();
        try {
            await send('PUT', '/v1/alert-rules', { items: rules.map(({ tier, metric, theta, enabled }) => ({ tier, metric, theta, enabled })) });
            setSays(t('Saved.'));
            done();
        } catch (x) {
            setSays((x as Error).message);
        }
    };
    return (
        <form class="stack" style={{ gap: '.6rem' }} onSubmit={save}>
            <p>{t('Without a rule: +{n} %.', { n: Math.round(of.default_theta * 100) })}</p>
            {rules.map((r, i) => (
                <div class="row">
                    <select aria-label={t('Tier')} value={String(r.tier)} disabled={!admin} onChange={(e) => change(i, { tier: Number(e.currentTarget.value) })}>
                        <option value="0">{t('all tiers')}</option>
                        {tierChoices(tiers.value, String(r.tier)).map(([v, name]) => (
                            <option value={v}>{name}</option>
                        ))}
                    </select>
                    <select aria-label={t('Metric')} value={r.metric} disabled={!admin} onChange={(e) => change(i, { metric: e.currentTarget.value })}>
                        <option value="">{t('all metrics')}</option>
                        {watched.map((m) => (
                            <option value={m}>{metricName(m)}</option>
                        ))}
                    </select>
                    <label class="row">
                        +
                        <input
                            type="number"
                            min="1"
                            max="1000"
                            required
                            style={{ width: '5rem' }}
                            disabled={!admin}
                            aria-label={t('Threshold')}
                            value={Math.round(r.theta * 1000) / 10}
                            onInput={(e) => change(i, { theta: Number(e.currentTarget.value) / 100 })}
                        />
                        %
                    </label>
                    <label class="check">
                        <input type="checkbox" checked={r.enabled} disabled={!admin} onChange={(e) => change(i, { enabled: e.currentTarget.checked })} />
                        {t('on')}
                    </label>
                    {admin && (
                        <button type="button" class="bare" onClick={() => setRules(rules.filter((_, k) => k !== i))}>
                            {t('Remove')}
                        </button>
                    )}
                </div>
            ))}
            {admin && (
                <div class="row">
                    <button type="button" onClick={() => setRules([...rules, { tier: 0, metric: '', theta: of.default_theta, enabled: true }])}>
                        {t('Add')}
                    </button>
                    <button class="primary">{t('Save')}</button>
                    {says && <span role="status">{says}</span>}
                </div>
            )}
        </form>
    );
}

export function Thresholds() {
    const data = useGet<Rules>('/v1/alert-rules');
    return (
        <Card title={t('Thresholds')} note={<Tip text={t('The most particular rule counts: of tier and metric, of the tier, of the metric, of all.')} />}>
            <Loaded data={data} rows={2}>
                {(v) => <Form of={v} key={JSON.stringify(v.items)} done={data.again} />}
            </Loaded>
        </Card>
    );
}
