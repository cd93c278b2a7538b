// One session: what it was, its lanes over time, its janks with stacks, all that happened.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { SessionChart } from '../charts/timeline';
import { ask, useGet } from '../lib/api';
import { bytes, celsius, clock, jankRate, megabytes, ms, num, percent, span, when } from '../lib/format';
import { t } from '../lib/i18n';
import { lanesOf, peak } from '../lib/lanes';
import { openInPerfetto } from '../lib/perfetto';
import { Link, setQuery, url, useQuery } from '../lib/router';
import { causeName, flagName, levelClass, levelName, tierName } from '../lib/terms';
import { useShownTheme } from '../lib/theme';
import type { Jank, Janks, Session, Slice, Timeline } from '../lib/types';
import { Badge, Card, Chip, Empty, Failed, Loaded, Meter, Stat, Tip, Waiting } from '../ui/pieces';
import { Frames, frameName } from '../ui/stack';
import { Csv, save, Table, type Column } from '../ui/table';

const janksOf = (s: { janks_minor: number; janks_normal: number; janks_severe: number }) =>
    s.janks_minor + s.janks_normal + s.janks_severe;

const seconds = (us: number) => Number((us / 1e6).toFixed(3));

function look(from: number, to: number) {
    setQuery({ t0: Math.max(0, seconds(from)), t1: seconds(to) });
    document.getElementById('timeline')?.scrollIntoView({ block: 'start', behavior: 'smooth' });
}

// Facts ---------------------------------------------------------------------------------------

function Facts({ s }: { s: Session }) {
    const d = s.device;
    const clusters = d.clusters?.map((c) => `${c.cores}×${(c.max_khz / 1e6).toFixed(1)}`).join(' + ');
    return (
        <div class="chips">
            <Chip name={t('Version')}>
                <Link href={`/builds/${s.build_id}`}>{`${s.version_name} (${s.version_code})`}</Link>
            </Chip>
            <Chip name={t('Device')}>
                <Link href={url('/sessions', { manufacturer: d.manufacturer, model: d.model })}>{`${d.manufacturer} ${d.model}`}</Link>
            </Chip>
            <Chip name={t('Tier')}>
                {tierName(d.tier)} <Tip term="tier" />
            </Chip>
            {d.soc && <Chip name="SoC">{d.soc}</Chip>}
            {clusters && <Chip name={t('Cores, GHz')}>{clusters}</Chip>}
            {d.gpu && <Chip name="GPU">{d.gpu}</Chip>}
            {d.ram_gb > 0 && <Chip name="RAM">{d.ram_gb} GB</Chip>}
            {d.screen_width_px > 0 && (
                <Chip name={t('Screen')}>{`${d.screen_width_px} × ${d.screen_height_px}, ${num(d.refresh_millihertz / 1000)} Hz`}</Chip>
            )}
            <Chip name="OS">{`${s.platform} ${s.os_version}`}</Chip>
            <Chip name="SDK">{s.sdk_version}</Chip>
            {s.wall_start_ms && (
                <Chip name={t('Played')}>
                    <span data-volatile>{when(new Date(s.wall_start_ms).toISOString())}</span>
                </Chip>
            )}
            <Chip name={t('Player')}>
                <Link href={url('/sessions', { install: s.install })} class="mono">
                    {s.install.slice(0, 10)}…
                </Link>
            </Chip>
        </div>
    );
}

function Badges({ s }: { s: Session }) {
    return (
        <span class="row" style={{ gap: '.35rem' }}>
            {s.state === 'open' && <Badge tone="accent">{t('still open')}</Badge>}
            {s.has_crash && <Badge tone="bad">{t('crashed')}</Badge>}
            {s.has_feedback && <Badge tone="accent">{t('feedback')}</Badge>}
            {s.slow_session && (
                <Badge tone="warn">
                    {t('slow session')} <Tip term="slow" />
                </Badge>
            )}
            {s.environment.map((e) => (
                <Badge tone="warn">{flagName(e)}</Badge>
            ))}
            {s.excluded && (
                <Badge>
                    {t('in no statistic')} <Tip term="excluded" />
                </Badge>
            )}
            {s.from_summary && <Badge>{t('summary only')}</Badge>}
        </span>
    );
}

function Stats({ s, data }: { s: Session; data: Timeline | null }) {
    const janks = janksOf(s);
    const states = s.detail.frames_by_state ?? {};
    const all = Object.values(states).reduce((sum, n) => sum + n, 0);
    const hot = data && peak(data, 'battery_millicelsius');
    const at = (t_us: number) => (
        <button class="bare small" style={{ padding: 0, minHeight: 0, color: 'var(--accent)' }} type="button" onClick={() => look(t_us - 30e6, t_us + 30e6)}>
            {t('at {time}', { time: clock(t_us) })}
        </button>
    );
    return (
        <div class="stats">
            <Stat term="p50" value={ms(s.p50_us)} unit="ms" n={`${t('mean')} ${ms(s.mean_us)} ms`} />
            <Stat term="p90" value={ms(s.p90_us)} unit="ms" n={`P99 ${ms(s.p99_us)} ms · ${t('longest')} ${ms(s.max_us, 0)} ms`} />
            <Stat
                term="jankRate"
                value={num(jankRate(janks, s.foreground_us), 1)}
                n={
                    <span class="row" style={{ gap: '.3rem' }}>
                        <span class="dot minor" /> {s.janks_minor} <span class="dot normal" /> {s.janks_normal} <span class="dot severe" /> {s.janks_severe}
                    </span>
                }
            />
            <Stat term="jankTime" value={s.foreground_us ? num((s.jank_us / s.foreground_us) * 60000, 0) : '–'} unit="ms/min" n={`${num(s.perfdog_big_janks)} ${t('big janks')}`} />
            <Stat
                term="temperature"
                value={celsius(s.peak_battery_millicelsius).replace(' °C', '')}
                unit={s.peak_battery_millicelsius ? '°C' : ''}
                n={hot ? at(hot.t_us) : undefined}
            />
            <Stat term="memory" value={megabytes(s.peak_memory_kb).replace(' MB', '')} unit={s.peak_memory_kb ? 'MB' : ''} />
            <Stat term="throttled" value={s.throttled_us ? span(s.throttled_us) : t('none')} />
            <Stat
                term="foreground"
                value={span(s.foreground_us)}
                n={`${num(s.frames)} ${t('frames')}${all ? ` · ${percent((states.valid ?? 0) / all, 1)} ${t('valid')}` : ''}`}
            />
        </div>
    );
}

// Timeline ------------------------------------------------------------------------------------

function View({ data, chosen }: { data: Timeline; chosen: number | null }) {
    const q = useQuery();
    const theme = useShownTheme();
    const host = useRef<HTMLDivElement>(null);
    const chart = useRef<SessionChart | null>(null);
    const lanes = useMemo(() => lanesOf(data, q.get('lanes') ?? ''), [data, q.get('lanes')]);
    const shown = lanes.shown.map((l) => l.key);
    const t0 = q.get('t0');
    const t1 = q.get('t1');
    const view = t0 !== null && t1 !== null && Number(t1) > Number(t0) ? { from: Number(t0), to: Number(t1) } : null;

    useEffect(() => {
        const own = new SessionChart(
            host.current!,
            data,
            lanes.shown,
            view,
            (v) => setQuery({ t0: v ? v.from.toFixed(3) : null, t1: v ? v.to.toFixed(3) : null }),
            (index) => setQuery({ jank: index }),
        );
        chart.current = own;
        own.choose(chosen);
        performance.mark('fw-timeline');
        return () => own.destroy();
    }, [data, shown.join(), theme]);
    useEffect(() => {
        if (view) chart.current?.show(view.from, view.to, false);
        else if (!chart.current?.whole()) chart.current?.show(0, data.end_us / 1e6, false);
    }, [t0, t1]);
    useEffect(() => chart.current?.choose(chosen), [chosen]);

    useEffect(() => {
        const press = (e: KeyboardEvent) => {
            const c = chart.current;
            if (!c || e.ctrlKey || e.metaKey || e.altKey || (e.target as HTMLElement).closest('input,textarea,select,dialog')) return;
            const step = e.key === 'n' ? 1 : e.key === 'p' ? -1 : 0;
            if (e.key === 'w') c.zoom(0.6);
            else if (e.key === 's') c.zoom(1 / 0.6);
            else if (e.key === 'a') c.move(-0.25);
            else if (e.key === 'd') c.move(0.25);
            else if (e.key === '0') c.all();
            else if (step) {
                const to = c.next(step);
                if (to !== null) setQuery({ jank: to });
            } else return;
            e.preventDefault();
        };
        addEventListener('keydown', press);
        return () => removeEventListener('keydown', press);
    }, []);

    const flip = (key: string) => {
        const next = shown.includes(key) ? shown.filter((k) => k !== key) : [...shown, key];
        setQuery({ lanes: next.join(',') || 'none' });
    };
    const c = () => chart.current!;
    return (
        <Card
            id="timeline"
            flush
            title={t('Timeline')}
            note={
                <span class="no-print">
                    {t('{n} frames · drag to zoom, Shift-drag to move, double click for all, keys', { n: num(data.frame_count) })} <kbd>W</kbd> <kbd>A</kbd> <kbd>S</kbd> <kbd>D</kbd>
                </span>
            }
            tools={
                <>
                    <span class="group" role="group" aria-label={t('View')}>
                        <button type="button" aria-label={t('To the left')} onClick={() => c().move(-0.25)}>
                            ←
                        </button>
                        <button type="button" aria-label={t('Zoom out')} onClick={() => c().zoom(1 / 0.6)}>
                            −
                        </button>
                        <button type="button" onClick={() => c().all()}>
                            {t('All')}
                        </button>
                        <button type="button" aria-label={t('Zoom in')} onClick={() => c().zoom(0.6)}>
                            +
                        </button>
                        <button type="button" aria-label={t('To the right')} onClick={() => c().move(0.25)}>
                            →
                        </button>
                    </span>
                </>
            }
        >
            <div class="row no-print" style={{ padding: '.2rem 1rem .1rem', gap: '.3rem' }} role="group" aria-label={t('Lanes')}>
                {lanes.all.map((l) => (
                    <button type="button" class="small" style={{ minHeight: '1.7rem', padding: '.05rem .55rem' }} aria-pressed={shown.includes(l.key)} onClick={() => flip(l.key)}>
                        {l.name}
                    </button>
                ))}
                <span class="grow" />
                <span class="small soft row" style={{ gap: '.35rem' }}>
                    <span class="dot minor" /> &gt; 100 ms <span class="dot normal" /> &gt; 250 ms <span class="dot severe" /> &gt; 500 ms
                </span>
            </div>
            <div
                class="lanes"
                ref={host}
                role="img"
                aria-label={t('Frame times and hardware over {length}: {janks} janks. The tables below tell the same.', {
                    length: span(data.end_us),
                    janks: data.janks.length,
                })}
            />
        </Card>
    );
}

// Janks ---------------------------------------------------------------------------------------

function JankDetail({ jank, of }: { jank: Jank; of: Janks }) {
    const hashes = [...new Set(jank.samples.map((s) => s.stack))];
    const [at, setAt] = useState(0);
    const hash = hashes[Math.min(at, hashes.length - 1)];
    const last = (name: string) => {
        const s = jank.hardware.find((h) => h.name === name);
        const v = s?.value.filter((x): x is number => x !== null) ?? [];
        return v.length ? ([v[0], v[v.length - 1]] as const) : null;
    };
    const facts: [string, string][] = [];
    const put = (name: string, label: string, by: number, unit: string, digits = 0) => {
        const v = last(name);
        if (v) facts.push([label, v[0] === v[1] ? `${num(v[0] * by, digits)} ${unit}` : `${num(v[0] * by, digits)} → ${num(v[1] * by, digits)} ${unit}`]);
    };
    put('process_cpu_permille', t('CPU of the game'), 0.1, '%');
    put('battery_millicelsius', t('Battery'), 0.001, '°C', 1);
    put('pss_kb', 'PSS', 1 / 1024, 'MB');
    put('phys_footprint_kb', t('Footprint'), 1 / 1024, 'MB');
    put('thread_count', t('Threads'), 1, '');
    put('gpu_time_us', t('GPU time'), 0.001, 'ms', 1);
    return (
        <div class="detail">
            <p>
                <b>{causeName(jank.cause)}</b>: {jank.evidence || t('nothing in the hardware points to a cause')}
            </p>
            <div class="chips">
                {facts.map(([name, value]) => (
                    <Chip name={name}>{value}</Chip>
                ))}
            </div>
            {hashes.length > 1 && (
                <div class="row" role="group" aria-label={t('Stacks')}>
                    {hashes.map((h, i) => (
                        <button type="button" aria-pressed={i === at} onClick={() => setAt(i)}>
                            {t('Stack {n}', { n: i + 1 })}
                            <span class="soft">×{jank.samples.filter((s) => s.stack === h).length}</span>
                        </button>
                    ))}
                </div>
            )}
            {hash ? (
                <Frames symbols={of.symbols.find((s) => s.hash === hash)?.frames} frames={of.stacks.find((s) => s.hash === hash)?.frames} />
            ) : (
                <p class="soft">{t('No stack was taken.')}</p>
            )}
            <div class="row">
                <button type="button" onClick={() => look(jank.start_us - 5e6, jank.start_us + jank.duration_us + 5e6)}>
                    {t('Show on the timeline')}
                </button>
            </div>
        </div>
    );
}

// The frame that tells most: the innermost that is not the system's.
function topFrame(jank: Jank, of: Janks): string {
    const hash = jank.samples[0]?.stack;
    const symbols = of.symbols.find((s) => s.hash === hash)?.frames ?? [];
    const own = symbols.find((f) => f.status !== 'system') ?? symbols[0];
    if (own) return frameName(own);
    const raw = of.stacks.find((s) => s.hash === hash)?.frames[0];
    return raw ? (raw.text ?? `${raw.module ?? '?'}+${raw.offset ?? ''}`) : '';
}

function JankList({ data }: { data: Janks }) {
    const q = useQuery();
    const chosen = q.get('jank');
    const cause = q.get('cause') ?? '';
    const causes = [...new Set(data.janks.map((j) => j.cause))];
    const rows = data.janks.filter((j) => j.level > 0 && (!cause || j.cause === cause));
    const columns: Column<Jank>[] = [
        { key: 'time', label: t('Time'), cell: (j) => <span class="num">{clock(j.start_us, true)}</span>, value: (j) => j.start_us / 1e6 },
        {
            key: 'length',
            label: t('Length, ms'),
            right: true,
            cell: (j) => (
                <span class="row nowrap" style={{ justifyContent: 'flex-end' }}>
                    <span class={`dot ${levelClass(j.level)}`} title={levelName(j.level)} /> {num(j.duration_us / 1000)}
                </span>
            ),
            value: (j) => j.duration_us / 1000,
        },
        { key: 'level', label: t('Level'), cell: (j) => levelName(j.level), value: (j) => j.level },
        { key: 'scene', label: t('Scene'), cell: (j) => j.scene, value: (j) => j.scene },
        { key: 'cause', label: t('Cause'), term: 'cause', cell: (j) => causeName(j.cause), value: (j) => j.cause },
        {
            key: 'frame',
            full: true,
            label: t('Innermost own frame'),
            cell: (j) => (
                <button type="button" class="bare mono break" style={{ whiteSpace: 'normal', textAlign: 'left', padding: 0, minHeight: 0 }} aria-expanded={String(j.index) === chosen} onClick={() => toggle(j)}>
                    {topFrame(j, data) || t('no stack')}
                </button>
            ),
            value: (j) => topFrame(j, data),
        },
    ];
    const toggle = (j: Jank) => setQuery({ jank: String(j.index) === chosen ? null : j.index });
    return (
        <Card
            flush
            id="janks"
            title={t('Janks')}
            note={`${num(rows.length)}${data.dropped ? ` · ${t('{n} more were not kept', { n: data.dropped })}` : ''}`}
            tools={
                <>
                    {causes.length > 1 && (
                        <select aria-label={t('Cause')} value={cause} onChange={(e) => setQuery({ cause: e.currentTarget.value })}>
                            <option value="">{t('all causes')}</option>
                            {causes.map((c) => (
                                <option value={c}>{causeName(c)}</option>
                            ))}
                        </select>
                    )}
                    <Csv name="janks" columns={columns} rows={rows} />
                </>
            }
        >
            {rows.length ? (
                <Table
                    id="j"
                    caption={t('Janks')}
                    columns={columns}
                    rows={rows}
                    onRow={toggle}
                    below={(j) => (String(j.index) === chosen ? <JankDetail jank={j} of={data} /> : null)}
                />
            ) : (
                <Empty title={t('No jank')}>
                    <p>{t('No frame took longer than 100 ms.')}</p>
                </Empty>
            )}
        </Card>
    );
}

// Scenes and events ---------------------------------------------------------------------------

function Scenes({ slices, session }: { slices: Slice[]; session: Session }) {
    const rows = slices.filter((s) => s.scene);
    const total = rows.reduce((sum, s) => sum + s.foreground_us, 0);
    const columns: Column<Slice>[] = [
        { key: 'scene', label: t('Scene'), cell: (s) => <Link href={url('/sessions', { scene: s.scene, build: session.build_id })}>{s.scene}</Link>, value: (s) => s.scene },
        {
            key: 'time',
            label: t('Time'),
            right: true,
            cell: (s) => (
                <span class="nowrap">
                    <Meter share={s.foreground_us / total} label={percent(s.foreground_us / total)} /> {span(s.foreground_us)}
                </span>
            ),
            value: (s) => s.foreground_us / 1e6,
        },
        { key: 'frames', label: t('Frames'), right: true, cell: (s) => num(s.frames), value: (s) => s.frames },
        { key: 'p50', label: 'P50 ms', right: true, cell: (s) => ms(s.p50_us), value: (s) => s.p50_us / 1000 },
        { key: 'p90', label: 'P90 ms', right: true, cell: (s) => ms(s.p90_us), value: (s) => s.p90_us / 1000 },
        { key: 'p99', label: 'P99 ms', right: true, cell: (s) => ms(s.p99_us), value: (s) => s.p99_us / 1000 },
        { key: 'janks', label: t('Janks'), right: true, cell: (s) => num(janksOf(s)), value: (s) => janksOf(s) },
    ];
    return (
        <Card flush title={t('Scenes')} tools={<Csv name="scenes" columns={columns} rows={rows} />}>
            {rows.length ? (
                <Table id="sc" caption={t('Scenes')} columns={columns} rows={rows} few={(s) => s.frames < 600} />
            ) : (
                <Empty title={t('The game named no scene')} />
            )}
        </Card>
    );
}

interface Event {
    t_us: number;
    sign: string;
    what: string;
    tone: string;
}

function eventsOf(data: Timeline): Event[] {
    const life: Record<string, string> = {
        background: t('went to the background'),
        foreground: t('came to the foreground'),
        low_memory: t('low memory'),
        suspended: t('suspended'),
    };
    return [
        ...data.scenes.map((s) => ({ t_us: s.from_us, sign: '▸', what: s.scene, tone: '' })),
        ...data.lifecycle.map((l) => ({ t_us: l.t_us, sign: '●', what: life[l.kind] ?? l.kind, tone: l.kind === 'low_memory' ? 'error-text' : 'soft' })),
        ...data.steps.map((s) => ({ t_us: s.t_us, sign: '·', what: s.name, tone: '' })),
        ...data.feedback.map((f) => ({ t_us: f.t_us, sign: '❝', what: f.text, tone: '' })),
        ...data.crashes.map((c) => ({ t_us: c.t_us, sign: '✕', what: `${t('Crash')}: ${c.reason}`, tone: 'error-text' })),
        ...data.janks.filter((j) => j.level > 1).map((j) => ({ t_us: j.start_us, sign: '◆', what: t('{ms} ms jank, {cause}', { ms: num(j.duration_us / 1000), cause: causeName(j.cause) }), tone: '' })),
    ].sort((a, b) => a.t_us - b.t_us);
}

function Events({ data }: { data: Timeline }) {
    const events = useMemo(() => eventsOf(data), [data]);
    const q = useQuery();
    const find = (q.get('event') ?? '').toLowerCase();
    const shown = find ? events.filter((e) => e.what.toLowerCase().includes(find)) : events;
    return (
        <Card
            title={t('Events')}
            note={num(events.length)}
            tools={
                <input type="search" size={12} aria-label={t('Find in the events')} placeholder={t('Find…')} value={q.get('event') ?? ''} onInput={(e) => setQuery({ event: e.currentTarget.value })} />
            }
        >
            {shown.length ? (
                <ol class="events" tabIndex={0} aria-label={t('Events')}>
                    {shown.map((e) => (
                        <li>
                            <button type="button" class="bare t" style={{ padding: 0, minHeight: 0, justifyContent: 'flex-end' }} onClick={() => look(e.t_us - 10e6, e.t_us + 10e6)}>
                                {clock(e.t_us)}
                            </button>
                            <span class={e.tone} aria-hidden="true">
                                {e.sign}
                            </span>
                            <span class={`break ${e.tone}`}>{e.what}</span>
                        </li>
                    ))}
                </ol>
            ) : (
                <Empty title={t('Nothing happened')} />
            )}
        </Card>
    );
}

function Troubles({ s }: { s: Session }) {
    return (
        <>
            {s.crashes.map((c) => (
                <Card title={t('Crash')} note={`${c.t_us === null ? '' : clock(c.t_us, true)}${c.signal ? ` · ${t('signal {n}', { n: c.signal })}` : ''}`}>
                    <div class="stack" style={{ gap: '.6rem' }}>
                        <p class="break">{c.reason}</p>
                        <Frames symbols={c.symbols} frames={c.stack} />
                    </div>
                </Card>
            ))}
            {s.feedback.length > 0 && (
                <Card title={t('Feedback of the player')}>
                    <div class="stack" style={{ gap: '.6rem' }}>
                        {s.feedback.map((f) => (
                            <div class="quote">
                                <p class="break">{f.text}</p>
                                <p class="small soft">
                                    {f.category} {f.t_us !== null && clock(f.t_us)}
                                </p>
                            </div>
                        ))}
                    </div>
                </Card>
            )}
        </>
    );
}

// How much of the session the figures rest on, and what the SDK cost.
function Coverage({ s }: { s: Session }) {
    const d = s.detail;
    const invalid = Object.entries(s.invalid ?? {});
    const r = d.self_report;
    const facts: [string, string][] = [
        [t('Files'), `${num(s.parts)}${d.files?.left_out ? ` (${t('{n} left out', { n: d.files.left_out })})` : ''}`],
        ...Object.entries(d.frames_by_state ?? {})
            .filter(([, n]) => n > 0)
            .map(([name, n]): [string, string] => [t('Frames, {state}', { state: stateName(name) }), num(n)]),
    ];
    if (d.dropped_frames) facts.push([t('Frames the SDK dropped'), num(d.dropped_frames)]);
    if (r) {
        facts.push([t('CPU time of the SDK'), `${num(r.cpu_us / 1000)} ms (${percent(r.cpu_us / Math.max(1, s.duration_us), 2)})`]);
        facts.push([t('Its memory'), bytes(r.memory_bytes)], [t('It sent'), bytes(r.bytes_uploaded)]);
    }
    return (
        <Card title={t('What this rests on')} note={<Tip term="coverage" />}>
            <div class="chips">
                {facts.map(([name, value]) => (
                    <Chip name={name}>{value}</Chip>
                ))}
                {invalid.map(([name, n]) => (
                    <Chip name={t('out of bounds: {name}', { name })}>{num(n)}</Chip>
                ))}
                {r?.collectors_off.map((c) => (
                    <Chip name={t('collector off: {name}', { name: c.name })}>{c.reason}</Chip>
                ))}
            </div>
        </Card>
    );
}

const stateName = (s: string) =>
    ({ valid: t('valid'), background: t('in the background'), suspended: t('suspended'), invalid: t('invalid'), overlap: t('overlapping') })[s] ?? s;

// Exports -------------------------------------------------------------------------------------

function Exports({ id }: { id: string }) {
    const [says, setSays] = useState('');
    const chrome = async () => {
        const answer = await ask(`/v1/sessions/${id}/trace?format=chrome`);
        save(`${id}.json`, [await answer.blob()], 'application/json');
    };
    const raw = async () => {
        const list = (await (await ask(`/v1/sessions/${id}/raw`)).json()) as { items: { part: number; href: string }[] };
        const parts = await Promise.all(list.items.map(async (p) => (await ask(p.href)).arrayBuffer()));
        save(`${id}.fws`, parts, 'application/zstd'); // frames of zstd: one after the other is one file
    };
    const perfetto = () => {
        setSays(t('Opening Perfetto…'));
        return openInPerfetto(id, `Framewatch ${id.slice(0, 8)}`).then(() => setSays(''));
    };
    const run = (what: () => Promise<void>) => () =>
        void what().catch((e: Error) => setSays(e.message === 'popup' ? t('The browser did not let the tab open.') : e.message));
    return (
        <div class="row no-print">
            {says && (
                <span class="small soft" role="status">
                    {says}
                </span>
            )}
            <button type="button" onClick={run(perfetto)}>
                {t('Open in Perfetto')}
            </button>
            <button type="button" onClick={run(chrome)} title={t('Chrome’s trace event format')}>
                {t('Chrome trace')}
            </button>
            <button type="button" onClick={run(raw)} title={t('The files as they arrived; framewatch dump reads them')}>
                {t('Raw file')}
            </button>
        </div>
    );
}

const CopyIcon = () => (
    <svg width="15" height="15" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.4" aria-hidden="true">
        <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
        <path d="M10.5 3V2.5h-8v8H3" />
    </svg>
);

function CopyId({ id }: { id: string }) {
    const [done, setDone] = useState(false);
    const copy = () =>
        navigator.clipboard?.writeText(id).then(
            () => {
                setDone(true);
                setTimeout(() => setDone(false), 1500);
            },
            () => setDone(false),
        );
    return (
        <button type="button" class="bare no-print" title={t('Copy the id')} aria-label={t('Copy the id')} onClick={copy}>
            {done ? '✓' : <CopyIcon />}
        </button>
    );
}

export default function SessionPage({ id }: { id: string }) {
    const path = `/v1/sessions/${encodeURIComponent(id)}`;
    const session = useGet<Session>(path);
    const timeline = useGet<Timeline>(`${path}/timeline`);
    const janks = useGet<Janks>(`${path}/janks`);
    const q = useQuery();
    const chosen = q.get('jank');
    const s = session.value;

    useEffect(() => {
        if (chosen === null || !janks.value) return;
        document.querySelector('#janks tr[aria-selected]')?.scrollIntoView({ block: 'nearest', behavior: 'smooth' });
    }, [chosen, janks.value]);

    if (session.problem)
        return session.problem.status === 404 ? (
            <Empty title={t('No session has this id')}>
                <p class="mono break">{id}</p>
                <p>{t('It may not have arrived yet, belong to another app than your key, or be past its retention.')}</p>
                <Link href="/sessions">{t('All sessions')}</Link>
            </Empty>
        ) : (
            <Failed problem={session.problem} again={session.again} />
        );
    if (!s) return <Waiting rows={8} />;
    return (
        <>
            <div class="head" style={{ marginBottom: '.7rem' }}>
                <div>
                    <div class="row">
                        <h1 class="mono break" style={{ fontSize: '1.2rem' }}>
                            {s.id}
                        </h1>
                        <CopyId id={s.id} />
                        <Badges s={s} />
                    </div>
                </div>
                <Exports id={s.id} />
            </div>
            <div class="stack">
                <Facts s={s} />
                <Stats s={s} data={timeline.value} />
                {timeline.problem ? (
                    <Card title={t('Timeline')}>
                        {timeline.problem.status === 410 ? (
                            <Empty title={t('The files of this session are past their retention')}>
                                <p>{t('Its figures and janks are kept; the timeline was in the files.')}</p>
                            </Empty>
                        ) : (
                            <Failed problem={timeline.problem} again={timeline.again} />
                        )}
                    </Card>
                ) : timeline.value ? (
                    <View data={timeline.value} chosen={chosen === null ? null : Number(chosen)} />
                ) : (
                    <Card title={t('Timeline')}>
                        <div style={{ height: '34rem' }}>
                            <Waiting rows={5} />
                        </div>
                    </Card>
                )}
                <Troubles s={s} />
                {janks.value && !janks.problem ? <JankList data={janks.value} /> : <Card title={t('Janks')}>{<Loaded data={janks}>{() => null}</Loaded>}</Card>}
                <div class="grid2">
                    <Scenes slices={s.detail.slices ?? []} session={s} />
                    {timeline.value && <Events data={timeline.value} />}
                </div>
                <Coverage s={s} />
            </div>
        </>
    );
}
