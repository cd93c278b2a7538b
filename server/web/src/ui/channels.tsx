// Where alerts and tickets go: the channels, and a form that makes and changes one.
import { useState } from 'preact/hooks';
import { Problem, send, useGet, type Page } from '../lib/api';
import { fromText, kindNames, secretsOf, settingsOf, takesTickets, toText, type Channel, type Field } from '../lib/channels';
import { t } from '../lib/i18n';
import { isAdmin } from '../lib/login';
import { Badge, Card, Dialog, Empty, Failed, Loaded } from './pieces';
import { Csv, Table, type Column } from './table';

interface Texts {
    name: string;
    kind: string;
    enabled: boolean;
    severity: string;
    tiers: string;
    reports: boolean;
    quiet: boolean;
    from: string;
    to: string;
    loud: string;
    rate: string;
    settings: Record<string, string>;
    secrets: Record<string, string>;
}

const split = (text: string) => text.split(/[,\s]+/).filter(Boolean);

function textsOf(c: Channel | null): Texts {
    return {
        name: c?.name ?? '',
        kind: c?.kind ?? 'slack',
        enabled: c?.enabled ?? true,
        severity: c?.filter.min_severity ?? 'warn',
        tiers: c?.filter.tiers.join(', ') ?? '',
        reports: c?.filter.reports ?? false,
        quiet: !!c?.quiet,
        from: c?.quiet?.from ?? '22:00',
        to: c?.quiet?.to ?? '08:00',
        loud: c ? (c.quiet?.loud_severity ?? '') : 'alert',
        rate: c ? String(c.rate_per_min) : '',
        settings: Object.fromEntries(Object.entries(c?.settings ?? {}).map(([name, v]) => [name, toText(v)])),
        secrets: {},
    };
}

// All of a channel anew, but secrets that were left empty: those stay as they are.
function bodyOf(x: Texts, c: Channel | null): Record<string, unknown> {
    const settings: Record<string, unknown> = {};
    for (const f of settingsOf(x.kind)) {
        const value = fromText(f, x.settings[f.name] ?? '');
        if (value !== undefined) settings[f.name] = value;
    }
    const offset = c?.quiet?.utc_offset_min ?? -new Date().getTimezoneOffset();
    return {
        name: x.name.trim(),
        kind: x.kind,
        enabled: x.enabled,
        settings,
        secrets: Object.fromEntries(Object.entries(x.secrets).filter(([, v]) => v)),
        ...(x.rate ? { rate_per_min: Number(x.rate) } : {}),
        ...(takesTickets(x.kind)
            ? {}
            : {
                  filter: { ...c?.filter, min_severity: x.severity, tiers: split(x.tiers), reports: x.reports },
                  quiet: x.quiet ? { from: x.from, to: x.to, utc_offset_min: offset, loud_severity: x.loud || null } : null,
              }),
    };
}

function Input({ field, value, kept, secret, onChange }: { field: Field; value: string; kept?: boolean; secret?: boolean; onChange: (v: string) => void }) {
    if (field.as === 'flag')
        return (
            <label class="check">
                <input type="checkbox" checked={value === 'true'} onChange={(e) => onChange(String(e.currentTarget.checked))} />
                {field.label}
            </label>
        );
    return (
        <label class="field">
            {field.label}
            {field.as === 'lines' || field.as === 'pairs' ? (
                <textarea rows={2} value={value} spellcheck={false} onInput={(e) => onChange(e.currentTarget.value)} />
            ) : (
                <input
                    type={secret ? 'password' : field.as === 'number' ? 'number' : 'text'}
                    autocomplete={secret ? 'new-password' : 'off'}
                    spellcheck={false}
                    required={field.required && !kept}
                    placeholder={kept ? t('set; empty leaves it') : (field.hint ?? '')}
                    value={value}
                    onInput={(e) => onChange(e.currentTarget.value)}
                />
            )}
        </label>
    );
}

const severities = (): [string, string][] => [
    ['info', t('everything')],
    ['warn', t('warnings and alerts')],
    ['alert', t('alerts')],
];

function Choice({ label, value, options, onChange, disabled }: { label: string; value: string; options: [string, string][]; onChange: (v: string) => void; disabled?: boolean }) {
    return (
        <label class="field">
            {label}
            <select value={value} disabled={disabled} onChange={(e) => onChange(e.currentTarget.value)}>
                {options.map(([v, name]) => (
                    <option value={v}>{name}</option>
                ))}
            </select>
        </label>
    );
}

function WhenToTell({ x, set }: { x: Texts; set: (changes: Partial<Texts>) => void }) {
    return (
        <>
            <div class="filters">
                <Choice label={t('Tells')} value={x.severity} options={severities()} onChange={(severity) => set({ severity })} />
                <label class="field">
                    {t('Tiers; empty: all')}
                    <input value={x.tiers} placeholder="low, mid" onInput={(e) => set({ tiers: e.currentTarget.value })} />
                </label>
                <label class="check">
                    <input type="checkbox" checked={x.reports} onChange={(e) => set({ reports: e.currentTarget.checked })} />
                    {t('reports too')}
                </label>
            </div>
            <div class="filters">
                <label class="check">
                    <input type="checkbox" checked={x.quiet} onChange={(e) => set({ quiet: e.currentTarget.checked })} />
                    {t('quiet hours')}
                </label>
                {x.quiet && (
                    <>
                        <label class="field">
                            {t('from')}
                            <input type="time" required value={x.from} onInput={(e) => set({ from: e.currentTarget.value })} />
                        </label>
                        <label class="field">
                            {t('to')}
                            <input type="time" required value={x.to} onInput={(e) => set({ to: e.currentTarget.value })} />
                        </label>
                        <Choice label={t('Told even then')} value={x.loud} options={[['', t('nothing')], ...severities()]} onChange={(loud) => set({ loud })} />
                    </>
                )}
            </div>
        </>
    );
}

function Edit({ of, onClose, onSaved }: { of: Channel | null; onClose: () => void; onSaved: () => void }) {
    const [x, setX] = useState(() => textsOf(of));
    const [problem, setProblem] = useState('');
    const set = (changes: Partial<Texts>) => setX({ ...x, ...changes });
    const save = async (e: Event) => {
        e.preventDefault();
        setProblem('');
        try {
            await send(of ? 'PUT' : 'POST', of ? `/v1/channels/${of.id}` : '/v1/channels', bodyOf(x, of));
            onSaved();
            onClose();
        } catch (y) {
            const p = y as Problem;
            setProblem(p.field ? `${p.field}: ${p.message}` : p.message);
        }
    };
    return (
        <Dialog title={of ? t('Change {name}', { name: of.name }) : t('A new channel')} onClose={onClose}>
            <form class="stack" onSubmit={save}>
                <div class="filters">
                    <label class="field">
                        {t('Name')}
                        <input required maxLength={64} value={x.name} onInput={(e) => set({ name: e.currentTarget.value })} />
                    </label>
                    <Choice label={t('Kind')} value={x.kind} options={Object.entries(kindNames)} disabled={of !== null} onChange={(kind) => set({ kind, settings: {}, secrets: {} })} />
                    <label class="field">
                        {t('Messages a minute')}
                        <input type="number" min="1" max="6000" style={{ width: '7rem' }} placeholder={t('as it allows')} value={x.rate} onInput={(e) => set({ rate: e.currentTarget.value })} />
                    </label>
                    <label class="check">
                        <input type="checkbox" checked={x.enabled} onChange={(e) => set({ enabled: e.currentTarget.checked })} />
                        {t('on')}
                    </label>
                </div>
                {settingsOf(x.kind).map((f) => (
                    <Input key={`${x.kind} ${f.name}`} field={f} value={x.settings[f.name] ?? ''} onChange={(v) => set({ settings: { ...x.settings, [f.name]: v } })} />
                ))}
                {secretsOf(x.kind).map((f) => (
                    <Input
                        key={`${x.kind} secret ${f.name}`}
                        field={f}
                        secret
                        kept={of?.secrets_set.includes(f.name)}
                        value={x.secrets[f.name] ?? ''}
                        onChange={(v) => set({ secrets: { ...x.secrets, [f.name]: v } })}
                    />
                ))}
                <p class="small soft">{t('Secrets go in and never come out. When the host changes, all of them must be given again.')}</p>
                {!takesTickets(x.kind) && <WhenToTell x={x} set={set} />}
                {problem && (
                    <p class="error-text break" role="alert">
                        {problem}
                    </p>
                )}
                <div class="row">
                    <button class="primary">{t('Save')}</button>
                    <button type="button" onClick={onClose}>
                        {t('Cancel')}
                    </button>
                </div>
            </form>
        </Dialog>
    );
}

function Remove({ of, onClose, onDone }: { of: Channel; onClose: () => void; onDone: () => void }) {
    const [problem, setProblem] = useState('');
    const remove = async () => {
        try {
            await send('DELETE', `/v1/channels/${of.id}`);
            onDone();
            onClose();
        } catch (e) {
            setProblem((e as Error).message);
        }
    };
    return (
        <Dialog title={t('Remove {name}?', { name: of.name })} onClose={onClose}>
            <div class="stack">
                <p>{t('What waits for it is not sent, and its secrets are deleted. The log of what was sent stays.')}</p>
                {problem && (
                    <p class="error-text" role="alert">
                        {problem}
                    </p>
                )}
                <div class="row">
                    <button type="button" class="danger" onClick={() => void remove()}>
                        {t('Remove')}
                    </button>
                    <button type="button" onClick={onClose}>
                        {t('Cancel')}
                    </button>
                </div>
            </div>
        </Dialog>
    );
}

function columnsOf(says: Record<number, string>, act: { test: (c: Channel) => void; edit: (c: Channel) => void; remove: (c: Channel) => void }): Column<Channel>[] {
    return [
        { key: 'name', label: t('Channel'), cell: (c) => c.name, value: (c) => c.name },
        { key: 'kind', label: t('Kind'), cell: (c) => kindNames[c.kind] ?? c.kind, value: (c) => c.kind },
        { key: 'takes', label: t('Takes'), cell: (c) => (c.takes === 'alert' ? t('alerts and reports') : t('tickets')), value: (c) => c.takes },
        { key: 'target', label: t('To'), full: true, cell: (c) => <code class="break">{c.target}</code>, value: (c) => c.target },
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
            label: '',
            full: true,
            cell: (c) => (
                <span class="row" style={{ gap: '.3rem' }}>
                    <button type="button" onClick={() => act.test(c)}>
                        {t('Send a test')}
                    </button>
                    <button type="button" onClick={() => act.edit(c)} aria-label={t('Change {name}', { name: c.name })}>
                        {t('Change')}
                    </button>
                    <button type="button" class="danger" onClick={() => act.remove(c)} aria-label={t('Remove {name}?', { name: c.name })}>
                        {t('Remove')}
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
}

export function Channels() {
    const data = useGet<Page<Channel>>(isAdmin() ? '/v1/channels' : null, { limit: 100 });
    const [says, setSays] = useState<Record<number, string>>({});
    const [edit, setEdit] = useState<{ of: Channel | null } | null>(null);
    const [remove, setRemove] = useState<Channel | null>(null);
    if (!isAdmin())
        return (
            <Card title={t('Channels')}>
                <Failed problem={new Problem(403, 'forbidden', '')} />
            </Card>
        );
    const test = async (c: Channel) => {
        const say = (text: string) => setSays((s) => ({ ...s, [c.id]: text }));
        say(t('sending…'));
        await send('POST', `/v1/channels/${c.id}/test`).then(
            () => say(t('queued: see the log below')),
            (e: Error) => say(e.message),
        );
    };
    const columns = columnsOf(says, { test: (c) => void test(c), edit: (of) => setEdit({ of }), remove: setRemove });
    return (
        <Card
            flush
            id="channels"
            title={t('Channels')}
            tools={
                <>
                    <button type="button" onClick={() => setEdit({ of: null })}>
                        {t('Add')}
                    </button>
                    {data.value?.items.length ? <Csv name="channels" columns={columns} rows={data.value.items} /> : undefined}
                </>
            }
        >
            <Loaded data={data}>
                {(v) =>
                    v.items.length ? (
                        <Table id="c" caption={t('Channels')} columns={columns} rows={v.items} />
                    ) : (
                        <Empty title={t('No channel yet')}>
                            <p>{t('Alerts are only shown here until there is one: Slack, Feishu, DingTalk, WeCom, Alertmanager or a webhook.')}</p>
                        </Empty>
                    )
                }
            </Loaded>
            {edit && <Edit of={edit.of} onClose={() => setEdit(null)} onSaved={data.again} />}
            {remove && <Remove of={remove} onClose={() => setRemove(null)} onDone={data.again} />}
        </Card>
    );
}
