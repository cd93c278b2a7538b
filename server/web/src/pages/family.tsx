// One family: who it meets, since when, why these stacks belong together, and where to look.
import { useGet, type Page } from '../lib/api';
import { clock, day, num, percent, span } from '../lib/format';
import { className, type Counts, type FamilyDetail, type FamilySession, type FamilyStack, familyTitle, frameSays, ticketState, whySays, type Why, type WhyFrame } from '../lib/families';
import { deviceName, deviceSessions } from '../lib/device';
import { t } from '../lib/i18n';
import { Link, url, useParam, useQuery } from '../lib/router';
import { causeName, tierName } from '../lib/terms';
import { Badge, Card, Empty, Failed, Loaded, Meter, Stat, Waiting } from '../ui/pieces';
import { buildName, BuildSelect, DayBars, Tabs } from '../ui/more';
import { Csv, Table, type Column } from '../ui/table';
import { ByHand } from '../ui/edits';
import { FlameCard } from '../ui/flame';
import { Paths, Verdicts } from '../ui/family';

interface Row extends Counts {
    key: string;
    name: string;
    href?: string;
}

function breakdown(f: FamilyDetail, by: string): Row[] {
    switch (by) {
        case 'tiers':
            return f.tiers.map((r) => ({ ...r, key: String(r.tier), name: tierName(r), href: url('/janks', { tier: r.tier }) }));
        case 'scenes':
            return f.scenes.map((r) => ({ ...r, key: r.scene, name: r.scene || t('no scene'), href: url('/janks', { scene: r.scene }) }));
        case 'devices':
            return f.devices.map((r) => ({
                ...r,
                key: String(r.device.id),
                name: deviceName(r.device),
                href: deviceSessions(r.device, { has_jank: true }) ?? undefined,
            }));
        case 'os':
            return f.os_versions.map((r) => ({ ...r, key: r.os, name: r.os || '–' }));
        case 'causes':
            return f.causes.map((r) => ({ ...r, key: r.cause, name: causeName(r.cause), href: url('/janks', { cause: r.cause }) }));
        default:
            return f.builds.map((r) => ({ ...r, key: String(r.build.id), name: buildName(r.build), href: `/builds/${r.build.id}` }));
    }
}

function Breakdown({ f }: { f: FamilyDetail }) {
    const [by, setBy] = useParam('by', 'builds');
    const rows = breakdown(f, by);
    const most = Math.max(...rows.map((r) => r.rate ?? 0), 1e-9);
    const columns: Column<Row>[] = [
        { key: 'name', label: t('Where'), cell: (r) => (r.href ? <Link href={r.href}>{r.name}</Link> : r.name), value: (r) => r.name },
        {
            key: 'rate',
            label: t('Of sessions'),
            term: 'rate',
            right: true,
            cell: (r) => (
                <span class="nowrap">
                    <Meter share={(r.rate ?? 0) / most} label={percent(r.rate)} /> {percent(r.rate)}
                </span>
            ),
            value: (r) => r.rate ?? null,
        },
        { key: 'sessions', label: t('Sessions'), right: true, cell: (r) => num(r.sessions), value: (r) => r.sessions },
        { key: 'of', label: t('of'), right: true, cell: (r) => num(r.of_sessions), value: (r) => r.of_sessions ?? null },
        { key: 'events', label: t('Events'), right: true, cell: (r) => num(r.events), value: (r) => r.events },
        { key: 'time', label: t('Time in janks'), unit: 'ms', right: true, cell: (r) => span(r.jank_ms * 1000), value: (r) => r.jank_ms },
    ];
    return (
        <Card flush title={t('Where it happens')} tools={<Csv name={`family-${by}`} columns={columns} rows={rows} />}>
            <Tabs
                label={t('Where it happens')}
                value={by}
                onChange={(v) => setBy(v)}
                options={[
                    ['builds', t('Versions')],
                    ['tiers', t('Tiers')],
                    ['scenes', t('Scenes')],
                    ['devices', t('Devices')],
                    ['os', t('OS versions')],
                    ['causes', t('Causes')],
                ]}
            />
            {rows.length ? (
                <Table id="bd" caption={t('Where it happens')} columns={columns} rows={rows} few={(r) => (r.of_sessions ?? 99) < 10} />
            ) : (
                <Empty title={t('Nothing yet')} />
            )}
        </Card>
    );
}

const ruleText = (r: { field: string; pattern: string } | null) => (r ? `${r.field} ${r.pattern}` : '');

export function WhyFrames({ why }: { why: Why }) {
    // further ones count where people split the family
    const depth = why.edits.some((e) => e.kind === 'split') ? Infinity : why.depth;
    const counts = (f: WhyFrame) => f.position !== null && f.position <= depth;
    return (
        <ol class="frames">
            {why.frames.map((f, i) => (
                <li class={`${counts(f) ? 'key' : 'dim'}`} title={[frameSays(f), ruleText(f.rule)].filter(Boolean).join(' · ')}>
                    <span class="at">{i}</span>
                    <span class="fn">
                        {counts(f) && <Badge tone="accent">{f.position}</Badge>} {f.name ?? f.function ?? f.module ?? '?'}
                        {i === why.culprit && <span class="soft"> ← {t('look here first')}</span>}
                    </span>
                    <span class="where">
                        {f.file ? `${f.file.split('/').pop()}${f.line ? `:${f.line}` : ''}` : ''} {!counts(f) && frameSays(f)}
                    </span>
                </li>
            ))}
        </ol>
    );
}

function WhyCard({ kind, why }: { kind: 'jank' | 'crash'; why: Why }) {
    return (
        <Card title={t('Why these belong together')}>
            <div class="stack" style={{ gap: '.7rem' }}>
                <p class="break">{whySays(kind, why)}</p>
                <WhyFrames why={why} />
                <p class="small soft">
                    {t('Numbered frames make the fingerprint, from the innermost; the others are left out for the reason beside them.')}
                    {why.owner && ` ${t('Owner {owner} by the rule {rule}.', { owner: why.owner.owner, rule: ruleText(why.owner.rule) })}`}
                    {why.ignored_by && ` ${t('Ignored by the rule {rule}.', { rule: ruleText(why.ignored_by) })}`}
                </p>
            </div>
        </Card>
    );
}

function Stacks({ id }: { id: string }) {
    const data = useGet<Page<FamilyStack>>(`/v1/families/${id}/stacks`, { limit: 20 });
    const [open, setOpen] = useParam('stack');
    const columns: Column<FamilyStack>[] = [
        {
            key: 'title',
            label: t('Stack'),
            cell: (s) => (
                <button type="button" class="bare mono break" style={{ whiteSpace: 'normal', textAlign: 'left', padding: 0, minHeight: 0 }} aria-expanded={open === s.hash} onClick={() => setOpen(open === s.hash ? null : s.hash)}>
                    {s.hash.slice(0, 10)} {s.why.names[0] ?? familyTitle(s.title)}
                </button>
            ),
            value: (s) => s.hash,
        },
        { key: 'events', label: t('Events'), right: true, cell: (s) => num(s.events), value: (s) => s.events },
        { key: 'state', label: t('Symbols'), cell: (s) => (s.state === 'raw' ? t('missing') : s.state === 'partial' ? t('in part') : t('read')), value: (s) => s.state },
    ];
    return (
        <Card flush title={t('Its stacks')} tools={data.value?.items.length ? <Csv name="stacks" columns={columns} rows={data.value.items} /> : undefined}>
            <Loaded data={data}>
                {(v) => (
                    <Table
                        id="st"
                        caption={t('Its stacks')}
                        columns={columns}
                        rows={v.items}
                        onRow={(s) => setOpen(open === s.hash ? null : s.hash)}
                        below={(s) => (open === s.hash ? <WhyFrames why={s.why} /> : null)}
                    />
                )}
            </Loaded>
        </Card>
    );
}

function Sessions({ id, build }: { id: string; build: string | null }) {
    const data = useGet<Page<FamilySession>>(`/v1/families/${id}/sessions`, { build, limit: 20 });
    const columns: Column<FamilySession>[] = [
        {
            key: 'session',
            label: t('Session'),
            cell: (s) => (
                <Link class="mono" href={url(`/sessions/${s.session}`, { t0: Math.max(0, s.start_us / 1e6 - 5).toFixed(1), t1: (s.start_us / 1e6 + 8).toFixed(1) })}>
                    {s.session.slice(0, 12)}…
                </Link>
            ),
            value: (s) => s.session,
        },
        { key: 'at', label: t('At'), unit: 's', right: true, cell: (s) => clock(s.start_us), value: (s) => s.start_us / 1e6 },
        { key: 'length', label: t('Length, ms'), right: true, cell: (s) => num(s.duration_us / 1000), value: (s) => s.duration_us / 1000 },
        { key: 'scene', full: true, label: t('Scene'), cell: (s) => s.scene, value: (s) => s.scene },
        { key: 'cause', label: t('Cause'), term: 'cause', cell: (s) => causeName(s.cause), value: (s) => s.cause },
        { key: 'version', label: t('Version'), cell: (s) => s.version_name, value: (s) => s.version_name },
        { key: 'device', label: t('Device'), cell: deviceName, value: deviceName },
    ];
    return (
        <Card flush title={t('Sessions that show it')} note={t('newest first, a sample')} tools={data.value?.items.length ? <Csv name="family-sessions" columns={columns} rows={data.value.items} /> : undefined}>
            <Loaded data={data}>
                {(v) => (v.items.length ? <Table id="fs" caption={t('Sessions that show it')} columns={columns} rows={v.items} /> : <Empty title={t('None is kept')} />)}
            </Loaded>
        </Card>
    );
}

export default function FamilyPage({ id }: { id: string }) {
    const q = useQuery();
    const build = q.get('build');
    const data = useGet<FamilyDetail>(`/v1/families/${encodeURIComponent(id)}`, { build });
    if (data.problem) return <Failed page problem={data.problem} again={data.again} />;
    const f = data.value;
    if (!f) return <Waiting rows={8} />;
    return (
        <>
            <div class="head">
                <div>
                    <h1 class="mono break" style={{ fontSize: '1.2rem' }}>
                        {familyTitle(f.title)}
                    </h1>
                    <div class="row" style={{ gap: '.35rem', marginTop: '.35rem' }}>
                        <Badge tone={f.kind === 'crash' ? 'bad' : ''}>{f.kind === 'crash' ? t('crash') : t('jank')}</Badge>
                        <Badge>{className(f.class)}</Badge>
                        <Badge tone={f.owner ? 'accent' : ''}>{f.owner ? t('owner {owner}', { owner: f.owner }) : t('nobody owns it')}</Badge>
                        {f.ignored && <Badge tone="warn">{t('ignored')}</Badge>}
                        {f.provisional && <Badge tone="warn">{t('symbols missing')}</Badge>}
                        {f.ticket && (
                            <a href={f.ticket.url} target="_blank" rel="noreferrer">
                                {t('ticket')} {f.ticket.id} ({ticketState(f.ticket.state)})
                            </a>
                        )}
                    </div>
                </div>
                <BuildSelect name="build" label={t('Build')} any={t('all')} />
            </div>
            <div class="stack">
                <div class="stats">
                    <Stat term="rate" value={percent(f.rate).replace(' %', '')} unit="%" n={t('{n} of {of} {of|session|sessions}', { n: num(f.sessions), of: num(f.of.sessions) })} />
                    <Stat name={t('Installs')} value={num(f.installs)} n={t('of {n}', { n: num(f.of.installs) })} />
                    <Stat name={t('Events')} value={num(f.events)} n={t('{n} {n|stack|stacks}', { n: num(f.stacks) })} />
                    <Stat name={t('Time in janks')} value={span(f.jank_ms * 1000)} n={f.events ? t('{n} ms each', { n: num(f.jank_ms / f.events) }) : undefined} />
                    <Stat name={t('First seen')} value={f.first_build?.version_name ?? '–'} n={<span data-volatile>{day(f.first_day)}</span>} />
                    <Stat name={t('Last seen')} value={f.last_build?.version_name ?? '–'} n={<span data-volatile>{day(f.last_day)}</span>} />
                </div>
                <div class="grid2">
                    <div class="stack">
                        <WhyCard kind={f.kind} why={f.why} />
                        <ByHand f={f} done={data.again} />
                    </div>
                    <div class="stack">
                        <Card title={t('Events by day')}>
                            <DayBars label={t('Events by day')} days={f.days.map((d) => ({ day: d.day, value: d.events }))} />
                        </Card>
                        <Verdicts id={f.id} />
                    </div>
                </div>
                <Breakdown f={f} />
                <FlameCard family={f.id} build={build} />
                <Paths family={f.id} events={f.events} build={build} />
                <div class="grid2">
                    <Stacks id={f.id} />
                    <Sessions id={f.id} build={build} />
                </div>
            </div>
        </>
    );
}
