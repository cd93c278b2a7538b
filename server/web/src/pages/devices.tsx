// Device models by what they are capable of: tiers, why a model is in its tier, and the untiered.
import { useGet, useList } from '../lib/api';
import { day, num, percent } from '../lib/format';
import { deviceName, deviceSessions } from '../lib/device';
import { t } from '../lib/i18n';
import { Link, setQuery, url, useQuery } from '../lib/router';
import { tierChoices, type Tier, type Tiers } from '../lib/tiers';
import { tierLabel } from '../lib/terms';
import { Badge, Card, Chip, Empty, Failed, Head, Loaded, Meter, Select, Tip, Waiting } from '../ui/pieces';
import { Csv, ShowMore, Table, type Column } from '../ui/table';

interface Model {
    id: number;
    platform: string;
    manufacturer: string;
    model: string;
    soc: string;
    ram_gb: number;
    gpu: string;
    tier: number;
    tier_name: string;
    sessions: number;
    p90_ms: number | null;
    prior_ms: number | null;
    weight: number | null;
    outside: number | null;
    parts: Record<string, number> | null;
    changed_at: string | null;
}

const partName = (p: string) =>
    ({
        soc: t('this SoC beyond its figures'),
        sessions: t('its own sessions'),
        ram_mb: 'RAM',
        pixels: t('resolution'),
        median_khz: t('median frequency'),
        throttled_khz: t('frequency when hot'),
        temperature: t('mean temperature'),
        cores: t('cores'),
        fast_cores: t('fast cores'),
        clusters: t('core clusters'),
        max_khz: t('highest frequency'),
    })[p] ?? p.replace(/_/g, ' ');

// Each part moves the expected P90 by a factor; bars to the right are slower.
function Why({ m }: { m: Model }) {
    const parts = Object.entries(m.parts ?? {})
        .filter(([, v]) => Math.abs(v) >= 0.0005)
        .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const most = Math.max(0.05, ...parts.map(([, v]) => Math.abs(v)));
    const W = 160;
    const sessions = deviceSessions(m);
    return (
        <div class="detail">
            <p>
                {m.p90_ms === null
                    ? t('Nothing is known of this model yet; it is in no tier.')
                    : t('Expected P90 {p90} ms: {prior} ms by what it is made of, drawn {weight} of the way to its own {n} sessions.', {
                          p90: num(m.p90_ms, 1),
                          prior: num(m.prior_ms, 1),
                          weight: percent(m.weight, 0),
                          n: num(m.sessions),
                      })}
            </p>
            {parts.length > 0 && (
                <table style={{ width: 'auto' }}>
                    <caption class="sr">{t('What moves it')}</caption>
                    <tbody>
                        {parts.map(([name, v]) => (
                            <tr>
                                <th scope="row">{partName(name)}</th>
                                <td>
                                    <svg width={W} height="12" aria-hidden="true">
                                        <line x1={W / 2} x2={W / 2} y1="0" y2="12" stroke="var(--line)" />
                                        <rect x={v > 0 ? W / 2 : W / 2 + (v / most) * (W / 2)} width={(Math.abs(v) / most) * (W / 2)} y="2" height="8" rx="2" fill={v > 0 ? 'var(--normal)' : 'var(--c1)'} />
                                    </svg>
                                </td>
                                <td class="right">{`${v > 0 ? '+' : '−'}${num(Math.abs(100 * Math.expm1(v)), 1)} %`}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            )}
            <div class="row">
                {sessions && (
                    <Link class="button" href={sessions}>
                        {t('Its sessions')}
                    </Link>
                )}
                <Link class="button" href={url('/janks', { model: m.id })}>
                    {t('Its janks')}
                </Link>
                {m.outside !== null && m.tier > 0 && (
                    <span class="small soft">{t('It belongs elsewhere with a chance of {p}; it moves above 95 %.', { p: percent(m.outside, 1) })}</span>
                )}
            </div>
        </div>
    );
}

export default function Devices() {
    const q = useQuery();
    const tier = q.get('tier');
    const open = q.get('model');
    const tiers = useGet<Tiers>('/v1/tiers');
    const list = useList<Model>('/v1/tiers/models', { tier, q: q.get('q'), limit: 100 });
    const toggle = (m: Model) => setQuery({ model: String(m.id) === open ? null : m.id });
    const name = (x: { tier: number; name?: string; tier_name?: string }) => (x.tier === 0 ? t('untiered') : tierLabel(x.name ?? x.tier_name ?? ''));
    const tierColumns: Column<Tier>[] = [
        { key: 'tier', label: t('Tier'), term: 'tier', cell: (x) => <Link href={url('/devices', { tier: x.tier })}>{name(x)}</Link>, value: (x) => x.tier },
        {
            key: 'cut',
            label: t('Expected P90, ms'),
            cell: (x) =>
                x.from_ms === null && x.to_ms === null
                    ? '–'
                    : x.from_ms === null
                      ? t('below {ms}', { ms: num(x.to_ms, 1) })
                      : x.to_ms === null
                        ? t('above {ms}', { ms: num(x.from_ms, 1) })
                        : `${num(x.from_ms, 1)} – ${num(x.to_ms, 1)}`,
            value: (x) => x.from_ms,
        },
        { key: 'models', label: t('Models'), right: true, cell: (x) => num(x.models), value: (x) => x.models },
        { key: 'sessions', label: t('Sessions'), right: true, cell: (x) => num(x.sessions), value: (x) => x.sessions },
    ];
    const columns: Column<Model>[] = [
        {
            key: 'model',
            label: t('Model'),
            cell: (m) => (
                <button type="button" class="bare" style={{ padding: 0, minHeight: 0, color: 'var(--accent)', whiteSpace: 'normal', textAlign: 'left' }} aria-expanded={String(m.id) === open} onClick={() => toggle(m)}>
                    {deviceName(m)}
                </button>
            ),
            value: deviceName,
        },
        { key: 'tier', label: t('Tier'), term: 'tier', cell: (m) => <Badge tone={m.tier ? 'accent' : ''}>{name(m)}</Badge>, value: (m) => m.tier },
        { key: 'p90', label: t('Expected P90, ms'), term: 'expected', right: true, cell: (m) => num(m.p90_ms, 1), value: (m) => m.p90_ms },
        {
            key: 'weight',
            label: t('Own sessions count'),
            term: 'weight',
            right: true,
            cell: (m) => (m.weight === null ? '–' : <span class="nowrap"><Meter share={m.weight} label={percent(m.weight)} /> {percent(m.weight, 0)}</span>),
            value: (m) => m.weight,
        },
        { key: 'sessions', label: t('Sessions'), right: true, cell: (m) => num(m.sessions), value: (m) => m.sessions },
        { key: 'soc', label: 'SoC', cell: (m) => m.soc || '–', value: (m) => m.soc },
        { key: 'ram', label: 'RAM', unit: 'GB', right: true, cell: (m) => (m.ram_gb ? `${m.ram_gb} GB` : '–'), value: (m) => m.ram_gb },
        { key: 'gpu', label: 'GPU', cell: (m) => m.gpu || '–', value: (m) => m.gpu },
    ];
    return (
        <>
            <Head title={t('Devices')} says={t('Models by what they are capable of. Tiers are cut once and frozen, so that a tier means the same tomorrow.')} />
            <div class="stack">
                <Card flush title={t('Tiers')} note={tiers.value?.version ? t('version {n}', { n: tiers.value.version }) : ''} tools={tiers.value?.tiers.length ? <Csv name="tiers" columns={tierColumns} rows={tiers.value.tiers} /> : undefined}>
                    <Loaded data={tiers} rows={3}>
                        {(v) =>
                            v.tiers.length ? (
                                <>
                                    <Table id="ti" caption={t('Tiers')} columns={tierColumns} rows={v.tiers} sortable={false} href={(x) => url('/devices', { tier: x.tier })} />
                                    <div class="chips" style={{ padding: '.6rem 1rem 1rem' }}>
                                        <Chip name={t('cut')}><span data-volatile>{day(v.placed_at)}</span></Chip>
                                        <Chip name={t('scores of')}><span data-volatile>{day(v.fitted_at)}</span></Chip>
                                        <Link href={url('/devices', { tier: 0 })}>{t('{n} {n|model|models} untiered', { n: num(v.untiered) })}</Link>
                                    </div>
                                </>
                            ) : (
                                <Empty title={t('No tiers yet')}>
                                    <p>{t('They are cut by themselves once enough models of registered builds have sessions.')}</p>
                                </Empty>
                            )
                        }
                    </Loaded>
                </Card>
                <div class="filters">
                    <Select
                        label={t('Tier')}
                        value={tier ?? ''}
                        options={[['', t('all')], ...tierChoices(tiers.value, tier ?? ''), ['0', t('untiered')]]}
                        onChange={(v) => setQuery({ tier: v === '' ? null : v })}
                    />
                    <label class="field">
                        {t('Name or SoC')}
                        <input value={q.get('q') ?? ''} size={18} onChange={(e) => setQuery({ q: e.currentTarget.value.trim() })} />
                    </label>
                </div>
                <Card flush title={t('Models')} note={<Tip term="tier" />} tools={list.items?.length ? <Csv name="models" columns={columns} rows={list.items} /> : undefined}>
                    {list.problem ? (
                        <Failed problem={list.problem} again={list.again} />
                    ) : !list.items ? (
                        <Waiting rows={8} />
                    ) : list.items.length ? (
                        <>
                            <Table
                                id="mo"
                                caption={t('Models')}
                                columns={columns}
                                rows={list.items}
                                onRow={toggle}
                                few={(m) => m.sessions < 5}
                                below={(m) => (String(m.id) === open ? <Why m={m} /> : null)}
                            />
                            <ShowMore list={list} />
                        </>
                    ) : (
                        <Empty title={t('No model is like that')} />
                    )}
                </Card>
            </div>
        </>
    );
}
