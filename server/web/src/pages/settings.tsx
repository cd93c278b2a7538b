// What an admin may change: what phones record and send, and whose keys are in force.
import { useState } from 'preact/hooks';
import { Problem, send, useGet, type Page } from '../lib/api';
import { day } from '../lib/format';
import { t } from '../lib/i18n';
import { isAdmin } from '../lib/login';
import { Badge, Card, Failed, Head, Loaded } from '../ui/pieces';
import { Csv, Table, type Column } from '../ui/table';

interface Config {
    version: number;
    enabled: boolean;
    metrics: Record<'frames' | 'hardware' | 'stacks' | 'steps' | 'positions', boolean>;
    hardware_period_ms: number;
    slice_ms: number;
    jank_stack_ms: number;
    scenes: string[];
    upload: { daily_bytes: number; wifi_only: boolean };
    config_period_s: number;
}

function Form({ of, done }: { of: Config; done: () => void }) {
    const [c, setC] = useState(of);
    const [scenes, setScenes] = useState(of.scenes.join('\n'));
    const [problem, setProblem] = useState<Problem | null>(null);
    const [saved, setSaved] = useState(false);
    const set = (changes: Partial<Config>) => {
        setC({ ...c, ...changes });
        setSaved(false);
    };
    const save = async (e: Event) => {
        e.preventDefault();
        setProblem(null);
        try {
            const list = scenes.split('\n').map((s) => s.trim()).filter(Boolean);
            await send('PUT', '/v1/config', { ...c, version: of.version, scenes: list });
            setSaved(true);
            done();
        } catch (x) {
            setProblem(x as Problem);
        }
    };
    const metrics: [keyof Config['metrics'], string][] = [
        ['frames', t('frame times')],
        ['hardware', t('hardware')],
        ['stacks', t('stacks of janks')],
        ['steps', t('steps')],
        ['positions', t('positions on the map')],
    ];
    const number = (label: string, value: number, put: (n: number) => void, min: number, max: number) => (
        <label class="field">
            {label}
            <input type="number" required min={min} max={max} value={value} style={{ width: '9rem' }} onInput={(e) => put(Number(e.currentTarget.value))} />
        </label>
    );
    return (
        <form class="stack" onSubmit={save}>
            <label class="check">
                <input type="checkbox" checked={c.enabled} onChange={(e) => set({ enabled: e.currentTarget.checked })} />
                {t('Phones record and send')}
            </label>
            <div class="row" role="group" aria-label={t('What is recorded')}>
                {metrics.map(([name, label]) => (
                    <label class="check">
                        <input
                            type="checkbox"
                            checked={c.metrics[name]}
                            onChange={(e) => set({ metrics: { ...c.metrics, [name]: e.currentTarget.checked } })}
                        />
                        {label}
                    </label>
                ))}
            </div>
            <div class="filters">
                {number(t('Hardware every, ms'), c.hardware_period_ms, (n) => set({ hardware_period_ms: n }), 1000, 60000)}
                {number(t('Slice, ms'), c.slice_ms, (n) => set({ slice_ms: n }), 5000, 300000)}
                {number(t('Stack of frames above, ms'), c.jank_stack_ms, (n) => set({ jank_stack_ms: n }), 50, 5000)}
                {number(t('Asked for every, s'), c.config_period_s, (n) => set({ config_period_s: n }), 60, 86400)}
                {number(t('A day over metered networks, bytes'), c.upload.daily_bytes, (n) => set({ upload: { ...c.upload, daily_bytes: n } }), 0, 1073741824)}
                <label class="check">
                    <input type="checkbox" checked={c.upload.wifi_only} onChange={(e) => set({ upload: { ...c.upload, wifi_only: e.currentTarget.checked } })} />
                    {t('nothing over metered networks')}
                </label>
            </div>
            <label class="field" style={{ maxWidth: '30rem' }}>
                {t('Scenes, one a line: mode/map, or its beginning and a star')}
                <textarea rows={3} value={scenes} onInput={(e) => setScenes(e.currentTarget.value)} />
            </label>
            {problem && (
                <p class="error-text" role="alert">
                    {problem.field && <code>{problem.field}</code>} {problem.code === 'conflict' ? t('Somebody else changed it meanwhile: load it again.') : problem.message}
                </p>
            )}
            <div class="row">
                <button class="primary">{t('Save')}</button>
                {saved && <span role="status">{t('Saved. Phones ask for it within {n} s.', { n: c.config_period_s })}</span>}
            </div>
        </form>
    );
}

interface Key {
    hint: string;
    role: string;
    label: string;
    created_at: string;
    revoked_at: string | null;
}

function Keys() {
    const data = useGet<Page<Key>>('/v1/keys');
    const columns: Column<Key>[] = [
        { key: 'hint', label: t('Key begins with'), cell: (k) => <code>{k.hint}</code>, value: (k) => k.hint },
        { key: 'role', label: t('Role'), cell: (k) => <code>{k.role}</code>, value: (k) => k.role },
        { key: 'label', label: t('Label'), cell: (k) => k.label || '–', value: (k) => k.label },
        { key: 'created', label: t('Issued'), cell: (k) => <span data-volatile>{day(k.created_at)}</span>, value: (k) => k.created_at },
        {
            key: 'state',
            label: t('State'),
            cell: (k) => (k.revoked_at ? <Badge>{t('revoked')}</Badge> : <Badge tone="good">{t('in force')}</Badge>),
            value: (k) => k.revoked_at,
        },
    ];
    return (
        <Card
            flush
            title={t('API keys')}
            note={t('framewatch key create and key revoke change them; the server keeps digests only.')}
            tools={data.value ? <Csv name="keys" columns={columns} rows={data.value.items} /> : undefined}
        >
            <Loaded data={data}>{(v) => <Table id="k" caption={t('API keys')} columns={columns} rows={v.items} />}</Loaded>
        </Card>
    );
}

export default function Settings() {
    const config = useGet<Config>(isAdmin() ? '/v1/config' : null);
    return (
        <>
            <Head title={t('Settings')} says={t('What phones record and send, and whose keys are in force.')} />
            {isAdmin() ? (
                <div class="stack">
                    <Card title={t('Remote configuration')} note={config.value ? t('version {n}', { n: config.value.version }) : ''}>
                        <Loaded data={config}>{(c) => <Form of={c} key={c.version} done={config.again} />}</Loaded>
                    </Card>
                    <Keys />
                </div>
            ) : (
                <Card>
                    <Failed problem={new Problem(403, 'forbidden', '')} />
                </Card>
            )}
        </>
    );
}
